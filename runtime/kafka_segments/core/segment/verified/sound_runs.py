"""Runs of sound batches in a segment: what can be copied from it in one piece, and what not.

Strategy: every checksum is verified, and records are read (`verified_entries`), for a right checksum does not
show that a consumer can read them. Batches that follow each other in the file and in their offsets become one
run; a gap, another leader epoch, or a header that contradicts its records begins another. The last batch
before offsets fall is a run of its own, for it may be the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.verified.verified_entries import VerifiedEntry
from kafka_segments.core.segment.verified.verifying import iter_verified
from kafka_segments.errors import DecompressionError
from kafka_segments.errors.packages import LazyPackage

if TYPE_CHECKING:
    from kafka_segments.core.segment.verified.entry_rows import VerifiedTable

__all__ = ["RefusedEntry", "SoundRun", "iter_sound_runs", "joined"]

np: Any = LazyPackage("numpy")

_MAX_READ = 16 << 20
"""Bytes of an entry whose records are read: brokers take 1 MiB by default, and memory is bounded."""
_MAX_DECOMPRESSED = 64 << 20


@dataclass(slots=True)
class SoundRun:
    """Consecutive sound entries.

    Attributes:
        position: where the first one begins, in bytes.
        end_position: where the last one ends.
        first: the first offset.
        last: the last offset.
        num_batches: how many they are.
        newest: greatest timestamp of their headers, in milliseconds; -1 for none.
        num_lacking: offsets of batches that have no record, as after the log cleaner.
        epoch: their leader epoch; -1 for none.
        is_doubted: a single batch whose header contradicts its records: too many, or with other offsets.
    """

    position: int
    end_position: int
    first: int
    last: int
    num_batches: int
    newest: int
    num_lacking: int = 0
    epoch: int = -1
    is_doubted: bool = False

    @property
    def is_cleaned(self) -> bool:
        """Whether offsets are missing inside a batch."""
        return self.num_lacking > 0

    def follows(self, other: SoundRun) -> bool:
        """Return whether this run continues another one, in the file and in its offsets."""
        is_next = (self.position, self.first) == (other.end_position, other.last + 1)
        return is_next and self.epoch == other.epoch and not (self.is_doubted or other.is_doubted)

    def join(self, other: SoundRun) -> None:
        """Add the run that follows this one."""
        self.end_position, self.last = other.end_position, other.last
        self.num_batches += other.num_batches
        self.newest = max(self.newest, other.newest)
        self.num_lacking += other.num_lacking


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """An entry with a right checksum that no log can have: by its offsets, or since it cannot be read."""

    position: int
    end_position: int
    first: int
    last: int | None
    reason: str


Found = SoundRun | RefusedEntry | Damage | Padding


def iter_sound_runs(source: Source) -> Iterator[Found]:
    """Yield runs, in file order, with refused entries, damage and padding in their places.

    Raises:
        StoreError: a store stopped serving the segment.
    """
    return joined(_pieces(source))


def joined(pieces: Iterable[Found]) -> Iterator[Found]:
    """Yield runs that continue each other as one, and what is between them."""
    before: SoundRun | None = None  # what is before `last` and continues in it
    last: SoundRun | None = None
    for found in pieces:
        piece = found if isinstance(found, SoundRun) else None
        if before is not None and last is not None and not (piece and piece.first <= last.last):
            before.join(last)
            before, last = None, before
        if piece and last is not None and before is None and piece.follows(last):
            before, last = last, piece
            continue
        yield from (one for one in (before, last) if one is not None)
        before, last = None, piece
        if piece is None:
            yield found
    if before is not None and last is not None and before.is_cleaned >= last.is_cleaned:
        before.join(last)
        before, last = None, before
    yield from (one for one in (before, last) if one is not None)


def _pieces(source: Source) -> Iterator[Found]:
    """Yield runs that are not joined yet; the last entry of a table is one of its own."""
    held: VerifiedEntry | None = None  # an entry whose records may be damaged, which the next event says
    events = iter_verified(source, max_decompressed=_MAX_DECOMPRESSED, max_read=_MAX_READ)
    for event in events:
        if held is not None and isinstance(event, Damage) and event.position == held.position:
            error = event.error
            if isinstance(error, DecompressionError) and error.is_bound:
                yield _run_of(held)
            else:
                reason = f"its records cannot be read, though its checksum is right: {error.detail}"
                place = held.position, held.end_position, held.first_offset, held.last_offset
                yield RefusedEntry(*place, reason)
            held = None
            continue
        if held is not None:
            yield _run_of(held)
        held = None
        if isinstance(event, VerifiedEntry):
            held = event
        elif isinstance(event, (Damage, Padding)):
            yield event
        else:
            yield from _runs_of(event)
    if held is not None:
        yield _run_of(held)


def _refused(position: int, end_position: int, first: int) -> RefusedEntry:
    """Return an entry whose offsets are not valid in a log."""
    reason = f"its offsets, from {first} on, are not valid in a log"
    return RefusedEntry(position, end_position, first, None, reason)


def _run_of(entry: VerifiedEntry) -> SoundRun | RefusedEntry:
    """Return the run of one sound entry, or why there is none."""
    place, first, last = (entry.position, entry.end_position), entry.first_offset, entry.last_offset
    if first < 0 or entry.is_overflowing:
        return _refused(*place, first)
    room, count = last - first + 1, entry.num_records
    num_lacking = 0 if count is None else max(0, room - count)
    is_doubted = entry.magic >= 2 and ((count or 0) > room or not entry.has_ordered_records)
    return SoundRun(*place, first, last, 1, entry.max_timestamp, num_lacking, entry.leader_epoch, is_doubted)


def _runs_of(table: VerifiedTable) -> Iterator[SoundRun | RefusedEntry]:
    """Divide a table where offsets do not continue, around entries that are refused, and before the last."""
    entries, is_batch, counts = table.entries, table.entries.is_batch(), table.num_records
    firsts, lasts = table.first_offset, table.last_offset
    room = lasts - firsts + 1
    is_refused = (firsts < 0) | table.is_overflowing
    is_doubted = is_batch & ((counts > room) | ~table.has_ordered_records)
    epochs, times = table.of_batches("partition_leader_epoch"), table.max_timestamp
    is_alone = is_refused | is_doubted
    is_alone[-1] = True
    is_alone[:-1] |= firsts[1:] <= lasts[:-1]
    begins = is_alone.copy()
    begins[0] = True
    begins[1:] |= is_alone[:-1] | (firsts[1:] != lasts[:-1] + 1) | (epochs[1:] != epochs[:-1])
    starts = np.flatnonzero(begins).tolist()
    num_lacking = np.where(is_batch, (room - counts).clip(0), 0)
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        place = entries.value(start, "position"), entries.value(end - 1, "end_position")
        first, last = int(firsts[start]), int(lasts[end - 1])
        if is_refused[start]:
            yield _refused(*place, first)
            continue
        newest, lacking = int(times[start:end].max()), int(num_lacking[start:end].sum())
        doubt = int(epochs[start]), bool(is_doubted[start])
        yield SoundRun(*place, first, last, end - start, newest, lacking, *doubt)
