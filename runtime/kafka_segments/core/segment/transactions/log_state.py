"""State of a log that is written or copied: producers, transactions, leader epochs.

Strategy: what a broker keeps while it appends (ProducerStateManager, ProducerAppendInfo), for one partition
from its first batch on. What a broker would refuse of a client is given to a function, which raises, reports
it, or goes on, as for the batches that a follower copies. An abort marker makes an entry of the transaction
index; the state at the end is what a broker finds in a snapshot (ProducerStateEntry).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.beside.index_files import AbortedTxn, ProducerEntry
from kafka_segments.core.segment.transactions.markers import MarkerValue
from kafka_segments.core.segment.transactions.state import (
    DataBatch,
    DoubtfulTransaction,
    OpenTransaction,
    Transactions,
)
from kafka_segments.errors import CorruptBatchError

__all__ = ["EpochBatches", "LogState", "Refuse", "go_on"]

_MAX_RUNS = 50_000  # of leader epochs

Refuse = Callable[[str, str, int], None]
"""Called with a rule of `write.refusals`, what breaks it, and the offset."""


def go_on(_rule: str, _found: str, _offset: int) -> None:
    """Take what a broker would refuse, too."""


@dataclass(slots=True)
class EpochBatches:
    """Consecutive batches of one leader epoch.

    Attributes:
        epoch: of the leader that wrote them.
        first: base offset of the first one.
        last: base offset of the last one.
        num_batches: how many they are.
    """

    epoch: int
    first: int
    last: int
    num_batches: int = 1


@dataclass(slots=True)
class _Producer:
    """State of a producer; `last_sequence` is None if unknown, -1 after a marker of a new epoch."""

    epoch: int = -1
    last_sequence: int | None = None
    coordinator_epoch: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1


class LogState:
    """State after each batch.

    Args:
        start_offset: where the log begins.
        most_producers: more are forgotten, those silent for longest; None keeps all.
        most_open: with more open transactions all producers are given up; None for any number.

    Attributes:
        epochs: leader epochs of the batches, those without one left out; at most 50,000 runs.
        has_all_producers: False if they were given up.
        num_forgotten: producers that were forgotten.
    """

    def __init__(
        self, start_offset: int = 0, *, most_producers: int | None = None, most_open: int | None = None
    ) -> None:
        self._start_offset, self._most_producers, self._most_open = start_offset, most_producers, most_open
        self.epochs: list[EpochBatches] = []
        self.has_all_producers = True
        self.num_forgotten = 0
        self._known: dict[int, _Producer] = {}
        self._transactions = Transactions(start_offset, keeps_ended=False)

    def seed(self, entries: Iterable[ProducerEntry]) -> None:
        """Set the state before the first batch, from a producer snapshot."""
        for one in entries:
            last = one.last_offset, one.offset_delta, one.timestamp
            self._known[one.producer_id] = _Producer(
                one.epoch, one.last_sequence, one.coordinator_epoch, *last
            )
            if one.current_txn_first_offset >= 0:
                self._transactions.begun_before(one.producer_id, one.current_txn_first_offset)

    def lose(self, first_offset: int, last_offset: int) -> None:
        """Note that offsets are missing here, and with them perhaps a marker."""
        detail = f"offsets {first_offset} to {last_offset} are in no copy"
        neighbours = first_offset, last_offset, first_offset - 1, last_offset + 1
        self._transactions.damaged(Damage("", 0, 0, CorruptBatchError(detail), *neighbours))

    def note_end(self, last_offset: int) -> None:
        """Note the last offset so far."""
        self._transactions.note_sound(last_offset)

    def note_epochs(self, run: EpochBatches) -> None:
        """Note consecutive batches of one leader epoch, which is -1 for none."""
        runs = self.epochs
        if runs and runs[-1].epoch == run.epoch:
            runs[-1].last = run.last
            runs[-1].num_batches += run.num_batches
        elif run.epoch >= 0 and len(runs) < _MAX_RUNS:
            runs.append(run)

    def next_sequence(self, producer_id: int, producer_epoch: int, first: int = 0) -> int:
        """Return a producer's next sequence number: 0 with a new epoch, `first` if it is unknown."""
        known = self._known.get(producer_id)
        if known is None:
            return first
        if known.epoch != producer_epoch or known.last_sequence is None or known.last_sequence < 0:
            return 0
        return increment_sequence(known.last_sequence, 1)

    def append(self, batch: DataBatch, refuse: Refuse = go_on) -> None:
        """Note consecutive batches of records of one producer.

        Args:
            batch: all of them: sequences from the first one's to the last one's, the delta and timestamp of
                the last one.
            refuse: called with what a broker would refuse.
        """
        if not self.has_all_producers:
            return
        known = self._known.setdefault(batch.producer_id, _Producer())
        self._check(known, batch, refuse)
        known.epoch = max(known.epoch, batch.producer_epoch)
        known.last_sequence = batch.last_sequence
        known.last_offset, known.offset_delta = batch.last_offset, batch.offset_delta
        known.timestamp = batch.timestamp
        if batch.is_transactional:
            self._transactions.data(batch)
        self._bound()

    def _check(self, known: _Producer, batch: DataBatch, refuse: Refuse) -> None:
        offset, producer_id = batch.base_offset, batch.producer_id
        _check_epoch(known, producer_id, batch.producer_epoch, offset, refuse)
        if not batch.is_transactional and self._transactions.first_open(producer_id) is not None:
            refuse("open_transaction", f"a record of producer {producer_id} outside its transaction", offset)
        if known.epoch == -1:
            return  # an unknown producer may begin with any sequence number
        expected = self.next_sequence(producer_id, batch.producer_epoch)
        if batch.base_sequence != expected:
            found = f"producer {producer_id} has sequence number {batch.base_sequence}, expected {expected}"
            refuse("out_of_order_sequence", found, offset)

    def _bound(self) -> None:
        """Forget producers if there are too many, or all if too many have transactions open.

        A broker forgets those that have been silent for a while, too (`producer.id.expiration.ms`). It waits
        until they are a tenth more, so that it seldom has to look for them.
        """
        most, is_open = self._most_producers, self._transactions.first_open
        if self._most_open is not None and self._transactions.num_open > self._most_open:
            self.has_all_producers = False
            self._known.clear()
            self._transactions = Transactions(self._start_offset, keeps_ended=False)
        elif most is not None and len(self._known) > most + most // 10:
            idle = (one for one in self._known if is_open(one) is None)
            names = nsmallest(len(self._known) - most, idle, key=lambda one: self._known[one].timestamp)
            for name in names:
                del self._known[name]
            self.num_forgotten += len(names)

    def end(
        self,
        producer: tuple[int, int],
        offset: int,
        timestamp: int,
        marker: MarkerValue,
        refuse: Refuse = go_on,
    ) -> AbortedTxn | None:
        """Note a marker.

        Args:
            producer: its producer's id and epoch.
            offset: the first of its batch, whatever else the batch holds (ProducerAppendInfo.append).
            timestamp: of the batch's first record, in milliseconds since 1970.
            marker: what it says.
            refuse: called with what a broker would refuse of a coordinator.

        Returns:
            The entry for the transaction index, if a transaction was aborted.
        """
        if not self.has_all_producers:
            return None
        producer_id, epoch = producer
        known = self._known.setdefault(producer_id, _Producer())
        _check_epoch(known, producer_id, epoch, offset, refuse)
        if marker.coordinator_epoch < known.coordinator_epoch:
            found = f"a marker of coordinator epoch {marker.coordinator_epoch}"
            found += f", after {known.coordinator_epoch}"
            refuse("coordinator_fenced", found, offset)
        if epoch > known.epoch:
            known.epoch, known.last_sequence = epoch, -1
            known.last_offset, known.offset_delta = -1, 0
        known.timestamp = timestamp
        known.coordinator_epoch = max(known.coordinator_epoch, marker.coordinator_epoch)
        first_offset = self._transactions.first_open(producer_id)
        self._transactions.marker(producer_id, offset, is_abort=marker.is_abort)
        if first_offset is None or not marker.is_abort:
            return None
        return AbortedTxn(producer_id, first_offset, offset, self._transactions.first_unstable(offset + 1))

    def snapshot(self) -> list[dict[str, int]] | None:
        """Return the producers, by the names of a snapshot's fields; None if they were given up."""
        if not self.has_all_producers:
            return None
        return [
            {
                "producer_id": producer_id,
                "epoch": known.epoch,
                "last_sequence": -1 if known.last_sequence is None else known.last_sequence,
                "last_offset": known.last_offset,
                "offset_delta": known.offset_delta,
                "timestamp": known.timestamp,
                "coordinator_epoch": known.coordinator_epoch,
                "current_txn_first_offset": _or_none(self._transactions.first_open(producer_id)),
            }
            for producer_id, known in sorted(self._known.items())
        ]

    def open_transactions(self) -> Iterator[tuple[OpenTransaction, int]]:
        """Yield the transactions that no marker ends, with their producers' epochs."""
        for one in self._transactions.open():
            yield one, self._known[one.producer_id].epoch

    @property
    def doubtful(self) -> list[DoubtfulTransaction]:
        """Transactions that go on after missing offsets, among which their first marker may be.

        The first 1,000 of `num_doubtful`.
        """
        return self._transactions.doubtful

    @property
    def num_doubtful(self) -> int:
        """How many there are of them."""
        return self._transactions.num_doubtful


def _check_epoch(known: _Producer, producer_id: int, epoch: int, offset: int, refuse: Refuse) -> None:
    if epoch < known.epoch:
        refuse("producer_fenced", f"producer {producer_id} has epoch {epoch}, after {known.epoch}", offset)


def _or_none(offset: int | None) -> int:
    return -1 if offset is None else offset
