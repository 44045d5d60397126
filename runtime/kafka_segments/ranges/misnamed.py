"""Entries of a segment whose offsets belong to other segments, by the segments' names.

Strategy: every offset is read by the split that has it by the names, so it comes once. A split looks for what
its segment lacks at either end (`Finder.elsewhere`), but not for what it lacks in the middle, where the
cleaner may have been. So an entry that stands in the wrong segment is lost where the right one has entries
before and behind it, but not this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kafka_segments.catalog.extents import extent_of
from kafka_segments.catalog.model import StoredSegment
from kafka_segments.errors import KafkaFormatError, pass_over
from kafka_segments.places import Places
from kafka_segments.ranges.cleaning import shows_cleaner
from kafka_segments.ranges.missing import missing_in

__all__ = ["left_out"]


def left_out(
    places: Places,
    own: StoredSegment,
    directory: Sequence[StoredSegment],
    offsets: tuple[int, int],
    *,
    is_compacted: bool,
    is_open: bool,
) -> Iterator[tuple[int, int]]:
    """Which of a segment's entries no split reads: first and last offset of each.

    Args:
        places: where they are.
        own: the segment.
        directory: all segments beside it, and itself, by base offset.
        offsets: the first and the last of the offsets that are not its own by the names.
        is_compacted: the cleaner is known to have been there: splits of segments that hold nothing else than
            their names say look for what they lack in the segments next to theirs alone.
        is_open: the newest segment is read to its own end, and not up to some offset.
    """
    at_own = bisect_right([one.base_offset for one in directory], own.base_offset) - 1
    first, last = offsets
    for at, other in enumerate(directory):
        end = directory[at + 1].base_offset if at + 1 < len(directory) else None
        low, high = max(first, other.base_offset), last if end is None else min(last, end - 1)
        if at == at_own or low > high:
            continue
        extent = extent_of(places, other)
        ends_at_once = is_open and end is None and extent is None
        is_within = extent is None or extent.is_within(other.base_offset, end)
        is_far = abs(at - at_own) > 1 and is_within
        if ends_at_once or (is_far and (is_compacted or shows_cleaner(places, other))):
            low_inside, high_inside = low, high  # nobody comes by
        elif extent is None or extent.last < other.base_offset:
            continue  # all that it should hold is looked for, up to the log's end
        else:
            low_inside = max(low, extent.first)
            high_inside = high if end is None else min(high, extent.last)
        if low_inside <= high_inside:
            try:
                yield from missing_in(places, own, other, (low_inside, high_inside))
            except KafkaFormatError as error:
                pass_over(error)  # whoever reads that segment tells of it
    if directory and first < directory[0].base_offset:
        yield first, min(last, directory[0].base_offset - 1)
