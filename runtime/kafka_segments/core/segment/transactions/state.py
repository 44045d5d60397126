"""State of a partition's transactions: aborted, open or in doubt, and the batches they exclude.

Strategy: as ProducerStateManager does with every batch that a broker appends or recovers. A transactional
batch of a producer without an open transaction opens one at its base offset; a marker of that producer, of
any epoch, ends it. (Epochs keep zombies from appending; each appended marker counts, also the one that
fences, and those that bump the epoch under transaction.version 2.) A control batch that compaction has
emptied ends nothing: its transaction is gone. The last stable offset is the first offset of the first open
transaction.

At damage a broker truncates the log; here reading continues after it, and a marker may be among what was
lost. So a transaction that was open at damage, and continues after it, is in doubt up to there: the outcome
of that part is unknown. After the last damage its own marker decides. There is no doubt where the sequence
numbers of the producer show that all that was lost were records of its own.

`Transactions` reads no bytes: it gets batches, markers and damage in the order of the log.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

from kafka_segments.core.formats import num_sequences_between
from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments.core.segment.transactions.damage_gaps import DamageGaps, GapMark
from kafka_segments.core.segment.transactions.excluded import (
    AbortedTransaction,
    AbortedTransactions,
    ExcludedBatches,
)
from kafka_segments.errors import CorruptBatchError

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
_MOST_DOUBTFUL = 1_000  # that are kept where what has ended is not


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that no marker has ended; its marker may be lost if there is `damage` after its start.

    Doubt about parts of it is reported by `DoubtfulTransaction`, one for each part.
    """

    producer_id: int
    first_offset: int
    damage: Damage | None = None


@dataclass(frozen=True, slots=True)
class DoubtfulTransaction:
    """A transaction with an unknown outcome: there is damage after it, and more of its producer after that.

    Attributes:
        producer_id: of its producer.
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
    """The header fields of a producer's batch that matter to its transaction, or to the producer's state."""

    producer_id: int
    producer_epoch: int
    base_offset: int
    last_offset: int
    base_sequence: int
    last_sequence: int
    is_transactional: bool = True
    offset_delta: int = 0
    timestamp: int = -1


@dataclass(frozen=True, slots=True)
class Marker:
    """A control record that ends a producer's transaction."""

    producer_id: int
    offset: int
    is_abort: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """Damage; `producer_id` if only a marker of this producer can be in it."""

    damage: Damage
    producer_id: int | None = None


Step = DataBatch | Marker | Lost | Padding | int
"""Input of `Transactions`; a number is the last offset of a sound batch, at the end that of the segment."""


@dataclass(slots=True)
class _Open:
    """An open transaction.

    `bases` are the base offsets of the batches that the next marker decides on, `begun` their beginning if
    that is before the log's own first batch; `last` is the last batch, `since` the mark for damage after it.
    """

    first_offset: int
    since: GapMark
    begun: int | None = None
    is_in_order: bool = True
    bases: array[int] = field(default_factory=lambda: array("q"))
    last: DataBatch | None = None

    def begin(self) -> int | None:
        """Return where the part begins that the next marker decides on; None if there is none."""
        return min(self.bases, default=None) if self.begun is None else self.begun

    def ranges(self, after: int, before: int) -> list[tuple[int, int]]:
        """Return ranges of base offsets that hold this part, and no other batches of the producer.

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
    """State of a partition's transactions, batch by batch.

    Args:
        start_offset: where the log begins.
        keeps_ended: whether to keep what grows with the log: aborted transactions, excluded batches, all
            damage, all parts in doubt. Without it memory depends on the number of open transactions.

    Attributes:
        aborted: in the order of their markers.
        doubtful: in the order of detection.
        num_doubtful: how many parts were in doubt.
        damage: everything that could not be read.
        bare_aborts: producer id and offset in turn, of ABORT markers without a batch of their transaction.
        end_offset: after the last offset so far.
        excluded: batches that are not delivered; not sealed.
        file_end_offset: likewise, in the current segment.
        misplaced: detects batches of the segment that belong to a later one.
    """

    def __init__(self, start_offset: int = 0, *, keeps_ended: bool = True) -> None:
        self._keeps_ended = keeps_ended
        self.aborted = AbortedTransactions()
        self.doubtful: list[DoubtfulTransaction] = []
        self.num_doubtful = 0
        self.damage: list[Damage] = []
        self.bare_aborts = array("q")
        self.end_offset = start_offset
        self.excluded = ExcludedBatches()
        self.file_end_offset = start_offset
        self._first_damaged = -1  # the greatest first offset of all damage
        self.misplaced = MisplacedBatches()
        self._padding: Padding | None = None
        self._gaps = DamageGaps()
        self._open: dict[int, _Open] = {}
        self._firsts: list[tuple[int, int]] = []  # a heap, which may hold transactions that have ended
        self._ends: dict[int, int] = {}  # offset of the last marker, by producer

    def follow(self, steps: Iterable[Step]) -> None:
        """Apply the steps of a segment, in the order of the file."""
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
                self.note_sound(step)

    def begin_file(self, base_offset: int) -> None:
        """Begin the next segment."""
        self.file_end_offset, self._padding = base_offset, None
        self.note_sound(base_offset - 1)
        self.misplaced = MisplacedBatches()

    def end_file(self, following: int | None) -> None:
        """End a segment; the next one begins with the offset `following`.

        Zeros at its end, as in a preallocated file, must not stand for missing offsets.
        """
        if self._padding is not None and following is not None and self.file_end_offset < following:
            self.damaged(_zeros(self._padding, self.file_end_offset, following))

    def begun_before(self, producer_id: int, first_offset: int) -> None:
        """Count a transaction as open from the start, as a producer snapshot records it."""
        self._begin(producer_id, first_offset).begun = first_offset

    def data(self, batch: DataBatch) -> None:
        """Apply a transactional batch of records; for other batches `passed` is enough."""
        state = self._open.get(batch.producer_id)
        if state is None:
            state = self._begin(batch.producer_id, batch.base_offset)
        elif self._gaps.any_since(state.since):
            if _fills(state, batch, self._gaps.num_lost_since(state.since)):
                self._gaps.explain_since(state.since)
            self._doubt_before_gaps(batch.producer_id, state, batch.base_offset)
        if batch.base_offset < state.first_offset:
            state.first_offset = batch.base_offset
            self._note_first(batch.producer_id, batch.base_offset)
        state.is_in_order &= batch.base_offset >= self._first_damaged
        if self._keeps_ended or not state.bases:
            state.bases.append(batch.base_offset)
        else:
            state.bases[0] = min(state.bases[0], batch.base_offset)
        state.last = batch

    def marker(self, producer_id: int, offset: int, *, is_abort: bool) -> None:
        """Apply a marker: end the producer's transaction."""
        state, begin = self._open.pop(producer_id, None), None
        if state is not None:  # None: no batch of the transaction is in the log
            # After damage it may be the marker of the producer's next transaction.
            self._doubt_before_gaps(producer_id, state, offset)
            begin = state.begin()
        if not self._keeps_ended:
            return
        if is_abort and state is not None and begin is not None:
            stable = self.first_unstable(offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, begin, offset, stable))
            self._exclude(producer_id, state, offset)
        elif is_abort:
            self.bare_aborts.extend((producer_id, offset))
        self._ends[producer_id] = offset

    def note_sound(self, last_offset: int) -> None:
        """Apply any sound batch: the log extends to `last_offset`."""
        self.end_offset = max(self.end_offset, last_offset + 1)
        self.file_end_offset = max(self.file_end_offset, last_offset + 1)
        self.misplaced.note_sound(last_offset)

    def damaged(self, damage: Damage, producer_id: int | None = None) -> None:
        """Apply damage; `producer_id` if only a marker of this producer can be in it."""
        if self._keeps_ended or not self.damage:
            self.damage.append(damage)
        self._first_damaged = max(self._first_damaged, _first_of(damage))
        if producer_id is None:
            self._gaps.add(damage)
            if len(self._gaps) > 2 * len(self._open) + _MOST_ENDED:
                self._gaps.keep_since(state.since for state in self._open.values())
        elif producer_id in self._open:
            self._gaps.add_own(self._open[producer_id].since, damage)

    def may_lack(self, causes: Iterable[Damage]) -> None:
        """Count damage as gaps that is reported elsewhere."""
        for damage in causes:
            self._gaps.add(damage)

    def open(self) -> list[OpenTransaction]:
        """Return the transactions that no marker has ended, in the order of their first offsets."""
        found = [
            OpenTransaction(producer_id, state.first_offset, self._doubt_of(state))
            for producer_id, state in self._open.items()
        ]
        return sorted(found, key=lambda one: (one.first_offset, one.producer_id))

    def last_stable_offset(self, log_start_offset: int) -> int:
        """Return where a reader of committed records stops; at least the log start (as in UnifiedLog)."""
        return max(self.first_unstable(self.end_offset), log_start_offset)

    def _doubt_of(self, state: _Open) -> Damage | None:
        """Return where an open transaction may have ended: any damage, if offsets are out of order."""
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

    def first_open(self, producer_id: int) -> int | None:
        """Return the first offset of a producer's open transaction; None without one."""
        state = self._open.get(producer_id)
        return None if state is None else state.first_offset

    @property
    def num_open(self) -> int:
        """How many transactions are open."""
        return len(self._open)

    def first_unstable(self, default: int) -> int:
        """Return the first offset of the earliest open transaction; `default` without one."""
        while self._firsts:
            first_offset, producer_id = self._firsts[0]
            state = self._open.get(producer_id)
            if state is not None and state.first_offset == first_offset:
                return first_offset
            heappop(self._firsts)
        return default

    def _doubt_before_gaps(self, producer_id: int, state: _Open, end: int) -> None:
        """Put the part of a transaction before the gaps, if any, in doubt; the part after them is not."""
        doubt = self._gaps.first_doubt_since(state.since)
        begin = None if doubt is None else state.begin()
        if doubt is not None and begin is not None:
            last = begin if state.last is None else state.last.last_offset
            self.num_doubtful += 1
            if self._keeps_ended or len(self.doubtful) < _MOST_DOUBTFUL:
                self.doubtful.append(DoubtfulTransaction(producer_id, begin, last, doubt))
            if self._keeps_ended:
                self._exclude(producer_id, state, end)
            state.bases, state.begun = array("q"), None
        state.since = self._gaps.now()

    def _exclude(self, producer_id: int, state: _Open, before: int) -> None:
        for first, last in state.ranges(self._ends.get(producer_id, -1), before):
            self.excluded.add(producer_id, first, last)


def _zeros(padding: Padding, end_offset: int, following: int) -> Damage:
    detail = f"zeros, where the offsets {end_offset} to {following - 1} should be"
    error = CorruptBatchError(detail, position=padding.position, path=padding.path)
    place = padding.path, padding.position, padding.end_position
    return Damage(*place, error, end_offset, following - 1, end_offset - 1, following)


def _first_of(damage: Damage) -> int:
    """Return the first offset that may be lost; -1 if unknown."""
    if damage.first_lost_offset is not None:
        return damage.first_lost_offset
    return -1 if damage.previous_offset is None else damage.previous_offset + 1


def _fills(state: _Open, batch: DataBatch, num_lost: int | None) -> bool:
    """Return whether sequence numbers show that all that was lost before a batch is of its own producer."""
    before = state.last
    if before is None or num_lost is None or before.producer_epoch != batch.producer_epoch:
        return False
    if before.last_sequence < 0 or batch.base_sequence < 0:
        return False
    return num_sequences_between(before.last_sequence, batch.base_sequence) == num_lost
