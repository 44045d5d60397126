"""Which transactions were aborted, which are still open, and which of a partition's batches that makes void.

Strategy: what ProducerStateManager does with every batch that a broker appends or recovers. A transactional
batch of a producer without an open transaction opens one at its base offset; a marker of that producer, of
whatever epoch, ends it. (Epochs keep zombies from appending; of what was appended each marker counts, also
the one that fences, and those that bump the epoch under transaction.version 2.) A control batch that
compaction has left without a record ends nothing: its transaction is gone. The last stable offset is the
first offset of the earliest open transaction.

Damage is where Kafka has nothing to say: a broker cuts the log off there. Here it goes on behind, and a
marker may be among what was lost. So a transaction that was open at damage, and of which more follows, is in
doubt up to there: nobody can tell how that part ended. Behind the last damage its own marker decides. There
is no doubt where the producer's sequence numbers show that everything that was lost were records of its own.

Nothing here reads bytes: `Transactions` is told of batches, markers and damage in the order of the log.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

from kafka_segments.errors import CorruptBatchError
from kafka_segments.formats import num_sequences_between
from kafka_segments.formats.entries import Damage, Padding
from kafka_segments.segment.misplaced_batches import MisplacedBatches
from kafka_segments.segment.transactions.damage_gaps import DamageGaps, GapMark
from kafka_segments.segment.transactions.excluded import (
    AbortedTransaction,
    AbortedTransactions,
    ExcludedBatches,
)

__all__ = [
    "AbortedTransaction",
    "AbortedTransactions",
    "DataBatch",
    "DoubtfulTransaction",
    "ExcludedBatches",
    "Lost",
    "Marker",
    "OpenTransaction",
    "Step",
    "Transactions",
]

_MOST_ENDED = 64


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that no marker has ended; with `damage` behind it, one may have been lost there.

    What may have been lost between parts of it is told by `DoubtfulTransaction`, one for each part.
    """

    producer_id: int
    first_offset: int
    damage: Damage | None = None


@dataclass(frozen=True, slots=True)
class DoubtfulTransaction:
    """A transaction of which nobody can tell how it ended: there is damage behind it, and more of it, or of
    the producer's next one, behind that.

    Attributes:
        producer_id: whose.
        first_offset: of its first batch.
        last_offset: of its last batch before the damage; up to there it is in doubt.
        damage: where the marker may have been.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    damage: Damage


@dataclass(frozen=True, slots=True)
class DataBatch:
    """Of a transactional batch, what its transaction is told by."""

    producer_id: int
    producer_epoch: int
    base_offset: int
    last_offset: int
    base_sequence: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Marker:
    """The record that ends a producer's transaction."""

    producer_id: int
    offset: int
    is_abort: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """What could not be read; `producer_id` if it is known that only this one's marker can be in it."""

    damage: Damage
    producer_id: int | None = None


Step = DataBatch | Marker | Lost | Padding | int
"""What a transaction is told by; a number is a sound offset, the last one in a segment that of its end."""


@dataclass(slots=True)
class _Open:
    """An open transaction.

    `bases` are the base offsets of the batches that the next marker decides on, `begun` where they begin if
    that is before the log's own first batch; `last` is the last batch, `since` where damage is behind it.
    """

    first_offset: int
    since: GapMark
    begun: int | None = None
    is_in_order: bool = True
    bases: array[int] = field(default_factory=lambda: array("q"))
    last: DataBatch | None = None

    def begin(self) -> int | None:
        """Where the part begins that the next marker decides on; None if there is none."""
        return min(self.bases, default=None) if self.begun is None else self.begun

    def ranges(self, after: int, before: int) -> list[tuple[int, int]]:
        """Ranges of base offsets that hold this part, and no other batches of the producer.

        No checksum covers a base offset. If they do not grow from batch to batch, or not between these two
        offsets, each batch is a range of its own.
        """
        if not self.bases:
            return [] if self.begun is None or self.begun >= before else [(self.begun, before - 1)]
        first = self.bases[0] if self.begun is None else self.begun
        is_in_order = all(one < other for one, other in pairwise(self.bases))
        if is_in_order and after < first <= self.bases[0] and self.bases[-1] < before:
            return [(first, self.bases[-1])]
        return [(base, base) for base in self.bases]


class Transactions:
    """The state of a partition's transactions, batch by batch.

    Args:
        start_offset: where the log begins.

    Attributes:
        aborted: in the order of their markers.
        doubtful: in the order in which it turned out.
        damage: everything that could not be read.
        bare_aborts: of ABORT markers of which no record is left, producer id and offset in turn.
        end_offset: behind the last offset so far.
        void: batches that nobody is to be given; not sealed.
        file_end_offset: the same of the segment.
        straying: whether a batch of the segment belongs behind it.
    """

    def __init__(self, start_offset: int = 0) -> None:
        self.aborted = AbortedTransactions()
        self.doubtful: list[DoubtfulTransaction] = []
        self.damage: list[Damage] = []
        self.bare_aborts = array("q")
        self.end_offset = start_offset
        self.void = ExcludedBatches()
        self.file_end_offset = start_offset
        self._first_damaged = -1  # the first offset of what is damaged, by the place that goes furthest
        self.straying = MisplacedBatches()
        self._padding: Padding | None = None
        self._gaps = DamageGaps()
        self._open: dict[int, _Open] = {}
        self._firsts: list[tuple[int, int]] = []  # a heap, with entries of transactions that have ended
        self._ends: dict[int, int] = {}  # by producer, the offset of its last marker

    def follow(self, steps: Iterable[Step]) -> None:
        """Go on with what a segment shows, in the order of the file."""
        for step in steps:
            if isinstance(step, DataBatch):
                self.data(step)
            elif isinstance(step, Marker):
                self.marker(step.producer_id, step.offset, is_abort=step.is_abort)
            elif isinstance(step, Lost):
                self.damaged(step.damage, step.producer_id)
            elif isinstance(step, Padding):
                self._padding = step
            else:
                self.passed(step)

    def begin_file(self, base_offset: int) -> None:
        """What follows is of the next segment."""
        self.file_end_offset, self._padding = base_offset, None
        self.passed(base_offset - 1)
        self.straying = MisplacedBatches()

    def end_file(self, following: int | None) -> None:
        """That was the last of a segment; the next one begins with the offset `following`.

        Zeros at its end, of which a preallocated file has some, must not stand for offsets that are missing.
        """
        if self._padding is not None and following is not None and self.file_end_offset < following:
            self.damaged(_zeros(self._padding, self.file_end_offset, following))

    def begun_before(self, producer_id: int, first_offset: int) -> None:
        """Count a transaction as open from the start: a snapshot knows of it."""
        self._begin(producer_id, first_offset).begun = first_offset

    def data(self, batch: DataBatch) -> None:
        """A transactional batch of records; of others only `passed` needs to know."""
        state = self._open.get(batch.producer_id)
        if state is None:
            state = self._begin(batch.producer_id, batch.base_offset)
        elif self._gaps.any_since(state.since):
            if _fills(state, batch, self._gaps.num_lost_since(state.since)):
                self._gaps.explain_since(state.since)
            self._settle(batch.producer_id, state, batch.base_offset)
        if batch.base_offset < state.first_offset:
            state.first_offset = batch.base_offset
            self._note_first(batch.producer_id, batch.base_offset)
        state.is_in_order &= batch.base_offset >= self._first_damaged
        state.bases.append(batch.base_offset)
        state.last = batch

    def marker(self, producer_id: int, offset: int, *, is_abort: bool) -> None:
        """The record of a control batch that ends a producer's transaction."""
        state, begin = self._open.pop(producer_id, None), None
        if state is not None:  # else of a transaction without a record here
            # Behind damage it may be the marker of the producer's next transaction.
            self._settle(producer_id, state, offset)
            begin = state.begin()
        if is_abort and state is not None and begin is not None:
            stable = self._first_unstable(offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, begin, offset, stable))
            self._make_void(producer_id, state, offset)
        elif is_abort:
            self.bare_aborts.extend((producer_id, offset))
        self._ends[producer_id] = offset

    def passed(self, last_offset: int) -> None:
        """Any sound batch: the log reaches up to here."""
        self.end_offset = max(self.end_offset, last_offset + 1)
        self.file_end_offset = max(self.file_end_offset, last_offset + 1)
        self.straying.passed(last_offset)

    def damaged(self, damage: Damage, producer_id: int | None = None) -> None:
        """Something that could not be read, and of which producer, if that is known."""
        self.damage.append(damage)
        self._first_damaged = max(self._first_damaged, _first_of(damage))
        if producer_id is None:
            self._gaps.add(damage)
        elif producer_id in self._open:
            self._gaps.add_own(self._open[producer_id].since, damage)

    def may_lack(self, causes: Iterable[Damage]) -> None:
        """Markers may be missing here, for causes that are told elsewhere."""
        for damage in causes:
            self._gaps.add(damage)

    def open(self) -> list[OpenTransaction]:
        """Those that no marker has ended, in the order of their first offsets."""
        found = [
            OpenTransaction(producer_id, state.first_offset, self._doubt_of(state))
            for producer_id, state in self._open.items()
        ]
        return sorted(found, key=lambda one: (one.first_offset, one.producer_id))

    def last_stable_offset(self, log_start_offset: int) -> int:
        """Where a reader of committed records stops; not below the log start (UnifiedLog does the same)."""
        return max(self._first_unstable(self.end_offset), log_start_offset)

    def _doubt_of(self, state: _Open) -> Damage | None:
        """Where an open transaction may have ended: in any damage, if the log is not in order around it."""
        doubt = self._gaps.first_doubt_since(state.since)
        return self.damage[0] if doubt is None and self.damage and not state.is_in_order else doubt

    def _begin(self, producer_id: int, first_offset: int) -> _Open:
        state = self._open[producer_id] = _Open(first_offset, self._gaps.now())
        self._note_first(producer_id, first_offset)
        return state

    def _note_first(self, producer_id: int, first_offset: int) -> None:
        heappush(self._firsts, (first_offset, producer_id))
        if len(self._firsts) > 2 * len(self._open) + _MOST_ENDED:
            self._firsts = [(state.first_offset, producer_id) for producer_id, state in self._open.items()]
            heapify(self._firsts)

    def _first_unstable(self, default: int) -> int:
        """The first offset of the earliest open transaction."""
        while self._firsts:
            first_offset, producer_id = self._firsts[0]
            state = self._open.get(producer_id)
            if state is not None and state.first_offset == first_offset:
                return first_offset
            heappop(self._firsts)
        return default

    def _settle(self, producer_id: int, state: _Open, behind: int) -> None:
        """What is in doubt up to the gaps, if any; whatever is behind them is not."""
        doubt = self._gaps.first_doubt_since(state.since)
        begin = None if doubt is None else state.begin()
        if doubt is not None and begin is not None:
            last = begin if state.last is None else state.last.last_offset
            self.doubtful.append(DoubtfulTransaction(producer_id, begin, last, doubt))
            self._make_void(producer_id, state, behind)
            state.bases, state.begun = array("q"), None
        state.since = self._gaps.now()

    def _make_void(self, producer_id: int, state: _Open, before: int) -> None:
        for first, last in state.ranges(self._ends.get(producer_id, -1), before):
            self.void.add(producer_id, first, last)


def _zeros(padding: Padding, end_offset: int, following: int) -> Damage:
    detail = f"zeros, where the offsets {end_offset} to {following - 1} should be"
    error = CorruptBatchError(detail, position=padding.position, path=padding.path)
    place = padding.path, padding.position, padding.end_position
    return Damage(*place, error, end_offset, following - 1, end_offset - 1, following)


def _first_of(damage: Damage) -> int:
    """The first offset that may be lost; -1 if nobody knows."""
    if damage.first_lost_offset is not None:
        return damage.first_lost_offset
    return -1 if damage.previous_offset is None else damage.previous_offset + 1


def _fills(state: _Open, batch: DataBatch, num_lost: int | None) -> bool:
    """Whether a batch's numbers say that what was lost before it were records of its own producer."""
    before = state.last
    if before is None or num_lost is None or before.producer_epoch != batch.producer_epoch:
        return False
    if before.last_sequence < 0 or batch.base_sequence < 0:
        return False
    return num_sequences_between(before.last_sequence, batch.base_sequence) == num_lost
