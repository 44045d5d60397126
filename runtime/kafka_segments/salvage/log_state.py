"""State of a log that is being written: producers, transactions, leader epochs.

Strategy: what a broker would keep after appending the same batches. Where a table of headers is at hand, of
each producer's batches between two markers only the first and the last are looked at: those between change
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.batch_records import open_records
from kafka_segments.core.segment.index_files import AbortedTxn, ProducerEntry
from kafka_segments.core.segment.scan.entry_scan import read_payload
from kafka_segments.core.segment.transactions.state import (
    DataBatch,
    DoubtfulTransaction,
    Lost,
    Marker,
    OpenTransaction,
    Transactions,
)
from kafka_segments.errors import CorruptBatchError, NotingFaults
from kafka_segments.salvage.batch_epochs import BatchEpochs, EpochBatches
from kafka_segments.salvage.ledger import MissingOffsets
from kafka_segments.write.producer_state import Appended, Producers

__all__ = ["LogState"]

_MAX_PRODUCERS = 20_000  # of a snapshot; building it takes some KiB for each
_MAX_OPEN = 10_000  # producers with an open transaction, which take a KiB each
_MAX_KEPT = 1024
_LARGEST_MARKER = 1 << 20  # bytes, as brokers allow of any batch by default; they write less than 100


@dataclass
class LogState:
    """What the batches of a log say, in the order of their offsets.

    Args:
        start_offset: where the log begins.

    Attributes:
        epochs: leader epochs of its batches.
        has_all_producers: False if there were too many to keep.
        num_forgotten: producers that were forgotten, those that were met first.
    """

    start_offset: int
    epochs: BatchEpochs = field(default_factory=BatchEpochs)
    has_all_producers: bool = True
    num_forgotten: int = 0

    def __post_init__(self) -> None:
        self._producers = Producers()
        self._transactions = Transactions(self.start_offset, keeps_ended=False)
        self._ids: dict[int, int] = {}  # epoch of each producer with an open transaction
        self._markers: dict[bytes, tuple[bool, int]] = {}
        self._items = ItemBudget(_LARGEST_MARKER)

    def seed(self, entries: tuple[ProducerEntry, ...]) -> None:
        """Set the state before the first batch, by a producer snapshot."""
        self._producers.seed(entries)
        for entry in entries:
            if entry.current_txn_first_offset >= 0:
                self._transactions.begun_before(entry.producer_id, entry.current_txn_first_offset)
                self._ids[entry.producer_id] = entry.epoch

    def lose(self, gap: MissingOffsets) -> None:
        """Note that offsets are missing here, and with them perhaps a marker."""
        detail = f"offsets {gap.first} to {gap.last} are in no copy"
        neighbours = gap.first, gap.last, gap.first - 1, gap.last + 1
        self._transactions.follow([Lost(Damage("", 0, 0, CorruptBatchError(detail), *neighbours))])

    def note_end(self, last_offset: int) -> None:
        """Note the last offset so far."""
        self._transactions.note_sound(last_offset)

    def _give_up(self) -> None:
        """Forget all producers: a broker then begins without knowing any."""
        self.has_all_producers = False
        self._producers = Producers()
        self._transactions = Transactions(self.start_offset, keeps_ended=False)
        self._ids.clear()

    def note_data(self, batch: Appended) -> None:
        """Note a data batch of a producer."""
        if not self.has_all_producers:
            return
        self._producers.append(batch, is_checked=False)
        self.num_forgotten += self._producers.forget_oldest(_MAX_PRODUCERS)
        if batch.is_transactional:
            self._ids[batch.producer_id] = batch.producer_epoch
            if len(self._ids) > _MAX_OPEN:
                self._give_up()
                return
            self._transactions.follow(
                [
                    DataBatch(
                        batch.producer_id,
                        batch.producer_epoch,
                        batch.first_offset,
                        batch.last_offset,
                        batch.base_sequence,
                        batch.last_sequence,
                    )
                ]
            )

    def note_control(self, batch: Batch, source: Source) -> AbortedTxn | None:
        """Note a control batch; return the transaction that it aborts.

        One whose content cannot be read ends nothing, as one that was emptied by the cleaner; no more does
        one that is larger than a broker takes.
        """
        if batch.producer_id < 0 or batch.base_offset is None or not self.has_all_producers:
            return None
        if batch.size > _LARGEST_MARKER:
            return None
        marker = None
        with NotingFaults():
            marker = self._marker(batch, read_payload(source, batch))
        if marker is None:
            return None
        is_abort, coordinator_epoch = marker
        self._ids.pop(batch.producer_id, None)
        self._transactions.follow([Marker(batch.producer_id, batch.base_offset, is_abort)])
        return self._producers.end(
            (batch.producer_id, batch.producer_epoch),
            batch.base_offset,
            batch.max_timestamp,
            is_abort=is_abort,
            coordinator_epoch=coordinator_epoch,
            is_checked=False,
        )

    def _marker(self, batch: Batch, payload: bytes | memoryview) -> tuple[bool, int] | None:
        """Return whether a marker aborts, and its coordinator's epoch; None if it ends no transaction."""
        key = bytes(payload) if batch.compression == "none" and len(payload) < _MAX_KEPT else b""
        if key in self._markers:
            return self._markers[key]
        _batch, records = open_records(batch, payload, max_decompressed=_LARGEST_MARKER, items=self._items)
        record = next(records, None)
        control = None if record is None else record.control
        if control is None or control.type not in ("ABORT", "COMMIT") or control.value is None:
            return None
        found = control.type == "ABORT", int(control.value["coordinator_epoch"])
        if key:
            if len(self._markers) >= _MAX_KEPT:
                self._markers.clear()
            self._markers[key] = found
        return found

    def snapshot(self) -> list[dict[str, int]] | None:
        """Return the producers, by the names of a snapshot's fields; None if they are not known."""
        return self._producers.entries() if self.has_all_producers else None

    def open_transactions(self) -> Iterator[tuple[OpenTransaction, int]]:
        """Yield the transactions that no marker ends, with their producers' epochs."""
        for one in self._transactions.open():
            yield one, self._ids.get(one.producer_id, -1)

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


def note_batch(state: LogState, batch: Batch, source: Source) -> AbortedTxn | None:
    """Note one batch; return the transaction that it aborts."""
    first = batch.last_offset if batch.base_offset is None else batch.base_offset
    state.epochs.note(EpochBatches(batch.partition_leader_epoch, first, first))
    aborted = None
    if batch.magic >= 2 and batch.producer_id >= 0:
        if batch.is_control:
            aborted = state.note_control(batch, source)
        else:
            state.note_data(Appended.by_batch(batch))
    return aborted


def note_table(
    state: LogState, entries: Any, source: Source, batch_at: Callable[[int], Batch]
) -> Iterator[AbortedTxn]:
    """Note a table of headers (`EntryTable`); yield the transactions that its markers abort.

    Args:
        state: the state.
        entries: the table.
        source: the file that it is of.
        batch_at: reads the header of the batch in a row.
    """
    import numpy as np

    is_batch = entries.is_batch()
    epochs, bases = (
        np.where(is_batch, entries.column("partition_leader_epoch"), -1),
        entries.column("base_offset"),
    )
    starts = [0, *(np.flatnonzero(epochs[1:] != epochs[:-1]) + 1).tolist()]
    for first, end in pairwise([*starts, len(entries)]):
        state.epochs.note(
            EpochBatches(int(epochs[first]), int(bases[first]), int(bases[end - 1]), end - first)
        )
    has_producer = is_batch & (entries.column("producer_id") >= 0)
    controls = np.flatnonzero(has_producer & (entries.column("is_control") != 0)).tolist()
    start = 0
    for row in [*controls, len(entries)]:
        data = start + np.flatnonzero(has_producer[start:row])
        for one in _telling_rows(entries, data):
            state.note_data(_appended(entries, one))
        if row < len(entries):
            aborted = state.note_control(batch_at(row), source)
            if aborted is not None:
                yield aborted
        start = row + 1


def _telling_rows(entries: Any, rows: Any) -> list[int]:
    """Return the first and the last row of each producer, in order, and of its transactional batches."""
    import numpy as np

    if not len(rows):
        return []
    found: set[int] = set()
    is_transactional = entries.column("is_transactional")[rows] != 0
    for part in (rows, rows[is_transactional]):
        producers = entries.column("producer_id")[part]
        found.update(part[np.unique(producers, return_index=True)[1]].tolist())
        found.update(part[len(part) - 1 - np.unique(producers[::-1], return_index=True)[1]].tolist())
    return sorted(found)


def _appended(entries: Any, row: int) -> Appended:
    from kafka_segments.core.formats import increment_sequence

    first, last = entries.value(row, "base_offset"), entries.last_offset(row)
    sequence = entries.value(row, "base_sequence")
    return Appended(
        entries.value(row, "producer_id"),
        entries.value(row, "producer_epoch"),
        entries.value(row, "is_transactional") != 0,
        first,
        sequence,
        -1 if sequence == -1 else increment_sequence(sequence, last - first),
        last,
        last - first,
        entries.value(row, "max_timestamp"),
    )
