"""End of a segment.

Strategy: read from the last entry of the `.index` on, verified against the batch at its position; without a
sound one, all headers are read. Only the last batches' checksums are verified. The compiled scanner reads
many small segments as a whole. After the last whole batch of the newest segment there may be an incomplete
one: a broker was writing it, or was killed while it did. It is pending, which is no damage.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial

from kafka_segments.errors import KafkaFormatError, NotingFaults
from kafka_segments.formats.entries import Batch
from kafka_segments.io.filesystems import Places
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import is_small, open_offsets, open_stored
from kafka_segments.segment.contents import LARGEST_SMALL, SegmentEnd, contents_of_small, end_of, is_sound_at
from kafka_segments.segment.scan.entry_scan import Scan

__all__ = ["find_end", "find_end_of_small", "find_reached", "last_sound_batch", "look_up"]

_MAX_TAIL = 16 << 20
_MAX_WALK = 1 << 20  # bytes to read without an index


def find_end(
    places: Places, segment: StoredSegment, findings: list[KafkaFormatError] | None = None
) -> SegmentEnd:
    """Find the end of a segment.

    Args:
        places: opens files.
        segment: the segment.
        findings: receives the error of its `.index`.

    Raises:
        ReadError: it cannot be opened.
        DecodeError: it is stored in chunks that cannot be read.
    """
    with closing(open_stored(places, segment)) as source:
        find_hint = partial(look_up, places, segment, findings=findings)
        if findings is not None:  # check the index even if it is not needed
            found = find_hint()
            return end_of(source, segment.base_offset, lambda: found)
        return end_of(source, segment.base_offset, find_hint)


def last_sound_batch(places: Places, segment: StoredSegment, end: int) -> Batch | None:
    """Return the header of the last whole, valid batch of a segment that begins below an offset.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    with closing(open_stored(places, segment)) as source:
        hint = look_up(places, segment, end)
        position = 0
        if hint is not None and is_sound_at(source, *hint):
            position = hint[1]
        found = None
        for entry in Scan(source).entries(position):
            if isinstance(entry, Batch) and entry.crc_valid:
                first = entry.last_offset if entry.base_offset is None else entry.base_offset
                if first >= end:
                    break
                found = entry
        return found


def look_up(
    places: Places,
    segment: StoredSegment,
    end: int | None = None,
    findings: list[KafkaFormatError] | None = None,
) -> tuple[int, int] | None:
    """Look up offset and position of the last index entry (below `end`) of a segment; None if there is none.

    An index that cannot be read is a finding, and counts as missing.
    """
    with NotingFaults(findings):
        lookup = open_offsets(places, segment)
        if lookup is not None:
            with lookup:
                return lookup.last() if end is None else lookup.last_below(end)
    return None


def find_reached(places: Places, segment: StoredSegment, budget: Budget) -> int | None:
    """Find the current end offset of a segment by its last bytes; None if they do not suffice.

    Only the batches after the last entry of its index are read. Batches without a certain last offset in
    their headers do not suffice, nor a last batch below the base offset, which belongs to another segment.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    if (end := find_end_of_small(places, segment, budget)) is not None:
        return end
    with closing(open_stored(places, segment)) as source:
        position, most = 0, _MAX_WALK
        hint = look_up(places, segment) if source.size > LARGEST_SMALL or source.descriptor < 0 else None
        if hint is not None and is_sound_at(source, *hint):
            position, most = hint[1], _MAX_TAIL
        if source.size - position > most:
            return None
        end = segment.base_offset
        for entry in Scan(source).entries(position):
            if isinstance(entry, Batch) and entry.crc_valid is not False:
                if entry.highest_offset != entry.last_offset:
                    return None
                if entry.last_offset < segment.base_offset:
                    return None
                end = max(end, entry.last_offset + 1)
        return end


def find_end_of_small(places: Places, segment: StoredSegment, budget: Budget) -> int | None:
    """Find the end offset of a small segment of sound, ordered batches by the compiled scanner.

    Returns:
        None for any other segment, and as long as the planning has asked for few: see `Budget`.

    Raises:
        ReadError: see `find_end`.
    """
    if not is_small(segment) or not budget.has_many_small():
        return None
    with closing(open_stored(places, segment)) as source:
        found = contents_of_small(source, segment.base_offset)
    extent = None if found is None else found.extent
    return None if extent is None or extent.first < segment.base_offset else extent.last + 1
