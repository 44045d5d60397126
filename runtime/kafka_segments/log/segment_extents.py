"""What a segment holds by its content, cached: first and last offset, times, traces of the log cleaner.

Strategy: files are renamed or swapped by hand, by recovery tools and by copies that failed half-way, but
their batches keep their offsets. So the first and the last sound entry are read; the last entry of the
`.index` has the position of the latter. Of a small segment all headers are scanned, which is faster. Results
are cached while a file is unchanged, for many ranges of one directory share them.

Traces of the cleaner may be in other segments than the one being read, as a cleaned segment may have no gap.
So before offsets count as lost, the segments whose traces could explain them are read (`cleaner_traces`), up
to a bound of bytes. Header tables find candidates fast; only a valid batch is a trace.

Planning finds the segment of an offset by its name. Where files were renamed or swapped, or overlap
(`astray_in`), the record is in another segment, and the timestamps of the first do not apply. Segments of
tiers are not opened for that: their names have ids, and manifests have their offsets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import starmap
from threading import Lock
from typing import Generic, TypeVar

from kafka_segments.core.formats.file_names import SEGMENT_NAME
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.core.segment.contents import contents_of, is_cleaned, runs_in
from kafka_segments.core.segment.continuity import Extent, SegmentContents, traces_in
from kafka_segments.core.segment.scan.entry_table import MOST_OFFSETS, EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import (
    KafkaFormatError,
    NotingFaults,
    raise_unless_file_at_fault,
)
from kafka_segments.log.log_end import beside
from kafka_segments.log.model import PartitionLog, StoredFile, StoredSegment
from kafka_segments.log.opening import Budget, is_small, open_stored
from kafka_segments.log.partition_dirs import run_at_once

__all__ = [
    "FileCache",
    "astray_in",
    "contents_of_stored",
    "contents_or_unknown",
    "extent_of",
    "open_examined",
    "runs_at",
    "shows_cleaner",
    "touches_any",
    "traces_of",
]

_MAX_WALK = 4 << 30
_NUM_KEPT = 20_000

T = TypeVar("T")


class FileCache(Generic[T]):
    """LRU cache by file; thread-safe."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str, int, int], T] = OrderedDict()
        self._lock = Lock()

    def of(self, file: StoredFile, find: Callable[[], T]) -> T:
        """Return the value of a file, from `find` if it is not cached; errors are not cached."""
        key = file.path, file.identity, file.size, file.modified_ns
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = find()
        with self._lock:
            self._found[key] = found
            if len(self._found) > _NUM_KEPT:
                self._found.popitem(last=False)
        return found

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._found.clear()


_kept: FileCache[SegmentContents] = FileCache()
_kept_traces: FileCache[bool] = FileCache()


def extent_of(places: Places, segment: StoredSegment) -> Extent | None:
    """Return the first and last offset of a segment; None if it has no sound entry or cannot be read."""
    with NotingFaults():
        return contents_of_stored(places, segment).extent
    return None  # the segment's reader reports what is wrong


def contents_of_stored(
    places: Places, segment: StoredSegment, source: Source | None = None
) -> SegmentContents:
    """Summarize a stored segment, or its open source; see `contents.contents_of`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """

    def examined() -> SegmentContents:
        with closing(open_stored(places, segment)) if source is None else nullcontext(source) as opened:
            extent = _undoubted_extent(opened, segment) if is_small(segment) else None
            if extent is not None:
                return SegmentContents(segment.file.path, segment.base_offset, opened.size, extent)
            held = contents_of(opened, segment.base_offset, beside(places, segment))
            return replace(held, path=segment.file.path)

    return _kept.of(segment.file, examined)


def _undoubted_extent(source: Source, segment: StoredSegment) -> Extent | None:
    """The extent of a small segment by all its headers; None if they leave a doubt, or other bytes."""
    table, *others = [*Walk(source, check_crc=True).pieces(), None]
    if not isinstance(table, EntryTable) or others != [None]:
        return None
    names = "magic", "base_offset", "last_offset_delta", "num_records"
    magics, firsts, deltas, counts = map(table.values, names)
    lasts = [first + delta for first, delta in zip(firsts, deltas, strict=True)]
    missing = [
        first - last - 1 for first, last in zip(firsts, [segment.base_offset - 1, *lasts], strict=False)
    ]
    end = segment.base_offset + MOST_OFFSETS if segment.end_offset is None else segment.end_offset
    is_sound = min(magics) >= 2 and table.value(len(table) - 1, "end_position") == source.size
    is_sound &= all(0 <= count <= delta + 1 for count, delta in zip(counts, deltas, strict=True))
    # Where the next segment shows no end, what follows missing offsets is in doubt.
    is_sound &= min(missing) >= 0 and (segment.end_offset is not None or not any(missing))
    extent = Extent(firsts[0], lasts[-1])
    return extent if is_sound and extent.is_within(segment.base_offset, end) else None


def open_examined(places: Places, segment: StoredSegment, **options: bool) -> Segment:
    """Open a segment as `open_segment_of`, and summarize it for those who ask later for its contents."""
    source = open_stored(places, segment)
    with suppress(KafkaFormatError):
        contents_of_stored(places, segment, source)
    return open_segment(source, closes_source=True, **options)


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
        return is_cleaned(source)


def astray_in(places: Places, log: PartitionLog) -> tuple[Extent, ...]:
    """Return the offsets of each segment that has others than its name says; empty where names are right."""
    segments = [piece.segment for piece in log.pieces if _is_brokers(piece.segment)]
    extents = run_at_once(segments[0].path if segments else "", partial(extent_of, places), segments)
    return tuple(filter(None, starmap(_if_astray, zip(segments, extents, strict=True))))


def _is_brokers(segment: StoredSegment) -> bool:
    return SEGMENT_NAME.fullmatch(segment.file.path.rpartition("/")[2]) is not None


def _if_astray(segment: StoredSegment, extent: Extent | None) -> Extent | None:
    is_right = extent is None or extent.is_within(segment.base_offset, segment.end_offset)
    return None if is_right else extent


def touches_any(extents: Sequence[Extent], start: int, end: int | None) -> bool:
    """Return whether one of the segments may hold an offset in `[start, end)`."""
    return any(extent.touches(start, end) for extent in extents)
