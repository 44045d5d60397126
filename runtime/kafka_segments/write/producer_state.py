"""State of producers that a broker keeps while it appends, as far as index files and snapshots depend on it.

Strategy: as ProducerStateManager and ProducerAppendInfo, for one partition from its first batch on. Batches
as from a client are checked (sequence numbers, epochs, transactions), copied ones are only recorded, as on a
follower. An abort marker makes an entry of the transaction index; the state at the end is what a broker finds
in a snapshot (ProducerStateEntry).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.index_files import AbortedTxn, ProducerEntry
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_BASE_SEQUENCE,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
)

__all__ = ["Appended", "Producers"]


@dataclass(frozen=True, slots=True)
class Appended:
    """Consecutive batches of one producer, without control records; sequences are -1 for none.

    `first_offset` is that of the first batch, `last_offset` that of the last one, which is `offset_delta`
    above its own first. `timestamp` is the last batch's greatest, in milliseconds since 1970.
    """

    producer_id: int
    producer_epoch: int
    is_transactional: bool
    first_offset: int
    base_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @classmethod
    def by_heads(cls, options: BatchOptions, heads: Any) -> Appended:
        """Build it from batches encoded with `options`; `heads` as in `encoder.EncodedBatches`."""
        first, last = heads[0], heads[-1]
        offset_delta = int(last[COL_LAST_OFFSET_DELTA])
        return cls(
            options.producer_id,
            options.producer_epoch,
            options.is_transactional,
            int(first[COL_BASE_OFFSET]),
            int(first[COL_BASE_SEQUENCE]),
            increment_sequence(int(last[COL_BASE_SEQUENCE]), offset_delta),
            int(last[COL_BASE_OFFSET]) + offset_delta,
            offset_delta,
            int(last[COL_MAX_TIMESTAMP]),
        )

    @classmethod
    def by_batch(cls, batch: Batch) -> Appended:
        """Build it from one batch that was encoded before."""
        assert batch.base_offset is not None  # only magic 2 has producers, and it always has a base offset
        return cls(
            batch.producer_id,
            batch.producer_epoch,
            batch.is_transactional,
            batch.base_offset,
            batch.base_sequence,
            batch.last_sequence,
            batch.last_offset,
            batch.last_offset - batch.base_offset,
            batch.max_timestamp,
        )


class _Producer:
    """State of one producer; `last_sequence` is None if unknown, -1 after a marker of a new epoch."""

    __slots__ = ("coordinator_epoch", "epoch", "last_offset", "last_sequence", "offset_delta", "timestamp")

    def __init__(self) -> None:
        self.epoch = -1
        self.last_sequence: int | None = None
        self.coordinator_epoch = -1
        self.last_offset, self.offset_delta, self.timestamp = -1, 0, -1


class Producers:
    """The producers of a partition."""

    def __init__(self) -> None:
        self._known: dict[int, _Producer] = {}
        # First offsets of open transactions, by producer. Offsets increase, so the first item is the oldest;
        # in a plain dict, finding it would take time for each item removed before.
        self._open: OrderedDict[int, int] = OrderedDict()

    def seed(self, entries: Iterable[ProducerEntry]) -> None:
        """Set the state that producers had before the first batch, from a snapshot."""
        for entry in sorted(entries, key=lambda one: one.current_txn_first_offset):
            known = self._known[entry.producer_id] = _Producer()
            known.epoch, known.coordinator_epoch = entry.epoch, entry.coordinator_epoch
            known.last_sequence, known.last_offset = entry.last_sequence, entry.last_offset
            known.offset_delta, known.timestamp = entry.offset_delta, entry.timestamp
            if entry.current_txn_first_offset >= 0:
                self._open[entry.producer_id] = entry.current_txn_first_offset

    def forget_oldest(self, most: int) -> int:
        """Forget producers without an open transaction, those silent for longest, if there are too many.

        It waits until they are a tenth more, so that it seldom has to look for them.

        Returns:
            How many were forgotten. A broker forgets those that have been silent for a while, too
            (`producer.id.expiration.ms`).
        """
        surplus = len(self._known) - most
        if surplus <= most // 10:
            return 0
        idle = (one for one in self._known if one not in self._open)
        names = nsmallest(surplus, idle, key=lambda one: self._known[one].timestamp)
        for name in names:
            del self._known[name]
        return len(names)

    def next_sequence(self, producer_id: int, producer_epoch: int, first: int = 0) -> int:
        """Return a producer's next sequence number: 0 with a new epoch, `first` if it is unknown."""
        known = self._known.get(producer_id)
        if known is None:
            return first
        if known.epoch != producer_epoch or known.last_sequence is None or known.last_sequence < 0:
            return 0
        return increment_sequence(known.last_sequence, 1)

    def append(self, batch: Appended, *, is_checked: bool) -> None:
        """Record batches of records.

        Raises:
            EncodeError: `is_checked`, and a broker would refuse them from a client.
        """
        known = self._known.setdefault(batch.producer_id, _Producer())
        if is_checked:
            self._check(known, batch)
        known.epoch = max(known.epoch, batch.producer_epoch)
        known.last_sequence = batch.last_sequence
        known.last_offset, known.offset_delta = batch.last_offset, batch.offset_delta
        known.timestamp = batch.timestamp
        if batch.is_transactional and batch.producer_id not in self._open:
            self._open[batch.producer_id] = batch.first_offset

    def _check(self, known: _Producer, batch: Appended) -> None:
        offset, name = batch.first_offset, f"producer {batch.producer_id}"
        _check_epoch(known, batch.producer_id, batch.producer_epoch, offset)
        if batch.producer_id in self._open and not batch.is_transactional:
            raise refused("open_transaction", f"a record of {name} outside its transaction", offset=offset)
        if known.epoch == -1:
            return  # an unknown producer may begin with any sequence number
        expected = self.next_sequence(batch.producer_id, batch.producer_epoch)
        if batch.base_sequence != expected:
            found = f"{name} has sequence number {batch.base_sequence}, expected {expected}"
            raise refused("out_of_order_sequence", found, offset=offset)

    def end(
        self,
        producer: tuple[int, int],
        offset: int,
        timestamp: int,
        *,
        is_abort: bool,
        coordinator_epoch: int,
        is_checked: bool,
    ) -> AbortedTxn | None:
        """Record a marker.

        Args:
            producer: its producer's id and epoch.
            offset: the first of its batch, whatever else the batch holds (ProducerAppendInfo.append).
            timestamp: of the batch's first record, in milliseconds since 1970.

        Returns:
            The entry for the transaction index, if a transaction was aborted.

        Raises:
            EncodeError: `is_checked`, and a broker would refuse the marker from a coordinator.
        """
        producer_id, epoch = producer
        known = self._known.setdefault(producer_id, _Producer())
        if is_checked:
            _check_epoch(known, producer_id, epoch, offset)
            if coordinator_epoch < known.coordinator_epoch:
                found = f"a marker of coordinator epoch {coordinator_epoch}, after {known.coordinator_epoch}"
                raise refused("coordinator_fenced", found, offset=offset)
        if epoch > known.epoch:
            known.epoch, known.last_sequence = epoch, -1
            known.last_offset, known.offset_delta = -1, 0
        known.timestamp = timestamp
        known.coordinator_epoch = max(known.coordinator_epoch, coordinator_epoch)
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None or not is_abort:
            return None
        last_stable_offset = next(iter(self._open.values()), offset + 1)
        return AbortedTxn(producer_id, first_offset, offset, last_stable_offset)

    def entries(self) -> list[dict[str, int]]:
        """Return the state of each producer, by the names of the snapshot's fields."""
        return [
            {
                "producer_id": producer_id,
                "epoch": known.epoch,
                "last_sequence": -1 if known.last_sequence is None else known.last_sequence,
                "last_offset": known.last_offset,
                "offset_delta": known.offset_delta,
                "timestamp": known.timestamp,
                "coordinator_epoch": known.coordinator_epoch,
                "current_txn_first_offset": self._open.get(producer_id, -1),
            }
            for producer_id, known in sorted(self._known.items())
        ]


def _check_epoch(known: _Producer, producer_id: int, epoch: int, offset: int) -> None:
    if epoch < known.epoch:
        found = f"producer {producer_id} has epoch {epoch}, after {known.epoch}"
        raise refused("producer_fenced", found, offset=offset)
