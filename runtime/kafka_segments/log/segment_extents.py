"""First and last offset of a segment by its content, cached.

Strategy: files are renamed or swapped by hand, by recovery tools and by copies that failed half-way, but
their batches keep their offsets. So the first and the last sound entry are read; the last entry of the
`.index` has the position of the latter. Each file is opened once, and the compiled scanner reads small ones
if there are many. Results are cached while a file is unchanged, for many ranges of one directory share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.contents import contents_of, contents_of_small, runs_in, times_of_small
from kafka_segments.core.segment.continuity import Extent, SegmentContents
from kafka_segments.core.segment.evidence import MOST_OFFSETS
from kafka_segments.errors import NotingFaults, ReadError, raise_unless_file_at_fault
from kafka_segments.log.found_cache import FileCache
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import beside
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import is_remote, is_small, open_stored

if TYPE_CHECKING:
    from kafka_segments.core.segment.columnar.small_segments import SmallTimes

__all__ = [
    "NUM_AHEAD",
    "contents_of_stored",
    "earliest_in_small",
    "extent_of",
    "read_small",
    "runs_at",
    "times_in_small",
]

_NUM_SLOW = 400  # segments to read before loading the compiled scanner, which takes as long
NUM_AHEAD = 1024
"""Segments that a caller gives to `read_small` at once, for the cache keeps what it reads of so many."""
_LEN_AT_ONCE = 4 << 20  # bytes of segments that are read in one pass
_UNKNOWN: Any = object()

_kept: FileCache[SegmentContents] = FileCache()
_kept_times: FileCache[SmallTimes | None] = FileCache()


def times_in_small(places: Places, segment: StoredSegment, budget: Budget) -> SmallTimes | None:
    """Read the timestamps of a small segment's headers by the compiled scanner, or look up what it read.

    Returns:
        None for any other segment, and as long as the planning has asked for few: see `Budget`.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    if not is_small(segment):
        return None
    known = _kept_times.get(segment.file, _UNKNOWN)
    if known is not _UNKNOWN:
        return known
    if not budget.has_many_small():
        return None
    return _kept_times.of(segment.file, lambda: _times_in_small(places, segment))


def read_small(
    places: Places,
    segments: Iterable[StoredSegment],
    budget: Budget | None = None,
    earliest_from: int | None = None,
) -> None:
    """Read many small segments in one pass, for `times_in_small` and `extent_of`.

    Segments that cannot be read, or not so, are left to these.

    Args:
        places: opens files.
        segments: of any size; those that were read before are not read again.
        budget: of the planning; None if each segment is opened in any case, whichever way is taken.
        earliest_from: also read the records of those with this timestamp or a later one, for
            `earliest_in_small`.
    """
    wanted = [one for one in segments if is_small(one) and _is_to_read(one, earliest_from)]
    # Loading the compiled scanner takes as long as reading so many otherwise.
    is_loaded = budget is None and len(_kept_times) > 0
    is_worth = is_loaded or (budget or Budget(0)).would_be_many(len(wanted))
    if len(wanted) < 2 or not is_worth:
        return
    buffer = memoryview(bytearray(min(_LEN_AT_ONCE, sum(one.size for one in wanted))))
    held: list[StoredSegment] = []
    ends: list[int] = []
    filled = 0
    for one in wanted:
        if filled + one.size > len(buffer):
            _keep_times(held, buffer[:filled], ends, earliest_from)
            held, ends, filled = [], [], 0
        end = filled + one.size
        if places.read_whole(one.path, buffer[filled:end]):
            held.append(one)
            ends.append(end)
            filled = end
    _keep_times(held, buffer[:filled], ends, earliest_from)


def earliest_in_small(segment: StoredSegment) -> int | None:
    """A timestamp that no record is before, if `read_small` found one; reads nothing."""
    small = _kept_times.get(segment.file, None)
    return None if small is None else small.earliest


def _is_to_read(segment: StoredSegment, earliest_from: int | None) -> bool:
    known = _kept_times.get(segment.file, _UNKNOWN)
    if known is _UNKNOWN or known is None or earliest_from is None or known.earliest is not None:
        return known is _UNKNOWN
    return known.greatest >= earliest_from


def _keep_times(
    segments: Sequence[StoredSegment], data: memoryview, ends: Sequence[int], earliest_from: int | None
) -> None:
    found = times_of_small(data, ends, earliest_from)
    for segment, times in zip(segments, found, strict=True):
        if times is not None:
            _kept_times.put(segment.file, times)


def _times_in_small(places: Places, segment: StoredSegment) -> SmallTimes | None:
    with closing(open_stored(places, segment)) as source:
        try:
            return times_of_small(memoryview(source.read(0, source.size)), [source.size])[0]
        except ReadError as error:
            raise_unless_file_at_fault(error)
            return None  # the indexes may suffice


def extent_of(places: Places, segment: StoredSegment) -> Extent | None:
    """Return the first and last offset of a segment; None if it has no sound entry or cannot be read."""
    small = _kept_times.get(segment.file, None)
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
        is_near = segment.form == "plain" and not is_remote(segment.file)
        if len(_kept) >= _NUM_SLOW and is_near and segment.end_offset is not None:
            found = contents_of_small(source, segment.base_offset)
            if found is not None:
                return found
        held = contents_of(source, segment.base_offset, beside(places, segment))
        return replace(held, path=segment.file.path)
