"""States of the producers of a partition, as a table in which compiled code finds them.

Strategy: open addressing with few probes, so that no choice of producer ids makes a search long. A table that
has no place for a producer grows; one of the greatest size forgets the producers whose last records are the
oldest.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from kafka_segments.core.native.kernels import Longs, load, store

__all__ = [
    "LAST_OF_PRODUCER",
    "MAX_PRODUCERS",
    "MISSING",
    "TIMESTAMP",
    "ProducerState",
    "ProducerTable",
    "producer_goes_on",
]

MAX_PRODUCERS = 200_000
_MAX_SLOTS = 1 << 19
_FIRST_SLOTS = 1 << 6
_PROBES = 32
_LARGEST_SEQUENCE = (1 << 31) - 1
_UNKNOWN = -2

IS_USED, PRODUCER_ID, EPOCH, LAST_SEQUENCE, LAST_OF_PRODUCER, OFFSET_DELTA = range(6)
TIMESTAMP, MISSING, IS_SEEDED = range(6, 9)
_WIDTH = 9


class ProducerState(NamedTuple):
    """State of a producer.

    Attributes:
        epoch: the greatest one so far.
        last_sequence: of its last record; -1 after a marker of a new epoch, None if unknown.
        last_offset: of its last record; -1 likewise.
        offset_delta: of its last batch.
        timestamp: of its last batch or marker.
        num_missing: offsets that were missing in the log up to its last batch.
        is_seeded: 1 if it is known by a snapshot alone.
    """

    epoch: int
    last_sequence: int | None
    last_offset: int
    offset_delta: int
    timestamp: int
    num_missing: int
    is_seeded: int = 0


def find_slot(producers: Longs, num_slots: int, producer_id: int) -> int:
    """Return where a producer is, or may be put; -1 if there is no place."""
    at = (producer_id ^ (producer_id >> 15) ^ (producer_id >> 32)) & (num_slots - 1)
    for _ in range(_PROBES):
        place = at * _WIDTH
        if load(producers, place + IS_USED) == 0 or load(producers, place + PRODUCER_ID) == producer_id:
            return place
        at = (at + 1) & (num_slots - 1)
    return -1


def producer_goes_on(  # noqa: PLR0917
    producers: Longs, num_slots: int, producer_id: int, epoch: int, sequence: int, delta: int
) -> int:
    """Return where a producer is if a batch continues its last one, which is then noted; else -1."""
    place = find_slot(producers, num_slots, producer_id)
    if place < 0 or load(producers, place + IS_USED) == 0 or load(producers, place + EPOCH) != epoch:
        return -1
    last = load(producers, place + LAST_SEQUENCE)
    expected = 0 if last == _LARGEST_SEQUENCE else last + 1
    if last < 0 or sequence != expected:
        return -1
    # As DefaultRecordBatch.incrementSequence: 0 follows the largest number.
    left = _LARGEST_SEQUENCE - sequence
    store(producers, place + LAST_SEQUENCE, delta - left - 1 if delta > left else sequence + delta)
    store(producers, place + OFFSET_DELTA, delta)
    store(producers, place + IS_SEEDED, 0)
    return place


class ProducerTable:
    """States by producer id.

    Attributes:
        memory: the table.
        num_slots: its size, in producers.
        has_forgotten: whether there were more producers than are kept.
    """

    def __init__(self) -> None:
        self.num_slots, self._num_used = _FIRST_SLOTS, 0
        self.memory = memoryview(array("q", bytes(8 * _WIDTH * self.num_slots)))
        self.has_forgotten = False

    def get(self, producer_id: int) -> ProducerState | None:
        """Return the state of a producer; None if it is not known."""
        place = find_slot(self.memory, self.num_slots, producer_id)
        if place < 0 or not self.memory[place + IS_USED]:
            return None
        epoch, sequence, *others = self.memory[place + EPOCH : place + _WIDTH].tolist()
        return ProducerState(epoch, None if sequence == _UNKNOWN else sequence, *others)

    def put(self, producer_id: int, state: ProducerState) -> None:
        """Set the state of a producer."""
        sequence = _UNKNOWN if state.last_sequence is None else state.last_sequence
        self._put((1, producer_id, state.epoch, sequence, *state[2:]))

    def lose_sequences(self) -> None:
        """Note that the last sequence number of each producer is unknown."""
        self.memory[LAST_SEQUENCE::_WIDTH] = array("q", [_UNKNOWN]) * self.num_slots

    def _put(self, row: tuple[int, ...]) -> None:
        place = find_slot(self.memory, self.num_slots, row[PRODUCER_ID])
        while place < 0 or (self._num_used >= MAX_PRODUCERS and not self.memory[place]):
            self._make_room()
            place = find_slot(self.memory, self.num_slots, row[PRODUCER_ID])
        self._num_used += not self.memory[place + IS_USED]
        self.memory[place : place + _WIDTH] = array("q", row)

    def _make_room(self) -> None:
        """Grow; from the greatest size on, forget half of the producers."""
        rows = sorted(self._rows(), key=lambda row: row[LAST_OF_PRODUCER])
        if self.num_slots >= _MAX_SLOTS or len(rows) >= MAX_PRODUCERS:
            self.has_forgotten = True
            rows = rows[len(rows) // 2 :]
        else:
            self.num_slots *= 2
        self.memory, self._num_used = memoryview(array("q", bytes(8 * _WIDTH * self.num_slots))), 0
        for row in rows:
            self._put(row)

    def _rows(self) -> Iterator[tuple[int, ...]]:
        for place in range(0, len(self.memory), _WIDTH):
            if self.memory[place]:
                yield tuple(self.memory[place : place + _WIDTH])
