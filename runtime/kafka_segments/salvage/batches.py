"""Batches of a stretch or of a piece: their headers, read again, and a stretch divided at an offset."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.errors import ReadError
from kafka_segments.salvage.ledger import ResultPiece, SoundStretch
from kafka_segments.write.following import completed

__all__ = ["BatchHead", "Parts", "batches_in", "entries_in", "joined", "parts_at", "stretches_in"]

_COLUMNS = (
    "position",
    "end_position",
    "base_offset",
    "last_offset_delta",
    "max_timestamp",
    "timestamp_type",
    "codec",
    "producer_id",
    "magic",
    "crc",
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A stretch divided at an offset: below it, the batch that has offsets on both sides, and the rest."""

    below: SoundStretch | None
    across: SoundStretch | None
    rest: SoundStretch | None


def entries_in(walk: Walk, within: SoundStretch | ResultPiece) -> Iterator[EntryTable]:
    """Yield the headers of a stretch or piece, completed; a table is valid until the next one.

    Raises:
        ReadError: the bytes are others than when the file was surveyed; of the disk, if that fails now.
    """
    position, end = within.position, within.end_position
    for found in walk.pieces(position):
        if isinstance(found, Damage) and isinstance(found.error, ReadError):
            raise found.error
        if not isinstance(found, EntryTable):
            break
        count = bisect_left(range(len(found)), end, key=partial(found.value, name="position"))
        entries = completed(found.before(count))
        position = entries.value(count - 1, "end_position")
        if position > end:
            break
        yield entries
        if position == end:
            return
    detail = "the file changed while it was read; give a copy that nothing writes to"
    raise ReadError(detail, position=position, path=walk.scan.source.name)


class BatchHead(NamedTuple):
    """Place and offsets of a batch, its greatest timestamp, whether all records have it, and other fields."""

    position: int
    end_position: int
    first: int
    last: int
    newest: int
    is_append_time: bool
    producer_id: int
    magic: int
    crc: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end_position - self.position


def batches_in(source: Source, within: SoundStretch | ResultPiece) -> Iterator[BatchHead]:
    """Yield the batches of a stretch or piece; a wrapper begins after the batch before it.

    Raises:
        ReadError: see `entries_in`.
    """
    first = within.first
    for entries in entries_in(Walk(source), within):
        for begin, end, base, delta, newest, kind, codec, *others in zip(
            *map(entries.values, _COLUMNS), strict=True
        ):
            first, last = base if others[1] >= 2 or codec == 0 else first, max(base, base + delta)
            yield BatchHead(begin, end, first, last, newest, kind == 1, *others)
            first = last + 1


def stretches_in(source: Source, stretch: SoundStretch) -> Iterator[SoundStretch]:
    """Yield each batch of a stretch as one.

    Raises:
        ReadError: see `entries_in`.
    """
    for one in batches_in(source, stretch):
        yield stretch._replace(
            first=one.first,
            last=one.last,
            position=one.position,
            end_position=one.end_position,
            num_batches=1,
            newest=one.newest,
        )


def parts_at(source: Source, stretch: SoundStretch, offset: int) -> Parts:
    """Divide a stretch at an offset; the rest keeps the number and greatest timestamp of the whole.

    Raises:
        ReadError: see `batches_in`.
    """
    below: SoundStretch | None = None
    across: SoundStretch | None = None
    for one in stretches_in(source, stretch):
        if one.last < offset:
            below = joined(below, one)
        elif one.first < offset:
            across = joined(across, one)
        else:
            rest = stretch._replace(first=one.first, position=one.position)
            is_whole = one.position == stretch.position
            return Parts(
                below, across, rest if is_whole else rest._replace(since=one.first, expected=one.first)
            )
    return Parts(below, across, None)


def joined(before: SoundStretch | None, one: SoundStretch) -> SoundStretch:
    """Return a stretch and a batch after it as one."""
    if before is None:
        return one
    return before._replace(
        last=one.last,
        end_position=one.end_position,
        num_batches=before.num_batches + one.num_batches,
        newest=max(before.newest, one.newest),
    )
