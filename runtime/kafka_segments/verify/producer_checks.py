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
from kafka_segments.core.segment.verified.verified_entries import VerifiedEntry
from kafka_segments.verify.sink import CheckSink

__all__ = ["OpenState", "ProducerChecks", "ProducerState"]

EXPIRATION_MS = 86_400_000
_MAX_PRODUCERS = 200_000
_INTERNAL = "__"
_NONE = -1


@dataclass(slots=True)
class ProducerState:
    """State of a producer.

    Attributes:
        epoch: the greatest one so far.
        last_sequence: of its last record; -1 after a marker of a new epoch, None if unknown.
        last_offset: of its last record; -1 likewise.
        offset_delta: of its last batch.
        timestamp: of its last batch or marker.
        num_missing: offsets that were missing in the log up to its last batch.
        is_seeded: it is known by a snapshot alone.
    """

    epoch: int
    last_sequence: int | None
    last_offset: int
    offset_delta: int
    timestamp: int
    num_missing: int
    is_seeded: bool = False


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
        self.known: dict[int, ProducerState] = {}
        self.open: dict[int, OpenState] = {}
        self._waiting: dict[int, OpenState] = {}  # open ones, for the next timestamp of a broker
        self.num_missing = 0
        self.is_complete = True

    def seed(self, entries: Sequence[ProducerEntry]) -> None:
        """Begin with the producers of the first segment's snapshot."""
        for one in entries:
            last = one.last_sequence, one.last_offset, one.offset_delta, one.timestamp
            self.known[one.producer_id] = ProducerState(one.epoch, *last, 0, is_seeded=True)
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
        for state in self.known.values():
            state.last_sequence = None
        for transaction in self.open.values():
            transaction.is_in_doubt = True

    def batch(self, entry: VerifiedEntry, path: str) -> None:
        """Check a batch of a producer."""
        if entry.is_control:
            self._marker(entry, path)
        else:
            self._data(entry, path)
        self.limit()

    def limit(self) -> None:
        """Forget half of the producers if there are very many: those whose last records are the oldest."""
        if len(self.known) <= _MAX_PRODUCERS:
            return
        kept = sorted(self.known, key=lambda one: self.known[one].last_offset)[len(self.known) // 2 :]
        self.known = {one: self.known[one] for one in kept}
        self._sink.note(
            f"sequences of producers beyond {_MAX_PRODUCERS} at a time: the oldest were forgotten"
        )

    def _data(self, entry: VerifiedEntry, path: str) -> None:
        state = self.known.get(entry.producer_id)
        if state is not None and entry.producer_epoch < state.epoch:
            detail = f"producer {entry.producer_id} has epoch {entry.producer_epoch}, after {state.epoch}"
            self._found("producer-epoch", detail, entry, path)
        elif state is not None and self._has_sequences and entry.base_sequence >= 0:
            self._check_sequence(state, entry, path)
        self._transaction(entry, path)
        epoch = entry.producer_epoch if state is None else max(state.epoch, entry.producer_epoch)
        last = entry.last_sequence, entry.last_offset, entry.last_offset - entry.first_offset
        self.known[entry.producer_id] = ProducerState(epoch, *last, entry.max_timestamp, self.num_missing)

    def _check_sequence(self, state: ProducerState, entry: VerifiedEntry, path: str) -> None:
        if state.last_sequence is None or entry.max_timestamp - state.timestamp > EXPIRATION_MS:
            return
        is_new = entry.producer_epoch > state.epoch or state.last_sequence < 0
        expected = 0 if is_new else increment_sequence(state.last_sequence, 1)
        if entry.base_sequence == expected:
            return
        found = f"producer {entry.producer_id}, epoch {entry.producer_epoch}, has sequence number "
        found += f"{entry.base_sequence}, expected {expected}"
        if not is_new and entry.base_sequence <= state.last_sequence:
            self._found(
                "sequence-duplicate", f"{found}: its last one was at offset {state.last_offset}", entry, path
            )
        elif self.num_missing == state.num_missing:
            self._found("sequence-gap", f"{found}, and no offset is missing before it", entry, path)

    def _transaction(self, entry: VerifiedEntry, path: str) -> None:
        current = self.open.get(entry.producer_id)
        if not entry.is_transactional:
            if current is not None and not current.is_in_doubt:
                detail = f"producer {entry.producer_id} has a transaction open since offset "
                detail += f"{current.first_offset}, but this batch is not part of one"
                self._found("plain-in-transaction", detail, entry, path)
            return
        if entry.num_records == 0:
            return  # emptied by the log cleaner, which may have removed the marker, too
        if current is not None and current.epoch < entry.producer_epoch:
            self.lost_marker(
                entry.producer_id,
                current,
                f"epoch {entry.producer_epoch} begins at offset {entry.first_offset}",
            )
            current = None
        if current is None:
            place = path, entry.position
            offsets = entry.first_offset, entry.last_offset
            self.open[entry.producer_id] = OpenState(
                *offsets, entry.producer_epoch, entry.max_timestamp, *place
            )
        else:
            current.last_offset, current.timestamp = entry.last_offset, entry.max_timestamp
            current.broker_timestamp = None
        self._waiting[entry.producer_id] = self.open[entry.producer_id]

    def lost_marker(self, producer_id: int, current: OpenState, shown_by: str) -> None:
        """Report a transaction that goes on although it has ended, unless its marker may be in damage."""
        if not current.is_in_doubt:
            detail = f"the transaction of producer {producer_id}, epoch {current.epoch}, has no marker, and "
            self._sink.add("lost-marker", f"{detail}{shown_by}", **place_of(current))

    def _marker(self, entry: VerifiedEntry, path: str) -> None:
        if entry.num_records == 0:
            return  # emptied by the log cleaner: its transaction is gone (ProducerAppendInfo.append)
        state = self.known.get(entry.producer_id)
        if state is None:
            state = ProducerState(_NONE, None, _NONE, 0, entry.max_timestamp, self.num_missing)
            self.known[entry.producer_id] = state
        current = self.open.get(entry.producer_id)
        is_its_own = current is not None and current.epoch == entry.producer_epoch
        # A marker with an older epoch is lawful where it ends what a fenced producer has begun (KIP-664).
        if entry.producer_epoch < state.epoch and not is_its_own:
            detail = f"a marker of producer {entry.producer_id} has epoch {entry.producer_epoch}"
            self._found("marker-epoch", f"{detail}, after {state.epoch}", entry, path)
        elif entry.producer_epoch > state.epoch:
            state.epoch, state.last_sequence = entry.producer_epoch, _NONE
            state.last_offset, state.offset_delta = _NONE, 0
        state.timestamp, state.is_seeded = entry.max_timestamp, False
        self.open.pop(entry.producer_id, None)

    def _found(self, check: str, detail: str, entry: VerifiedEntry, path: str) -> None:
        place = {"path": path, "position": entry.position, "end_position": entry.end_position}
        self._sink.add(check, detail, first_offset=entry.first_offset, last_offset=entry.last_offset, **place)


def place_of(transaction: OpenState) -> dict[str, int | str | None]:
    """Return the attributes of a finding for an open transaction."""
    return {
        "first_offset": transaction.first_offset,
        "last_offset": transaction.last_offset,
        "path": transaction.path,
        "position": transaction.position,
    }
