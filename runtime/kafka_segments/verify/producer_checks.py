"""Checks of what producers wrote: sequence numbers, epochs, and markers of transactions.

Strategy: the state of each producer is kept as a broker keeps it (ProducerStateManager, ProducerAppendInfo),
from the producer snapshot of the first segment on. A broker takes any sequence number of a producer that it
does not know, or has not heard of for a day (`producer.id.expiration.ms`). Sequence numbers that are missing
are a finding only where all offsets between are there: the log cleaner may have removed the batches.
Coordinators write their own topics without the checks of a client's batches (AppendOrigin.COORDINATOR).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.segment.beside.index_files import ProducerEntry
from kafka_segments.core.segment.verified.producer_table import MAX_PRODUCERS, ProducerState, ProducerTable
from kafka_segments.core.segment.verified.sound_runs import SoundRun
from kafka_segments.verify.sink import CheckSink

__all__ = ["OpenState", "ProducerChecks", "place_of"]

EXPIRATION_MS = 86_400_000
_INTERNAL = "__"
_NONE = -1


@dataclass(slots=True)
class OpenState:
    """An open transaction.

    Attributes:
        first_offset: of its first batch.
        last_offset: of its last batch so far.
        epoch: of its producer.
        timestamp: of its last batch.
        broker_timestamp: the first one after its last batch that a broker has set; None without any.
        path: of the segment where it begins; None if that is not in the log.
        position: there.
        is_in_doubt: there is damage after its beginning.
    """

    first_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    path: str | None = None
    position: int | None = None
    broker_timestamp: int | None = None
    is_in_doubt: bool = False


class ProducerChecks:
    """Checks of the producers of a partition, batch by batch.

    Args:
        sink: collects the findings.

    Attributes:
        known: state by producer id.
        open: open transactions by producer id.
        num_missing: offsets that were missing so far.
        is_complete: no damage, and nothing missing so far.
    """

    def __init__(self, sink: CheckSink) -> None:
        self._sink = sink
        self._has_sequences = not sink.topic.startswith(_INTERNAL)
        self.known = ProducerTable()
        self.open: dict[int, OpenState] = {}
        self._waiting: dict[int, OpenState] = {}  # open ones, for the next timestamp of a broker
        self.num_missing = 0
        self.is_complete = True

    def seed(self, entries: Sequence[ProducerEntry]) -> None:
        """Begin with the producers of the first segment's snapshot."""
        for one in entries:
            last = one.last_sequence, one.last_offset, one.offset_delta, one.timestamp
            self.known.put(one.producer_id, ProducerState(one.epoch, *last, 0, is_seeded=True))
            if one.current_txn_first_offset >= 0:
                first = one.current_txn_first_offset
                self.open[one.producer_id] = OpenState(first, one.last_offset, one.epoch, one.timestamp)

    def note_time(self, timestamp: int) -> None:
        """Note a timestamp that a broker has set, of the batch that comes next."""
        for one in self._waiting.values():
            one.broker_timestamp = timestamp
        self._waiting.clear()

    def missing(self, count: int) -> None:
        """Note that so many offsets are missing before the next batch."""
        if count > 0:
            self.num_missing += count

    def lost(self) -> None:
        """Note damage, or that segments do not join: what comes next says nothing of what was before."""
        self.is_complete = False
        self.known.lose_sequences()
        for transaction in self.open.values():
            transaction.is_in_doubt = True

    def batch(self, batch: SoundRun, path: str) -> None:
        """Check a batch of a producer."""
        if batch.has("is_control"):
            self._marker(batch, path)
        else:
            self._data(batch, path)
        if self.known.has_forgotten:
            self.known.has_forgotten = False
            self._sink.note(
                f"sequences of producers beyond {MAX_PRODUCERS} at a time: the oldest were forgotten"
            )

    def _data(self, batch: SoundRun, path: str) -> None:
        producer_id, epoch, base = map(batch.value, ("producer_id", "producer_epoch", "base_sequence"))
        state = self.known.get(producer_id)
        if state is not None and epoch < state.epoch:
            self._found(
                "producer-epoch",
                f"producer {producer_id} has epoch {epoch}, after {state.epoch}",
                batch,
                path,
            )
        elif state is not None and self._has_sequences and base >= 0:
            self._check_sequence(state, batch, path)
        self._transaction(batch, path)
        last = -1 if base < 0 else increment_sequence(base, batch.value("last_offset_delta"))
        delta, greatest = batch.last - batch.first, epoch if state is None else max(state.epoch, epoch)
        new = ProducerState(greatest, last, batch.last, delta, batch.newest, self.num_missing)
        self.known.put(producer_id, new)

    def _check_sequence(self, state: ProducerState, batch: SoundRun, path: str) -> None:
        if state.last_sequence is None or batch.newest - state.timestamp > EXPIRATION_MS:
            return
        epoch, base = batch.value("producer_epoch"), batch.value("base_sequence")
        is_new = epoch > state.epoch or state.last_sequence < 0
        expected = 0 if is_new else increment_sequence(state.last_sequence, 1)
        if base == expected:
            return
        found = f"producer {batch.value('producer_id')}, epoch {epoch}, has sequence number {base}, "
        found += f"expected {expected}"
        if not is_new and base <= state.last_sequence:
            self._found(
                "sequence-duplicate", f"{found}: its last one was at offset {state.last_offset}", batch, path
            )
        elif self.num_missing == state.num_missing:
            self._found("sequence-gap", f"{found}, and no offset is missing before it", batch, path)

    def _transaction(self, batch: SoundRun, path: str) -> None:
        producer_id, epoch = batch.value("producer_id"), batch.value("producer_epoch")
        current = self.open.get(producer_id)
        if not batch.has("is_transactional"):
            if current is not None and not current.is_in_doubt:
                detail = f"producer {producer_id} has a transaction open since offset "
                detail += f"{current.first_offset}, but this batch is not part of one"
                self._found("plain-in-transaction", detail, batch, path)
            return
        if batch.value("num_records") == 0:
            return  # emptied by the log cleaner, which may have removed the marker, too
        if current is not None and current.epoch < epoch:
            self.lost_marker(producer_id, current, f"epoch {epoch} begins at offset {batch.first}")
            current = None
        if current is None:
            offsets = batch.first, batch.last
            self.open[producer_id] = OpenState(*offsets, epoch, batch.newest, path, batch.position)
        else:
            current.last_offset, current.timestamp = batch.last, batch.newest
            current.broker_timestamp = None
        self._waiting[producer_id] = self.open[producer_id]

    def lost_marker(self, producer_id: int, current: OpenState, shown_by: str) -> None:
        """Report a transaction that goes on although it has ended, unless its marker may be in damage."""
        if not current.is_in_doubt:
            detail = f"the transaction of producer {producer_id}, epoch {current.epoch}, has no marker, and "
            self._sink.add("lost-marker", f"{detail}{shown_by}", **place_of(current))

    def _marker(self, batch: SoundRun, path: str) -> None:
        if batch.value("num_records") == 0:
            return  # emptied by the log cleaner: its transaction is gone (ProducerAppendInfo.append)
        producer_id, epoch = batch.value("producer_id"), batch.value("producer_epoch")
        known = self.known.get(producer_id)
        state = known or ProducerState(_NONE, None, _NONE, 0, batch.newest, self.num_missing)
        current = self.open.pop(producer_id, None)
        is_its_own = current is not None and current.epoch == epoch
        # A marker with an older epoch is lawful where it ends what a fenced producer has begun (KIP-664).
        if epoch < state.epoch and not is_its_own:
            detail = f"a marker of producer {producer_id} has epoch {epoch}"
            self._found("marker-epoch", f"{detail}, after {state.epoch}", batch, path)
        elif epoch > state.epoch:
            state = ProducerState(epoch, _NONE, _NONE, 0, batch.newest, state.num_missing)
        self.known.put(producer_id, state._replace(timestamp=batch.newest, is_seeded=False))

    def _found(self, check: str, detail: str, batch: SoundRun, path: str) -> None:
        place = {"path": path, "position": batch.position, "end_position": batch.end_position}
        self._sink.add(check, detail, first_offset=batch.first, last_offset=batch.last, **place)


def place_of(transaction: OpenState) -> dict[str, int | str | None]:
    """Return the attributes of a finding for an open transaction."""
    return {
        "first_offset": transaction.first_offset,
        "last_offset": transaction.last_offset,
        "path": transaction.path,
        "position": transaction.position,
    }
