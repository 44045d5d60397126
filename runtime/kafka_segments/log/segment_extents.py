"""First and last offset of a segment by its content, cached.

Strategy: files are renamed or swapped by hand, by recovery tools and by copies that failed half-way, but
their batches keep their offsets. So the first and the last sound entry are read; the last entry of the
`.index` has the position of the latter. Each file is opened once, and the compiled scanner reads small ones
if there are many. Results are cached while a file is unchanged, for many ranges of one directory share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.contents import contents_of, runs_in
from kafka_segments.core.segment.continuity import Extent, SegmentContents
from kafka_segments.core.segment.scan.entry_table import MOST_OFFSETS
from kafka_segments.errors import MissingExtraError, NotingFaults
from kafka_segments.log.found_cache import FileCache
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import beside
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import is_small, open_stored

if TYPE_CHECKING:
    from kafka_segments.core.segment.columnar.small_segments import SmallTimes

__all__ = [
    "NUM_AHEAD",
    "contents_of_stored",
    "extent_of",
    "read_small",
    "runs_at",
    "times_in_small",
]

NUM_AHEAD = 1024
"""Segments that a caller gives to `read_small` at once, for the cache keeps what it reads of so many."""
_LEN_AT_ONCE = 4 << 20  # bytes of segments that are read in one pass

_kept: FileCache[SegmentContents] = FileCache()
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
    if not budget.has_many_small(len(wanted)):
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


def runs_at(places: Places, segment: StoredSegment) -> list[Extent]:
    """Return the offsets of all entries in a stored segment; see `contents.runs_in`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    with closing(open_stored(places, segment)) as source:
        return runs_in(source)


def _contents_of(places: Places, segment: StoredSegment) -> SegmentContents:
    with closing(open_stored(places, segment)) as source:
        held = contents_of(source, segment.base_offset, beside(places, segment))
        return replace(held, path=segment.file.path)
