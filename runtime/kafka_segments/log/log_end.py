"""End of a segment.

Strategy: read from the last entry of the `.index` on, verified against the batch at its position; without a
sound one, all headers are read. Only the last batches' checksums are verified. After the last whole batch of
the newest segment there may be an incomplete one: a broker was writing it, or was killed while it did. It is
pending, which is not damage.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import ExitStack, closing
from functools import cached_property, partial

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_lookup import OffsetLookup, TimeLookup
from kafka_segments.core.segment.contents import (
    LARGEST_SMALL,
    Beside,
    SegmentEnd,
    end_of,
    is_sound_at,
    scan_end,
)
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import KafkaFormatError, NotingFaults
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_offsets, open_stored, open_times

__all__ = ["NamedOffsets", "beside", "find_end", "find_reached", "last_sound_batch"]

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
        known = beside(places, segment)
        if findings is not None:  # check the index even if it is not needed
            found = _look_up(places, segment, findings=findings)
            known = Beside(lambda: found, known.last_named)
        return end_of(source, segment.base_offset, known)


def beside(places: Places, segment: StoredSegment) -> Beside:
    """Return what other files say of a segment; of its end, where the next one does not show that."""

    def last_named() -> int:
        with closing(NamedOffsets(places, segment)) as named:
            return -1 if segment.end_offset is not None else max(named.last(), segment.noted_end - 1)

    return Beside(partial(_look_up, places, segment), last_named)


def last_sound_batch(places: Places, segment: StoredSegment, end: int) -> Batch | None:
    """Return the header of the last whole, valid batch of a segment that begins below an offset.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    with closing(open_stored(places, segment)) as source:
        hint = _look_up(places, segment, end)
        position = hint[1] if hint is not None and is_sound_at(source, *hint) else 0
        found = None
        for entry in Scan(source).entries(position):
            if isinstance(entry, Batch) and entry.crc_valid:
                first = entry.last_offset if entry.base_offset is None else entry.base_offset
                if first >= end:
                    break
                found = entry
        return found


def _look_up(
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


def find_reached(places: Places, segment: StoredSegment) -> int | None:
    """Find the current end offset of a segment by its last bytes; None if they do not suffice.

    Only the batches after the last entry of its index are read. Batches without a certain last offset in
    their headers do not suffice, nor a last batch below the base offset, which belongs to another segment.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    with closing(open_stored(places, segment)) as source:
        position, most, offset = 0, _MAX_WALK, None
        hint = _look_up(places, segment) if source.size > LARGEST_SMALL or source.descriptor < 0 else None
        if hint is not None and is_sound_at(source, *hint):
            (offset, position), most = hint, _MAX_TAIL
        if source.size - position > most:
            return None
        found = scan_end(source, segment.base_offset, beside(places, segment), position, offset)
        is_own = found is not None and (found.highest is None or found.highest >= segment.base_offset)
        return found.end_offset if found is not None and is_own and found.is_certain else None


class NamedOffsets:
    """Offsets that the indexes of a segment name: it had them then. An index that cannot be read names none.

    The log cleaner rebuilds indexes, and leaves no offset in them that it has removed.

    Args:
        places: opens the indexes, if they are asked for.
        segment: the segment.
    """

    def __init__(self, places: Places, segment: StoredSegment) -> None:
        self._places, self._segment = places, segment
        self._stack = ExitStack()

    @cached_property
    def _lookups(self) -> dict[int, OffsetLookup | TimeLookup]:
        """The indexes that can be read, by the place of the offset in an entry."""
        found: dict[int, OffsetLookup | TimeLookup] = {}
        for at, open_index in enumerate((open_offsets, open_times)):
            with NotingFaults():
                lookup = open_index(self._places, self._segment)
                if lookup is not None:
                    self._stack.enter_context(lookup)
                if lookup:
                    found[at] = lookup
        return found

    def close(self) -> None:
        """Close the indexes."""
        self._stack.close()

    def any_in(self, first: int, last: int) -> bool:
        """Return whether one of some offsets is named."""
        for at, lookup in self._lookups.items():
            key = partial(_offset_of, lookup, at)
            number = bisect_left(range(len(lookup)), first, key=key)
            if number < len(lookup) and key(number) <= last:
                return True
        return False

    def contradict(self, position: int, first: int, last: int) -> bool:
        """Return whether offsets at a position are not between those that are named around it."""
        lookup = self._lookups.get(0)
        if not isinstance(lookup, OffsetLookup):
            return False
        num_before, num_up_to = lookup.num_before(position), lookup.num_before(position + 1)
        is_above = num_before < len(lookup) and first > lookup.entry(num_before)[0]
        return is_above or (num_up_to > 1 and last <= lookup.entry(num_up_to - 2)[0])

    def last(self) -> int:
        """Return the last offset; -1 if there is none."""
        return max((one.entry(len(one) - 1)[at] for at, one in self._lookups.items()), default=-1)


def _offset_of(lookup: OffsetLookup | TimeLookup, at: int, number: int) -> int:
    return lookup.entry(number)[at]
