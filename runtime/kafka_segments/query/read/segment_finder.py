"""Search for the segments of a range: the planned one, or others that now hold its offsets.

Strategy: between planning and reading, a broker may delete, roll, clean (replace and merge) or truncate
segments. By name, the segment with the greatest base offset at or below an offset holds it. So a range whose
planned segment is gone is searched by its offsets, in the same directory, then in those of other copies. The
cleaner renames the segments that it replaces before it gives a name of theirs to the new one, which ends in
`.swap` until then (LocalLog.replaceSegments): that one counts, and what goes while it is searched for is
listed again. A deleted and recreated partition of the same name is detected by its topic id at planning, not
here.

Names may be wrong: files may be swapped or renamed, and segments may overlap. So offsets missing at either
end of a segment are searched in the other segments of its directory, by their content (`segment_extents`). In
a cleaned log, where most segments lack offsets, only the two neighbours are searched.

All offsets from a range's first one on must follow the position where reading begins (`begin`). That is
certain at a valid entry (by its checksum) that begins at or below this offset, as offsets ascend in a log.
The hint is tried first, then positions from the headers, else the segment's beginning. So a wrong hint costs
time, never records. (An entry inside a record's value is valid too, but only a forged index points there.)
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from kafka_segments.core.formats.file_names import SEGMENT_NAME, TopicPartition, name_in
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.core.segment.scan.entry_scan import first_offset_at
from kafka_segments.core.segment.scan.walk import find_entries
from kafka_segments.errors import ReadError, raise_unless_file_at_fault
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.log_dir import segments_in, swaps_in
from kafka_segments.log.model import Split, StoredFile, StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.partition_dirs import Directory
from kafka_segments.log.segment_extents import extent_of, traces_of

__all__ = ["Found", "SegmentFinder", "StartPosition", "begin"]

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)
_NUM_LISTINGS = 5
"""At most, while segments go between their listing and their opening."""


@dataclass(frozen=True, slots=True)
class Found:
    """An open segment.

    Attributes:
        stored: the segment.
        source: its bytes; the caller closes it.
        is_as_planned: the same file as at planning, and not shorter.
    """

    stored: StoredSegment
    source: Source
    is_as_planned: bool


class SegmentFinder:
    """Opens the segments of a range, one after the other.

    Args:
        split: the range.
        places: filesystems by path.
    """

    def __init__(self, split: Split, places: Places) -> None:
        self._split, self._places = split, places
        self._tried: set[str] = set()
        self._listed: dict[str, list[StoredSegment]] = {}
        self._swaps: dict[str, list[StoredSegment]] = {}  # beside those listed
        self._has_gone = self._is_planned_gone = False

    def planned(self) -> Found | None:
        """Open the planned segment; None if it was deleted."""
        stored = self._split.segment
        source = self._open(stored)
        if source is None:  # there may be another one of its name
            self._is_planned_gone = True
            return None
        self._tried.add(stored.file.path)
        return Found(stored, source, self._is_same(stored.file, source))

    def holding(self, offset: int, end: int | None) -> Found | None:
        """Open an unread segment that may hold an offset by name, else the next one below `end`."""
        for at in range(_NUM_LISTINGS):
            self._has_gone = False
            found = self._holding(offset, end, is_last=at == _NUM_LISTINGS - 1)
            # A listing may miss a file that is renamed meanwhile.
            is_certain = not self._has_gone and (at or not self._is_planned_gone)
            if found is not None or is_certain:
                return found
            self._listed.clear()
        return None

    def _holding(self, offset: int, end: int | None, *, is_last: bool) -> Found | None:
        """See `holding`; None, too, if one has gone since the listing and this is not the last."""
        higher: list[StoredSegment] = []
        for candidates in self._candidates(offset):
            below = [one for one in candidates if one.base_offset <= offset]
            if below and below[-1].file.path not in self._tried:
                found = self._take(below[-1])
                if found is not None or not is_last:
                    return found
            untried = [one for one in candidates if one.file.path not in self._tried]
            above = [one for one in untried if one.base_offset > offset]
            if above and (end is None or above[0].base_offset < end):
                higher.append(above[0])
        return self._take(min(higher, key=lambda one: one.base_offset)) if higher else None

    def elsewhere(self, offset: int, end: int | None, *, is_near: bool) -> Found | None:
        """Open a segment of the same directory that holds an offset by content, else the next one.

        Args:
            offset: the offset.
            end: bound of the next one's offsets, exclusive.
            is_near: search only the segments before and after the planned one.
        """
        holding: list[tuple[int, StoredSegment]] = []
        for stored in self._neighbours() if is_near else self.own_directory():
            if stored.file.path not in self._tried:
                extent = extent_of(self._places, stored)
                if extent is not None and extent.touches(offset, end):
                    holding.append((extent.first, stored))
        if not holding:
            return None
        # The nearest one that begins at or before the offset, else the first one after it.
        below = [one for one in holding if one[0] <= offset]
        key = itemgetter(0)
        return self._take(max(below, key=key)[1] if below else min(holding, key=key)[1])

    def holds_its_own(self) -> bool:
        """Whether the planned segment's first and last offsets match the segments' names."""
        segment = self._split.segment
        extent = extent_of(self._places, segment)
        return extent is not None and extent.is_within(segment.base_offset, segment.end_offset)

    def own_directory(self) -> list[StoredSegment]:
        """Current segments of the planned one's directory, by base offset; none for a tier."""
        path = self._split.segment.file.path
        if self._split.segment.form != "plain" or not SEGMENT_NAME.fullmatch(name_in(path)):
            return []
        return self._listing(_directory(path))

    @cached_property
    def traces(self) -> Traces:
        """Traces of the cleaner in the same directory."""
        return traces_of(self._places, self.own_directory(), self.cleaned_up_to)

    @cached_property
    def cleaned_up_to(self) -> int | None:
        """Offset in the cleaner's checkpoint as it is now, or as it was at planning, if that is greater."""
        path, key = self._split.segment.file.path, (self._split.topic, self._split.partition)
        directory = Directory(_directory(path), TopicPartition(*key), [])
        noted = Checkpoints(self._places).cleaned_up_to(directory), self._split.cleaned_up_to
        return max((one for one in noted if one is not None), default=None)

    def _neighbours(self) -> Iterator[StoredSegment]:
        """Yield the segments before and after the planned one, without listing the directory."""
        path = self._split.segment.file.path
        prefix = path[: len(path) - len(name_in(path))]
        for base_offset in (self._split.preceding, self._split.segment.end_offset):
            if base_offset is None:
                continue
            try:
                entry = self._places.entry(f"{prefix}{base_offset:020d}.log")
            except ReadError as error:
                raise_unless_file_at_fault(error)  # the reader of that segment reports it
                continue
            if entry is not None:
                yield StoredSegment(StoredFile.of(entry), base_offset)

    def _take(self, stored: StoredSegment) -> Found | None:
        source = self._open(stored)
        if source is None:
            self._has_gone = True
            return None
        self._tried.add(stored.file.path)
        return Found(stored, source, False)

    def _open(self, stored: StoredSegment) -> Source | None:
        try:
            # Also what was appended, or is missing, since the file was listed.
            is_plain = stored.form == "plain"
            return self._places.open(stored.path) if is_plain else open_stored(self._places, stored)
        except ReadError as error:
            if error.errno not in _GONE:
                raise
            return None

    def _is_same(self, file: StoredFile, source: Source) -> bool:
        identity = getattr(source, "identity", None)
        if identity is None:
            entry = self._places.entry(file.path)
            identity = None if entry is None else entry.identity
        return identity == file.identity and source.size >= file.size

    def _candidates(self, offset: int) -> Iterator[list[StoredSegment]]:
        """Yield lists of segments by base offset: of the planned directory, of other copies, and single ones.

        Single ones that end at or below the offset are skipped.
        """
        own = _directory(self._split.segment.file.path)
        for directory in dict.fromkeys([own, *(copy.rstrip("/") for copy in self._split.copies)]):
            listed = self._listing(directory)
            swaps = self._swaps[directory] if self._is_planned_gone else []
            yield sorted([*listed, *swaps], key=lambda one: one.base_offset)
        for other in self._split.others:
            if other.end_offset is None or other.end_offset > offset:
                yield [other]

    def _listing(self, directory: str) -> list[StoredSegment]:
        if directory not in self._listed:
            self._listed[directory], self._swaps[directory] = self._list(directory)
        return self._listed[directory]

    def _list(self, directory: str) -> tuple[list[StoredSegment], list[StoredSegment]]:
        """List a directory's segments, and those that are to take the place of absent ones."""
        try:
            entries = [one for one in self._places.entries(directory or ".") if not one.is_directory]
        except ReadError as error:
            if error.errno not in _GONE:
                raise
            return [], []
        swaps = {path: base_offset for base_offset, path in swaps_in(entries)}
        swapped = [StoredSegment(StoredFile.of(one), swaps[one.path]) for one in entries if one.path in swaps]
        return segments_in(entries), swapped


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Start position of a range.

    Attributes:
        position: in the segment.
        sound_offset: upper bound of the offsets of valid entries before it.
        is_hinted: the hint was right.
    """

    position: int
    sound_offset: int
    is_hinted: bool


def begin(source: Source, start: int, base_offset: int, hint: int, max_decompressed: int) -> StartPosition:
    """Find the start position of a range.

    Args:
        source: the segment's bytes.
        start: the range's first offset.
        base_offset: the segment's.
        hint: a position; 0 is always right.
        max_decompressed: bytes that a wrapper may decompress to.
    """
    whole = StartPosition(0, base_offset - 1, hint == 0)
    if start <= base_offset and hint == 0:
        return whole
    if hint > 0:
        first = first_offset_at(source, hint, max_decompressed)
        if first is not None and first <= start:
            return StartPosition(hint, first - 1, True)
    if source.descriptor < 0 and not source.is_memory:
        return whole  # in a store, reading headers takes as long as reading everything
    for position in find_entries(source, start):
        first = first_offset_at(source, position, max_decompressed) if position else None
        if first is not None and first <= start:
            return StartPosition(position, first - 1, hint == 0)
    return whole
