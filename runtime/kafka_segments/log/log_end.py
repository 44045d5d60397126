"""Where a segment ends.

Strategy: the end is found from the last entry of the `.index`, held against the batch that it points to;
without a sound one, all headers are walked. Only the last batches' checksums are verified. Where many small
segments are asked for, the compiled scanner goes through each whole one. Behind the last
whole and valid batch of the newest segment there may be an incomplete one: a broker was writing it, or was
killed while it did. It is pending, no damage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from kafka_segments.errors import (
    CorruptIndexError,
    MissingExtraError,
    ReadError,
    TruncatedError,
    raise_unless_file_at_fault,
)
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import is_remote, open_offsets
from kafka_segments.log.stored_segments import open_stored
from kafka_segments.segment.contents import begins_by, is_sound_at, last_entry, near_end
from kafka_segments.segment.scan.entry_scan import Scan

__all__ = ["SegmentEnd", "end_of", "find_end", "find_end_of_small", "find_reached", "last_sound_batch"]

_MAX_TAIL = 16 << 20
_MAX_WALK = 1 << 20  # where no index says where the tail begins
_SMALL = 64 << 10  # read faster than an index is looked up
_NUM_SLOW = 100  # small segments that are read before the compiled scanner is loaded, which takes as long

_num_small = count()


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """How a segment ends.

    Attributes:
        end_offset: behind the last offset of the last whole, valid batch; the base offset if there is none.
        highest: the highest offset of the last batches, whatever the segment's name; None if there is none.
        position: behind that batch, in bytes.
        last: its header; None if there is none.
        tail: what stands behind it and is no such batch, other than zeros; None if nothing does.
        ends_in_zeros: there are zeros behind it.
        is_hint_wrong: the `.index` does not fit the segment.
    """

    end_offset: int
    highest: int | None
    position: int
    last: Batch | None
    tail: Damage | None
    ends_in_zeros: bool = False
    is_hint_wrong: bool = False

    @property
    def is_tail_pending(self) -> bool:
        """Whether the tail is the beginning of a batch, which the newest segment may lawfully end with."""
        return self.tail is not None and isinstance(self.tail.error, TruncatedError)


def find_end(places: Places, segment: StoredSegment) -> SegmentEnd:
    """Find where a segment ends.

    Raises:
        ReadError: it cannot be opened.
        DecodeError: it is stored in chunks that cannot be read.
    """
    source = open_stored(places, segment)
    try:
        return end_of(source, places, segment)
    finally:
        source.close()


def end_of(source: Source, places: Places, segment: StoredSegment) -> SegmentEnd:
    """The same of a segment that is open."""
    hint = _hint(places, segment)
    if hint is not None and 0 <= hint[1] < source.size:
        found = _scanned(source, segment, hint[1], hint[0])
        if found is not None:
            return found
    position = 0 if source.descriptor < 0 else near_end(source)
    found = _scanned(source, segment, position)
    if found is None or (found.last is None and position):
        found = _scanned(source, segment, 0)
    assert found is not None  # nothing was expected of its first entry
    return replace(found, is_hint_wrong=hint is not None)


def last_sound_batch(places: Places, segment: StoredSegment, end: int) -> Batch | None:
    """The last whole and valid batch of a segment that begins below an offset, by its header.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    source = open_stored(places, segment)
    try:
        hint = _hint(places, segment, end)
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
    finally:
        source.close()


def _hint(places: Places, segment: StoredSegment, end: int | None = None) -> tuple[int, int] | None:
    """Offset and position of an index's last entry (below `end`); None if there is none to be had."""
    try:
        lookup = open_offsets(places, segment)
    except (CorruptIndexError, ReadError) as error:
        raise_unless_file_at_fault(error)
        return None
    if lookup is None:
        return None
    with lookup:
        if end is not None:
            return lookup.last_below(end)
        return last_entry(lookup)


def find_reached(places: Places, segment: StoredSegment) -> int | None:
    """Find behind which offset a segment ends now, if its last bytes tell; None if they do not.

    Only what stands behind the last entry of its index is read. Batches whose headers leave their last offset
    open do not tell; nor does a segment whose last batch lies below its base offset, which is another
    segment's under this name.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    if (end := find_end_of_small(places, segment)) is not None:
        return end
    source = open_stored(places, segment)
    try:
        position, most = 0, _MAX_WALK
        hint = _hint(places, segment) if source.size > _SMALL or source.descriptor < 0 else None
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
    finally:
        source.close()


def find_end_of_small(places: Places, segment: StoredSegment) -> int | None:
    """The same of a small segment in which everything is sound and in its place, by the compiled scanner.

    None of any other, and of the first few that are asked for: the scanner takes a while to load.

    Raises:
        ReadError: see `find_end`.
    """
    is_near = segment.form == "plain" and not is_remote(segment.file)
    if not is_near or segment.size > _SMALL or next(_num_small) < _NUM_SLOW:
        return None
    source = open_stored(places, segment)
    try:
        from kafka_segments.segment.columnar.small_segments import last_offsets

        found = last_offsets(source)
    except MissingExtraError:
        return None
    finally:
        source.close()
    return None if found is None or found[0] < segment.base_offset else found[1] + 1


def _scanned(
    source: Source, segment: StoredSegment, position: int, offset: int | None = None
) -> SegmentEnd | None:
    """The end, by all batches from a position on; None if the first one is not as an index says."""
    highest: int | None = None
    last: Batch | None = None
    tail: Damage | None = None
    entry: Batch | Damage | Padding | None = None
    for number, entry in enumerate(Scan(source).entries(position)):
        if number == 0 and offset is not None and not begins_by(entry, offset):
            return None
        if isinstance(entry, Damage):
            tail = tail or entry
        elif isinstance(entry, Batch) and entry.crc_valid:
            last, tail = entry, None
            highest = max(highest or 0, entry.last_offset, entry.base_offset or 0)
            position = entry.end_position
    end_offset = segment.base_offset if highest is None else max(segment.base_offset, highest + 1)
    return SegmentEnd(end_offset, highest, position, last, tail, isinstance(entry, Padding))
