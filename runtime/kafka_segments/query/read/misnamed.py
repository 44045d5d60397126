"""Entries in the wrong segment, by the segments' names, that no split reads.

Strategy: each offset is read by the split that has it by name, so it comes once. A split searches other
segments for offsets missing at either end of its own (`SegmentFinder.elsewhere`), but not for gaps in the
middle, which the cleaner may have made. So an entry in the wrong segment is lost if the right one has entries
before and after it. So is an entry in the middle of a segment, outside the range of its first and last
entries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import Extent
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries, run_of
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.segment_extents import extent_of, shows_cleaner

__all__ = ["left_out", "missing_in"]


def left_out(
    places: Places,
    own: StoredSegment,
    directory: Sequence[StoredSegment],
    offsets: tuple[int, int],
    *,
    is_compacted: bool,
    is_open: bool,
) -> Iterator[tuple[int, int]]:
    """Yield offsets of a segment's entries that no split reads, as first and last offset.

    Args:
        places: filesystems by path.
        own: the segment.
        directory: all segments of its directory, by base offset.
        offsets: first and last of the offsets that are not its own by name.
        is_compacted: the log was cleaned: splits of correctly named segments search neighbours only.
        is_open: the newest segment is read to its own end.
    """
    at_own = bisect_right([one.base_offset for one in directory], own.base_offset) - 1
    own_extent = extent_of(places, own)
    first, last = offsets
    for at, other in enumerate(directory):
        end = directory[at + 1].base_offset if at + 1 < len(directory) else None
        low, high = max(first, other.base_offset), last if end is None else min(last, end - 1)
        if at == at_own or low > high:
            continue
        extent = extent_of(places, other)
        is_within = extent is None or extent.is_within(other.base_offset, end)
        is_far = abs(at - at_own) > 1 and is_within
        if is_open and end is None and extent is None:
            yield other.base_offset, high  # the newest segment is empty: the log ends at its base offset
            continue
        is_not_searched = is_far and (is_compacted or shows_cleaner(places, other))
        found = None if is_not_searched else own_extent
        for inside in _unread((low, high), (other.base_offset, end), extent, found):
            if inside[0] > inside[1]:
                continue
            try:
                yield from missing_in(places, own, other, inside)
            except KafkaFormatError as error:
                raise_unless_file_at_fault(error)  # the reader of that segment reports it
    if directory and first < directory[0].base_offset:
        yield first, min(last, directory[0].base_offset - 1)


def _unread(
    offsets: tuple[int, int], named: tuple[int, int | None], extent: Extent | None, found: Extent | None
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of offsets that the split of another segment does not search in this one.

    Args:
        offsets: of entries in this segment.
        named: offsets of the other segment by name; contain `offsets`.
        extent: of the other segment's entries; missing offsets outside it are searched.
        found: extent of this segment's entries, within which it is searched; None if it is not searched.
    """
    low, high = offsets
    if found is None:
        yield low, high
        return
    yield low, min(high, found.first - 1)
    yield max(low, found.last + 1), high
    low, high = max(low, found.first), min(high, found.last)
    base_offset, end = named
    if extent is not None and extent.last >= base_offset:
        yield max(low, extent.first), high if end is None else min(high, extent.last)


def missing_in(
    places: Places, own: StoredSegment, other: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield offset ranges of a segment's entries that are missing in another segment, in file order.

    Args:
        places: filesystems by path.
        own: the segment.
        other: the other segment.
        offsets: first and last offset to compare.

    Raises:
        KafkaFormatError: one of them cannot be read.
    """
    theirs = [*_entries(places, other, offsets)]
    # A cleaned batch lacks some of its records, so that only an identical batch counts.
    marks = {mark for mark, _is_cleaned, _offsets in theirs}
    covered: list[tuple[int, int]] = []
    for part in sorted(one for _mark, is_cleaned, one in theirs if not is_cleaned):
        joins = bool(covered) and part[0] <= covered[-1][1] + 1
        before = covered.pop() if joins else part
        covered.append((before[0], max(before[1], part[1])))
    held: tuple[int, int] | None = None
    for mark, _is_cleaned, (first, last) in _entries(places, own, offsets):
        at = bisect_right(covered, first, key=lambda known: known[0]) - 1
        if mark in marks or (at >= 0 and last <= covered[at][1]):
            continue
        if held is not None and first != held[1] + 1:
            yield held
            held = None
        held = first if held is None else held[0], last
    if held is not None:
        yield held


def _entries(
    places: Places, segment: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[object, bool, tuple[int, int]]]:
    """Yield what identifies each entry, whether it lacks records, and those of some offsets that it has."""
    with closing(open_stored(places, segment)) as source:
        for one in iter_header_summaries(source):
            if isinstance(one, HeaderSummary):  # damage is reported by the reader of that segment
                run, size = run_of(one), one.end_position - one.position
                mark = run.first, run.last, run.newest, one.producer_id, one.num_records, size
                if run.first <= offsets[1] and offsets[0] <= run.last:
                    yield mark, run.is_cleaned, (max(run.first, offsets[0]), min(run.last, offsets[1]))
