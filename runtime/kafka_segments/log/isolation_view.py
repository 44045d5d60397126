"""View of a segment at an isolation level, and reports of transactions in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.on_damage import OnDamage, handle_damage
from kafka_segments.core.segment.records.batch_records import Rows
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.state import DoubtfulTransaction
from kafka_segments.errors import OptionError, TransactionInDoubtError
from kafka_segments.log.transaction_outcomes import TransactionOutcome

if TYPE_CHECKING:
    from kafka_segments.core.segment.columnar.arrow_schema import Binary
    from kafka_segments.core.segment.columnar.reader import Event

__all__ = [
    "IsolatedSegment",
    "Offsets",
    "check_isolation",
    "held_back",
    "held_back_by",
    "left_out",
]

Offsets = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class IsolatedSegment:
    """View of a segment at an isolation level.

    Attributes:
        segment: the segment.
        offsets: the range that is read; None is open.
        outcome: of the partition's transactions; None shows everything.
        doubts: damage to report after the segment.
        end: the next segment's base offset; None if there is none.
        is_astray: another report says that the segment has offsets of another one.
    """

    segment: Segment
    offsets: Offsets
    outcome: TransactionOutcome | None
    doubts: tuple[Damage, ...]
    end: int | None = None
    is_astray: bool = False

    @property
    def path(self) -> str:
        return self.segment.path

    @property
    def size(self) -> int:
        return self.segment.size

    def shows(self, batch: Batch, record: Record) -> bool:
        """Return whether a record of a batch of the segment is in the view."""
        return self._shows(batch) and self._holds(record.offset)

    def iter_events(
        self,
        *,
        on_damage: OnDamage = "raise",
        wanted: Callable[[Batch], bool] | None = None,
        rows: Rows | None = None,
    ) -> Iterator[Batch | Record | Damage | Padding]:
        """See `Segment.iter_events`."""

        def is_wanted(batch: Batch) -> bool:
            return self._shows(batch) and (wanted is None or wanted(batch))

        is_shown, waiting, misplaced = True, None, MisplacedBatches()
        for event in self.segment.iter_events(on_damage=on_damage, wanted=is_wanted, rows=rows):
            if isinstance(event, Batch):
                misplaced.batch(event)
                # The first and last offset of a wrapper's messages do not bound those between them.
                waiting = event if self._is_cut and _is_wrapper(event) else None
                is_shown = waiting is not None or event.crc_valid is False or self._shows(event)
                if is_shown and waiting is None:
                    yield event
            elif isinstance(event, Record | Damage):
                is_inside = (
                    event.touches(*self.offsets) if isinstance(event, Damage) else self._holds(event.offset)
                )
                if is_inside and (is_shown or isinstance(event, Damage)):
                    if waiting is not None:
                        yield waiting
                        waiting = None
                    yield event
            else:
                yield event
        for damage in self._damage_at_end(misplaced):
            yield from handle_damage(damage, on_damage)

    def iter_columnar(self, columns: Sequence[str] | None, binary: Binary = "copy") -> Iterator[Event]:
        """See `Segment.iter_columnar`."""
        from kafka_segments.core.segment.columnar.read_range import ReadRange

        excluded, misplaced = None if self.outcome is None else self.outcome.excluded, MisplacedBatches()
        read_range = ReadRange(misplaced=misplaced)
        for event in self.segment.iter_columnar(columns, self.offsets, excluded, read_range, binary):
            if not isinstance(event, Damage) or event.touches(*self.offsets):
                yield event
        yield from self._damage_at_end(misplaced)

    def _damage_at_end(self, misplaced: MisplacedBatches) -> Iterator[Damage]:
        """Yield the damage that is known after the whole segment was read."""
        damage = misplaced.damage(self.path, self.size, self.end)
        if damage is not None and not self.is_astray:
            yield damage
        yield from self.doubts

    def _shows(self, batch: Batch) -> bool:
        if self.outcome is not None and (batch.is_control or self.outcome.excluded.holds(batch)):
            return False
        start, end = self.offsets
        first = batch.last_offset if batch.base_offset is None else batch.base_offset
        is_before_end = end is None or first < end or _is_wrapper(batch)
        return is_before_end and (start is None or batch.highest_offset >= start)

    @property
    def _is_cut(self) -> bool:
        return self.offsets != (None, None)

    def _holds(self, offset: int) -> bool:
        start, end = self.offsets
        return (start is None or offset >= start) and (end is None or offset < end)


def _is_wrapper(batch: Batch) -> bool:
    """Return whether it is a wrapper of an old format, whose messages may have offsets in any order."""
    return batch.magic < 2 and batch.compression != "none"


def left_out(one: DoubtfulTransaction) -> Damage:
    """Report the records that are left out because of a doubt, at the damage that causes it."""
    detail = f"its records up to offset {one.last_offset} are left out"
    return _doubt(one.damage, one.producer_id, one.first_offset, detail, one.last_offset)


def held_back_by(outcome: TransactionOutcome) -> Damage | None:
    """Return the damage that the last stable offset is held back by; None if by an open transaction alone.

    The earliest open transaction may have ended in the damage: after all of it, or after a part of it, which
    is in doubt if more follows. One that is certainly open is legitimate.
    """
    for first in outcome.open[:1]:
        own = (part for part in outcome.doubtful if part.producer_id == first.producer_id)
        doubts = (part.damage for part in own if part.first_offset >= first.first_offset)
        return next(doubts, first.damage)
    return None


def held_back(damage: Damage, outcome: TransactionOutcome, noted_end: int = 0) -> Damage:
    """Report the records from the last stable offset on, which are not read.

    Args:
        damage: where the earliest open transaction may have ended.
        outcome: of all transactions.
        noted_end: the log end by the broker's checkpoints; 0 if unknown.
    """
    one = outcome.open[0]
    detail = "it counts as open, so nothing after that offset is committed"
    # Damage after the last sound batch is not reported by itself: nothing after this offset is read.
    is_torn = any(
        each.first_lost_offset is not None and each.last_lost_offset is None for each in outcome.damage
    )
    last = None if is_torn and not noted_end else max(outcome.end_offset, noted_end) - 1
    return _doubt(damage, one.producer_id, one.first_offset, detail, last)


def _doubt(
    damage: Damage, producer_id: int, first_offset: int, detail: str, last_lost_offset: int | None
) -> Damage:
    error = TransactionInDoubtError(
        f"the transaction of producer {producer_id} from offset {first_offset} on may have ended in the "
        f"damage here: {detail}",
        producer_id=producer_id,
        position=damage.position,
        path=damage.path,
    )
    place = damage.path, damage.position, damage.end_position
    return Damage(*place, error, first_offset, last_lost_offset)


def check_isolation(isolation: str) -> None:
    """Raise `OptionError` if there is no such isolation level."""
    if isolation not in ("read_uncommitted", "read_committed"):
        raise OptionError(f"isolation is {isolation!r}; give 'read_uncommitted' or 'read_committed'")
