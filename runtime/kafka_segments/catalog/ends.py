"""Where a log ends, and where reading it is to stop.

Strategy: the end of a segment is found from the last entry of its `.index`, held against the batch that it
points to; without a sound one, all headers are walked. Only the last batches' checksums are verified. Behind
the last whole and valid batch of the newest segment there may be an incomplete one: a broker was writing it,
or was killed while it did. It is pending, no damage.

A live log directory is not the committed log. A broker notes the high watermark every few seconds, so what
stands behind the noted one may be committed, or may go away when the leader changes: it is left out, and
said. Where no broker holds the directory, nobody takes away any more what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_segments.catalog.lookups import open_offsets
from kafka_segments.catalog.model import LeftOut, PartitionLog, StoredSegment
from kafka_segments.catalog.stored import open_stored
from kafka_segments.entries import Batch, Damage
from kafka_segments.errors import (
    CorruptIndexError,
    OptionError,
    ReadError,
    TruncatedError,
    pass_over,
)
from kafka_segments.framing import Scan
from kafka_segments.holdings import near_end
from kafka_segments.places import Places
from kafka_segments.storage import Source

__all__ = [
    "EndMode",
    "ReadEnd",
    "SegmentEnd",
    "find_end",
    "find_reached",
    "find_read_end",
    "last_sound_batch",
]

EndMode = Literal["default", "high-watermark", "log-end"]

_MAX_TAIL = 16 << 20
_MAX_WALK = 1 << 20  # where no index says where the tail begins
_SMALL = 64 << 10  # read faster than an index is looked up


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """How a segment ends.

    Attributes:
        end_offset: behind the last offset of the last whole, valid batch; the base offset if there is none.
        position: behind that batch, in bytes.
        last: its header; None if there is none.
        tail: what stands behind it and is no such batch, other than zeros; None if nothing does.
        is_hint_wrong: the `.index` does not fit the segment.
    """

    end_offset: int
    position: int
    last: Batch | None
    tail: Damage | None
    is_hint_wrong: bool = False

    @property
    def is_tail_pending(self) -> bool:
        """Whether the tail is the beginning of a batch, which the newest segment may lawfully end with."""
        return self.tail is not None and isinstance(self.tail.error, TruncatedError)


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """Where reading a log is to stop.

    Attributes:
        end_offset: the first offset that is not read.
        log_end_offset: behind the last whole and valid batch.
        high_watermark: as noted; None if it is not.
        left_out: what stands behind `end_offset`.
        damage: what stands behind the last valid batch, is no beginning of another one, and is to be told,
            unless reading stops before `log_end_offset`.
    """

    end_offset: int
    log_end_offset: int
    high_watermark: int | None
    left_out: tuple[LeftOut, ...]
    damage: Damage | None = None


def find_end(places: Places, segment: StoredSegment) -> SegmentEnd:
    """Find where a segment ends.

    Raises:
        ReadError: it cannot be opened.
        DecodeError: it is stored in chunks that cannot be read.
    """
    source = open_stored(places, segment)
    try:
        hint = _hint(places, segment)
        found = None if hint is None else _from(source, segment, *hint)
        if found is not None:
            return found
        position = 0 if source.descriptor < 0 else near_end(source)
        found = _scanned(source, segment, position)
        if found.last is None and position:
            found = _scanned(source, segment, 0)
        is_wrong = hint is not None
        return SegmentEnd(found.end_offset, found.position, found.last, found.tail, is_wrong)
    finally:
        source.close()


def find_read_end(places: Places, log: PartitionLog, mode: EndMode = "default") -> ReadEnd:
    """Find where reading a log is to stop.

    Args:
        places: where it is.
        log: the log; without pieces it ends where it starts.
        mode: `high-watermark` stops there, `log-end` behind the last whole and valid batch; `default` at the
            high watermark if a broker holds the directory open, else at the log's end.

    Raises:
        OptionError: there is no such mode, or the high watermark was asked for and is not noted.
        ReadError: the newest segment cannot be opened.
    """
    if mode not in ("default", "high-watermark", "log-end"):
        raise OptionError(f"the end is {mode!r}; give 'default', 'high-watermark' or 'log-end'")
    high_watermark = log.end.high_watermark
    if mode == "high-watermark" and high_watermark is None:
        raise OptionError(
            f"no high watermark is noted for partition {log.topic}-{log.partition} "
            "(replication-offset-checkpoint in its log directory): give log-end, or an offset",
            path=next(iter(log.copies), None),
        )
    start = log.log_start_offset or 0
    if not log.pieces:
        return ReadEnd(start, start, high_watermark, ())
    last = log.pieces[-1]
    found = find_end(places, last.segment)
    log_end = max(start, found.end_offset if last.end is None else min(found.end_offset, last.end))
    end = log_end
    if mode == "high-watermark" or (mode == "default" and log.end.is_live):
        # A partition that is not in the checkpoint has none yet: a broker begins at the log's start then.
        end = min(log_end, max(start, high_watermark or 0))
    is_pending = last.segment.is_newest and (found.is_tail_pending or log.end.is_live)
    pending, damage = (found.tail, None) if is_pending else (None, found.tail)
    left_out = tuple(_left_out(log, found, end, log_end, pending))
    return ReadEnd(end, log_end, high_watermark, left_out, damage)


def last_sound_batch(places: Places, segment: StoredSegment, end: int) -> Batch | None:
    """The last whole and valid batch of a segment that begins below an offset, by its header.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    source = open_stored(places, segment)
    try:
        hint = _hint(places, segment, end)
        position = 0
        if hint is not None and _is_sound_at(source, *hint):
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
        pass_over(error)
        return None
    if lookup is None:
        return None
    with lookup:
        if end is not None:
            return lookup.last_below(end)
        return lookup.entry(len(lookup) - 1) if len(lookup) else None


def _from(source: Source, segment: StoredSegment, offset: int, position: int) -> SegmentEnd | None:
    """The end as it is seen from an index's entry; None if that does not fit."""
    return _scanned(source, segment, position) if _is_sound_at(source, offset, position) else None


def _is_sound_at(source: Source, offset: int, position: int) -> bool:
    """Whether a valid batch stands at a position, and begins at or before an offset.

    Where a wrapper of the old formats begins only its messages know; brokers before 2.0 noted that offset,
    not the last one.
    """
    if not 0 <= position < source.size:
        return False
    entry = next(Scan(source).entries(position), None)
    if not isinstance(entry, Batch) or not entry.crc_valid:
        return False
    return entry.base_offset is None or entry.base_offset <= offset


def find_reached(places: Places, segment: StoredSegment) -> int | None:
    """Find behind which offset a segment ends now, if its last bytes tell; None if they do not.

    Only what stands behind the last entry of its index is read. Batches whose headers leave their last offset
    open do not tell; nor does a segment whose last batch lies below its base offset, which is another
    segment's under this name.

    Raises:
        ReadError: see `find_end`; likewise DecodeError.
    """
    source = open_stored(places, segment)
    try:
        position, most = 0, _MAX_WALK
        hint = _hint(places, segment) if source.size > _SMALL or source.descriptor < 0 else None
        if hint is not None and _is_sound_at(source, *hint):
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


def _scanned(source: Source, segment: StoredSegment, position: int) -> SegmentEnd:
    """The end, by all batches from a position on."""
    end_offset, end_position = segment.base_offset, position
    last: Batch | None = None
    tail: Damage | None = None
    for entry in Scan(source).entries(position):
        if isinstance(entry, Damage):
            tail = tail or entry
        elif isinstance(entry, Batch) and entry.crc_valid:
            last, tail = entry, None
            end_offset = max(end_offset, entry.last_offset + 1, (entry.base_offset or 0) + 1)
            end_position = entry.end_position
    return SegmentEnd(end_offset, end_position, last, tail)


def _left_out(
    log: PartitionLog, found: SegmentEnd, end: int, log_end: int, pending: Damage | None
) -> Iterator[LeftOut]:
    path = log.pieces[-1].segment.file.path
    if end < log_end:
        why = (
            f"behind the high watermark that the broker noted, {log.end.high_watermark or 0}: not committed "
            "as far as is known (the note may be some seconds old); endingOffsets=log-end reads it"
        )
        num_bytes = _num_bytes_from(log, found, end)
        yield LeftOut(log.topic, log.partition, end, log_end - 1, path, num_bytes, why)
    if pending is not None:
        num_bytes = pending.end_position - pending.position
        why = f"an incomplete batch at position {pending.position}: a broker was writing it"
        yield LeftOut(log.topic, log.partition, log_end, None, path, num_bytes, why)


def _num_bytes_from(log: PartitionLog, found: SegmentEnd, end: int) -> int:
    """About how many bytes stand behind an offset; all of a segment counts that only a part of does."""
    others = (piece for piece in log.pieces[:-1] if piece.end is not None and piece.end > end)
    return found.position + sum(piece.segment.size for piece in others)
