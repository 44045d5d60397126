"""Entries of a segment whose offsets belong to other segments, by the segments' names.

Strategy: every offset is read by the split that has it by the names, so it comes once. A split looks for what
its segment lacks at either end (`SegmentFinder.elsewhere`), but not for what it lacks in the middle, where
the cleaner may have been. So an entry in the wrong segment is lost where the right one has entries before and
after it, but not this one; and no split finds an entry in the middle of a segment if the segment's first and
last entries do not show it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.io.filesystems import Places
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.segment_extents import extent_of
from kafka_segments.query.read.cleaned_ranges import shows_cleaner
from kafka_segments.query.read.missing_records import missing_in
from kafka_segments.segment.continuity import Extent

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
            yield other.base_offset, high  # the log ends there at once
            continue
        nobody_comes_by = is_far and (is_compacted or shows_cleaner(places, other))
        found = None if nobody_comes_by else own_extent
        for inside in _unread((low, high), (other.base_offset, end), extent, found):
            if inside[0] > inside[1]:
                continue
            try:
                yield from missing_in(places, own, other, inside)
            except KafkaFormatError as error:
                raise_unless_file_at_fault(error)  # whoever reads that segment tells of it
    if directory and first < directory[0].base_offset:
        yield first, min(last, directory[0].base_offset - 1)


def _unread(
    offsets: tuple[int, int], named: tuple[int, int | None], extent: Extent | None, found: Extent | None
) -> Iterator[tuple[int, int]]:
    """The ranges of some offsets that whoever reads another segment does not look for in this one.

    Args:
        offsets: of entries in this segment.
        named: those that the other one should hold; all of `offsets` are among them.
        extent: what it holds by its first and last entries; what it lacks around that is looked for.
        found: likewise what this one holds; there it is looked into.
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
