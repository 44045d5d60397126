"""The segment that a range is in: where it was planned, or where it is now.

Strategy: between planning and reading, a broker deletes, rolls, cleans (one file put in another's place, and
others merged into it) or truncates segments. Names tell: the segment with the greatest base offset at or
below an offset holds it, if any in its directory does. So a range that is not where it should be is looked
for by its offsets, in the directory where it was, then in those of other copies. What nobody can tell here: a
partition that was deleted and created anew under its name has the same names; its topic id is another one,
which planning looks at.

Names may be wrong, too: files may have been swapped or renamed, and segments may overlap. So offsets that a
segment lacks at either end are looked for in the other segments of its directory, by what those hold
(`segment_extents`). Where the cleaner has been, most segments lack some, and only the two neighbours are
looked into.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from kafka_segments.errors import ReadError, raise_unless_file_at_fault
from kafka_segments.formats.file_names import SEGMENT_NAME, name_in
from kafka_segments.io.filesystem import FileEntry
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.model import Split, StoredFile, StoredSegment
from kafka_segments.log.segment_extents import extent_of
from kafka_segments.log.stored_segments import StoredPart
from kafka_segments.log.stored_segments import open_stored as open_in_form
from kafka_segments.query.read.cleaned_ranges import traces_of
from kafka_segments.segment.cleaner_traces import Traces
from kafka_segments.segment.scan.entry_scan import first_offset_in_name

__all__ = ["Found", "SegmentFinder", "open_stored"]

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


@dataclass(frozen=True, slots=True)
class Found:
    """An open segment.

    Attributes:
        stored: what it is.
        source: its bytes; to be closed.
        is_as_planned: the very file that was planned, with all that it had then.
    """

    stored: StoredSegment
    source: Source
    is_as_planned: bool


class SegmentFinder:
    """Opens the segments of a range, one after the other.

    Args:
        split: the range.
        places: where files live.
    """

    def __init__(self, split: Split, places: Places) -> None:
        self._split, self._places = split, places
        self._tried: set[str] = set()
        self._listed: dict[str, list[StoredSegment]] = {}

    def planned(self) -> Found | None:
        """The segment that was planned; None if there is no such file any more."""
        stored = self._split.segment
        self._tried.add(stored.file.path)
        source = self._open(stored)
        if source is None:
            return None
        return Found(stored, source, self._is_same(stored.file, source))

    def holding(self, offset: int, end: int | None) -> Found | None:
        """A segment that was not read yet and may hold an offset, or else the least above it, below `end`."""
        higher: list[StoredSegment] = []
        for candidates in self._candidates(offset):
            below = [one for one in candidates if one.base_offset <= offset]
            if below and below[-1].file.path not in self._tried:
                found = self._take(below[-1])
                if found is not None:
                    return found
            untried = [one for one in candidates if one.file.path not in self._tried]
            above = [one for one in untried if one.base_offset > offset]
            if above and (end is None or above[0].base_offset < end):
                higher.append(above[0])
        return self._take(min(higher, key=lambda one: one.base_offset)) if higher else None

    def elsewhere(self, offset: int, end: int | None, *, is_near: bool) -> Found | None:
        """A segment of the same directory that holds an offset by its content, or else the least above it.

        Args:
            offset: which.
            end: what is above must be below this.
            is_near: look only into the segments before and behind the one that was planned.
        """
        holding: list[tuple[int, StoredSegment]] = []
        for stored in self._neighbours() if is_near else self.own_directory():
            if stored.file.path not in self._tried:
                extent = extent_of(self._places, stored)
                if extent is not None and extent.touches(offset, end):
                    holding.append((extent.first, stored))
        if not holding:
            return None
        # The one that begins nearest before the offset; if all begin behind it, the first of them.
        below = [one for one in holding if one[0] <= offset]
        key = itemgetter(0)
        return self._take(max(below, key=key)[1] if below else min(holding, key=key)[1])

    def holds_its_own(self) -> bool:
        """Whether the planned segment begins and ends with offsets that it should hold by the names."""
        segment = self._split.segment
        extent = extent_of(self._places, segment)
        return extent is not None and extent.is_within(segment.base_offset, segment.end_offset)

    def own_directory(self) -> list[StoredSegment]:
        """The segments that lie now where the planned one does, by base offset; none of a tier."""
        path = self._split.segment.file.path
        if self._split.segment.form != "plain" or not SEGMENT_NAME.fullmatch(name_in(path)):
            return []
        return self._listing(_directory(path))

    @cached_property
    def traces(self) -> Traces:
        """How far the cleaner has been in the same directory, by its segments."""
        return traces_of(self._places, self.own_directory(), self._split.cleaned_up_to)

    def _neighbours(self) -> Iterator[StoredSegment]:
        """The segments before and behind the planned one, without listing their directory."""
        path = self._split.segment.file.path
        prefix = path[: len(path) - len(name_in(path))]
        for base_offset in (self._split.preceding, self._split.segment.end_offset):
            if base_offset is None:
                continue
            try:
                entry = self._places.entry(f"{prefix}{base_offset:020d}.log")
            except ReadError as error:
                raise_unless_file_at_fault(error)  # whoever reads that segment tells of it
                continue
            if entry is not None:
                yield _stored(entry, base_offset, is_newest=False)

    def _take(self, stored: StoredSegment) -> Found | None:
        self._tried.add(stored.file.path)
        source = self._open(stored)
        return None if source is None else Found(stored, source, False)

    def _open(self, stored: StoredSegment) -> Source | None:
        try:
            return open_stored(self._places, stored)
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
        """Segments by base offset: of the directory where the range was, of other copies, and single ones.

        A single one that ends at or below the offset is none.
        """
        own = _directory(self._split.segment.file.path)
        for directory in dict.fromkeys([own, *(copy.rstrip("/") for copy in self._split.copies)]):
            yield self._listing(directory)
        for other in self._split.others:
            if other.end_offset is None or other.end_offset > offset:
                yield [other]

    def _listing(self, directory: str) -> list[StoredSegment]:
        if directory not in self._listed:
            self._listed[directory] = self._list(directory)
        return self._listed[directory]

    def _list(self, directory: str) -> list[StoredSegment]:
        try:
            entries = self._places.entries(directory or ".")
        except ReadError as error:
            if error.errno not in _GONE:
                raise
            return []
        named = sorted(
            (offset, entry)
            for entry in entries
            if (offset := _base_offset(entry)) is not None and not entry.is_directory
        )
        return [
            _stored(entry, offset, is_newest=at == len(named) - 1) for at, (offset, entry) in enumerate(named)
        ]


def open_stored(places: Places, stored: StoredSegment) -> Source:
    """A segment's bytes; to be closed.

    Raises:
        ReadError: the file cannot be opened; `errno` says why.
        OptionError: a form that is not known.
    """
    if stored.form != "plain":
        return open_in_form(places, stored)
    file = stored.file
    source = places.open(file.path)
    if not file.position:
        return source
    # It may be shorter than it was: what is missing then is told as such.
    size = max(0, min(file.size, source.size - file.position))
    return StoredPart(source, file.path, file.position, size)


def _stored(entry: FileEntry, base_offset: int, *, is_newest: bool) -> StoredSegment:
    file = StoredFile(entry.path, entry.size, entry.identity, entry.modified_ns)
    return StoredSegment(file, base_offset, is_newest=is_newest)


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _base_offset(entry: FileEntry) -> int | None:
    """By its name; `.log.deleted` and the like do not count."""
    return first_offset_in_name(entry.name) if entry.name.endswith(".log") else None
