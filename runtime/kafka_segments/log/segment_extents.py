"""First and last offset of a segment by its content, cached.

Strategy: files are renamed or swapped by hand, by recovery tools and by copies that failed half-way, but
their batches keep their offsets. So the first and the last sound entry are read; the last entry of the
`.index` has the position of the latter. Each file is opened once, and the compiled scanner reads small ones
if there are many. Results are cached while a file is unchanged, for many ranges of one directory share them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.io.filesystems import Places
from kafka_segments.log.found_cache import FileCache
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import look_up
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import is_remote, open_stored
from kafka_segments.segment.contents import (
    contents_in_table,
    contents_of,
    contents_of_small,
    runs_in,
    table_of_small,
)
from kafka_segments.segment.continuity import Extent, SegmentContents

__all__ = ["SmallTimes", "contents_of_stored", "extent_of", "runs_at", "times_in_small"]

LARGEST_SMALL = 64 << 10  # bytes of a segment that is read faster than its indexes
_NUM_SLOW = 400  # segments to read before loading the compiled scanner, which takes as long

_kept: FileCache[SegmentContents] = FileCache()
_kept_times: FileCache[SmallTimes | None] = FileCache()


@dataclass(frozen=True, slots=True)
class SmallTimes:
    """Timestamps of a small, sound and ordered segment, by the headers of all its batches.

    Attributes:
        last_offsets: of each batch.
        latest: the greatest timestamp up to each batch's end.
        has_append_time: whether any batch has log append time.
    """

    last_offsets: tuple[int, ...]
    latest: tuple[int, ...]
    has_append_time: bool


def times_in_small(places: Places, segment: StoredSegment, budget: Budget) -> SmallTimes | None:
    """Read the timestamps of a small segment's headers by the compiled scanner; cache its extent too.

    Returns:
        None for any other segment, and as long as the planning has asked for few: see `Budget`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    is_near = segment.form == "plain" and not is_remote(segment.file)
    if not is_near or not 0 < segment.size <= LARGEST_SMALL or not budget.has_many_small():
        return None
    return _kept_times.of(segment.file, lambda: _times_in_small(places, segment))


def _times_in_small(places: Places, segment: StoredSegment) -> SmallTimes | None:
    source = open_stored(places, segment)
    try:
        table = table_of_small(source)
        if table is None:
            return None
        contents = contents_in_table(table, source, segment.base_offset)
        _kept.of(segment.file, lambda: contents)
        if table.has_disorder() or table.may_exceed_last_offsets():
            return None
        times, kinds = table.column("max_timestamp").tolist(), table.column("timestamp_type")
        return SmallTimes(
            tuple(table.last_offsets().tolist()), tuple(accumulate(times, max)), bool(kinds.any())
        )
    finally:
        source.close()


def extent_of(places: Places, segment: StoredSegment) -> Extent | None:
    """Return the first and last offset of a segment; None if it has no sound entry or cannot be read."""
    try:
        return contents_of_stored(places, segment).extent
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return None  # the segment's reader reports it


def contents_of_stored(places: Places, segment: StoredSegment) -> SegmentContents:
    """Summarize a stored segment; see `contents.contents_of`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    return _kept.of(segment.file, lambda: _contents_of(places, segment))


def runs_at(places: Places, segment: StoredSegment) -> list[Extent]:
    """Return the offsets of all entries in a stored segment; see `contents.runs_in`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    source = open_stored(places, segment)
    try:
        return runs_in(source)
    finally:
        source.close()


def _contents_of(places: Places, segment: StoredSegment) -> SegmentContents:
    source = open_stored(places, segment)
    try:
        if len(_kept) >= _NUM_SLOW and segment.form == "plain" and not is_remote(segment.file):
            found = contents_of_small(source, segment.base_offset)
            if found is not None:
                return found
        held = contents_of(source, segment.base_offset, partial(look_up, places, segment))
        return replace(held, path=segment.file.path)
    finally:
        source.close()
