"""What a segment holds by its content, cached: first and last offset, times, traces of the log cleaner.

Strategy: files are renamed or swapped by hand, by recovery tools and by copies that failed half-way, but
their batches keep their offsets. So the first and the last sound entry are read; the last entry of the
`.index` has the position of the latter. Each file is opened once, and the compiled scanner reads small ones
if there are many. Results are cached while a file is unchanged, for many ranges of one directory share them.

Traces of the cleaner may be in other segments than the one being read, as a cleaned segment may have no gap.
So before offsets count as lost, the segments whose traces could explain them are read (`cleaner_traces`), up
to a bound of bytes. Header tables find candidates fast; only a valid batch is a trace.

Planning finds the segment of an offset by its name. Where files were renamed or swapped, or overlap
(`astray_in`), the record is in another segment, and the timestamps of the first do not apply. Segments of
tiers are not opened for that: their names have ids, and manifests have their offsets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import starmap
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from kafka_segments.core.formats.file_names import SEGMENT_NAME
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.core.segment.contents import contents_of, is_cleaned, runs_in
from kafka_segments.core.segment.continuity import Extent, SegmentContents, traces_in
from kafka_segments.core.segment.scan.entry_table import MOST_OFFSETS
from kafka_segments.errors import (
    KafkaFormatError,
    MissingExtraError,
    NotingFaults,
    raise_unless_file_at_fault,
)
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import beside
from kafka_segments.log.model import PartitionLog, StoredFile, StoredSegment
from kafka_segments.log.opening import NUM_REQUESTS, is_remote, is_small, open_stored

if TYPE_CHECKING:
    from kafka_segments.core.segment.columnar.small_segments import SmallTimes

__all__ = [
    "NUM_AHEAD",
    "FileCache",
    "astray_in",
    "contents_of_stored",
    "contents_or_unknown",
    "extent_of",
    "read_small",
    "runs_at",
    "shows_cleaner",
    "times_in_small",
    "touches_any",
    "traces_of",
]

NUM_AHEAD = 1024
"""Segments that a caller gives to `read_small` at once, for the cache keeps what it reads of so many."""
_MAX_WALK = 4 << 30
_LEN_AT_ONCE = 4 << 20  # bytes of segments that are read in one pass

_NUM_KEPT = 20_000

T = TypeVar("T")


class FileCache(Generic[T]):
    """LRU cache by file; thread-safe."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str, int, int], T] = OrderedDict()
        self._lock = Lock()

    def of(self, file: StoredFile, find: Callable[[], T]) -> T:
        """Return the value of a file, from `find` if it is not cached; errors are not cached."""
        key = _key(file)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = find()
        self.put(file, found)
        return found

    def get(self, file: StoredFile) -> T | None:
        """Return the value of a file if it is cached, else None."""
        return self._found.get(_key(file))

    def put(self, file: StoredFile, value: T) -> None:
        """Add the value of a file."""
        with self._lock:
            self._found[_key(file)] = value
            if len(self._found) > _NUM_KEPT:
                self._found.popitem(last=False)

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._found.clear()


def _key(file: StoredFile) -> tuple[str, str, int, int]:
    return file.path, file.identity, file.size, file.modified_ns


_kept: FileCache[SegmentContents] = FileCache()
_kept_traces: FileCache[bool] = FileCache()
_kept_times: FileCache[SmallTimes] = FileCache()


def times_in_small(segment: StoredSegment) -> SmallTimes | None:
    """Return the timestamps of a small segment's headers, if `read_small` found them."""
    return _kept_times.get(segment.file)


def read_small(places: Places, segments: Iterable[StoredSegment], budget: Budget) -> None:
    """Read many small segments in one pass, for `times_in_small` and `extent_of`.

    Few are not, and those that cannot be read, or not so.

    Args:
        places: opens files.
        segments: of any size; those that were read before are not read again.
        budget: of the planning; it counts the small segments.
    """
    wanted = [one for one in segments if is_small(one) and _kept_times.get(one.file) is None]
    if not budget.has_many_small(len(wanted)) or not wanted:
        return
    buffer = memoryview(bytearray(min(_LEN_AT_ONCE, sum(one.size for one in wanted))))
    held: list[StoredSegment] = []
    ends: list[int] = []
    filled = 0
    for one in wanted:
        if filled + one.size > len(buffer):
            _keep_times(held, buffer[:filled], ends)
            held, ends, filled = [], [], 0
        end = filled + one.size
        if places.read_whole(one.path, buffer[filled:end]):
            held.append(one)
            ends.append(end)
            filled = end
    _keep_times(held, buffer[:filled], ends)


def _keep_times(segments: Sequence[StoredSegment], data: memoryview, ends: Sequence[int]) -> None:
    with suppress(MissingExtraError):
        from kafka_segments.core.segment.columnar.small_segments import read_times

        for segment, times in zip(segments, read_times(data, ends), strict=True):
            if times is not None:
                _kept_times.put(segment.file, times)


def extent_of(places: Places, segment: StoredSegment) -> Extent | None:
    """Return the first and last offset of a segment; None if it has no sound entry or cannot be read."""
    small = _kept_times.get(segment.file)
    if small is not None and small.last_offset < segment.base_offset + MOST_OFFSETS:
        return Extent(small.first_offset, small.last_offset)
    with NotingFaults():
        return contents_of_stored(places, segment).extent
    return None  # the segment's reader reports what is wrong


def contents_of_stored(places: Places, segment: StoredSegment) -> SegmentContents:
    """Summarize a stored segment; see `contents.contents_of`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    return _kept.of(segment.file, lambda: _contents_of(places, segment))


def contents_or_unknown(places: Places, segment: StoredSegment) -> SegmentContents:
    """Summarize a stored segment, also one that cannot be opened: its reader reports that."""
    try:
        return contents_of_stored(places, segment)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return SegmentContents(segment.path, segment.base_offset, segment.size, is_unknown=True)


def runs_at(places: Places, segment: StoredSegment) -> list[Extent]:
    """Return the offsets of all entries in a segment, see `contents.runs_in`; none if it cannot be read."""
    with NotingFaults(), closing(open_stored(places, segment)) as source:
        return runs_in(source)
    return []  # the segment's reader reports what is wrong


def traces_of(places: Places, directory: Sequence[StoredSegment], noted: int | None) -> Traces:
    """Return the traces of the cleaner in a directory.

    Args:
        places: filesystems by path.
        directory: all its segments, by base offset.
        noted: the offset in the cleaner's checkpoint; None without one.
    """
    budget = Budget(_MAX_WALK)
    held = [contents_or_unknown(places, stored) for stored in directory]
    stored_at = dict(zip(map(id, held), directory, strict=True))

    def shows(one: SegmentContents) -> bool:
        stored = stored_at[id(one)]
        return budget.spend(stored.file) and shows_cleaner(places, stored)

    return traces_in(held, noted, shows)


def shows_cleaner(places: Places, segment: StoredSegment) -> bool:
    """Return whether a segment has a trace of the cleaner; False for an unreadable one."""
    with NotingFaults():
        return _kept_traces.of(segment.file, lambda: _shows_cleaner(places, segment))
    return False  # the segment's reader reports what is wrong


def _shows_cleaner(places: Places, segment: StoredSegment) -> bool:
    with closing(open_stored(places, segment)) as source:
        return _may_be_cleaned(source) and is_cleaned(source)


def _may_be_cleaned(source: Source) -> bool:
    """Whether unverified headers show a gap."""
    try:
        from kafka_segments.core.segment.columnar.header_table import iter_tables
        from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
        from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange

        coverage = OffsetCoverage()
        pieces = iter_tables(source, OffsetRange(None, None), ReadRange(coverage=coverage))
        return any(coverage.has_gaps for _piece in pieces)
    except MissingExtraError:
        return True


def _contents_of(places: Places, segment: StoredSegment) -> SegmentContents:
    with closing(open_stored(places, segment)) as source:
        held = contents_of(source, segment.base_offset, beside(places, segment))
        return replace(held, path=segment.file.path)


def astray_in(places: Places, log: PartitionLog, budget: Budget) -> tuple[Extent, ...]:
    """Return the offsets of each segment that has others than its name says; empty where names are right.

    Args:
        places: opens files.
        log: the partition.
        budget: of the planning, see `read_small`.
    """
    segments = [piece.segment for piece in log.pieces if _is_brokers(piece.segment)]
    if any(is_remote(one.file) for one in segments):
        with ThreadPoolExecutor(NUM_REQUESTS) as pool:
            extents = list(pool.map(partial(extent_of, places), segments))
    else:
        extents = []
        for at in range(0, len(segments), NUM_AHEAD):
            some = segments[at : at + NUM_AHEAD]
            read_small(places, some, budget)
            extents += [extent_of(places, one) for one in some]
    return tuple(filter(None, starmap(_if_astray, zip(segments, extents, strict=True))))


def _is_brokers(segment: StoredSegment) -> bool:
    return SEGMENT_NAME.fullmatch(segment.file.path.rpartition("/")[2]) is not None


def _if_astray(segment: StoredSegment, extent: Extent | None) -> Extent | None:
    is_right = extent is None or extent.is_within(segment.base_offset, segment.end_offset)
    return None if is_right else extent


def touches_any(extents: Sequence[Extent], start: int, end: int | None) -> bool:
    """Return whether one of the segments may hold an offset in `[start, end)`."""
    return any(extent.touches(start, end) for extent in extents)
