"""Totals by producer and by leader epoch of a partition's batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.report.header_columns import HeaderColumns

__all__ = ["EpochRun", "EpochRuns", "ProducerSpan", "ProducerSpans"]

_MAX_TRACKED = 4096
_MAX_RUNS = 256


@dataclass(slots=True)
class ProducerSpan:
    """Batches of a producer.

    Attributes:
        producer_id: of the producer.
        first_offset: lowest offset.
        last_offset: highest one.
        lowest_epoch: of the producer.
        highest_epoch: likewise.
        first_timestamp: of the first batch, in milliseconds; -1 for none.
        last_timestamp: of the last one.
        num_batches: batches with records.
        num_transactional: those of transactions.
        num_records: in all of them.
        num_bytes: of all of them.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    lowest_epoch: int
    highest_epoch: int
    first_timestamp: int
    last_timestamp: int
    num_batches: int
    num_transactional: int
    num_records: int
    num_bytes: int

    def add(self, other: ProducerSpan) -> None:
        """Add later batches of the same producer."""
        self.first_offset = min(self.first_offset, other.first_offset)
        self.last_offset = max(self.last_offset, other.last_offset)
        self.lowest_epoch = min(self.lowest_epoch, other.lowest_epoch)
        self.highest_epoch = max(self.highest_epoch, other.highest_epoch)
        self.last_timestamp = other.last_timestamp
        self.num_batches += other.num_batches
        self.num_transactional += other.num_transactional
        self.num_records += other.num_records
        self.num_bytes += other.num_bytes


class ProducerSpans:
    """Totals of each idempotent or transactional producer; of very many, those with the most records.

    Attributes:
        num_dropped: how often a producer with few records was given up; one that came back counts again.
        num_records_without: records without a producer's id.
    """

    def __init__(self) -> None:
        self.num_dropped = self.num_records_without = 0
        self._by_id: dict[int, ProducerSpan] = {}

    def add(self, columns: HeaderColumns) -> None:
        """Add the next headers."""
        is_counted = (columns.producer_id >= 0) & ~columns.is_control
        without = columns.num_records[columns.producer_id < 0]
        self.num_records_without += int(without.sum())
        own = columns.chosen(is_counted)
        if not len(own):
            return
        for one in _grouped(own):
            known = self._by_id.get(one.producer_id)
            if known is None:
                self._by_id[one.producer_id] = one
            else:
                known.add(one)
        if len(self._by_id) > _MAX_TRACKED:
            kept = self.top(_MAX_TRACKED // 2)
            self.num_dropped += len(self._by_id) - len(kept)
            self._by_id = {one.producer_id: one for one in kept}

    def __len__(self) -> int:
        return len(self._by_id)

    def top(self, most: int) -> list[ProducerSpan]:
        """Return the producers with the most records, at most so many."""
        return sorted(self._by_id.values(), key=lambda one: (-one.num_records, one.producer_id))[:most]

    def get(self, producer_id: int) -> ProducerSpan | None:
        """Return a producer's totals, None if there are none."""
        return self._by_id.get(producer_id)


def _grouped(columns: HeaderColumns) -> list[ProducerSpan]:
    """Sum a table's batches by producer."""
    order = np.argsort(columns.producer_id, kind="stable")
    ids = columns.producer_id[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    ends = np.append(starts[1:], len(ids)) - 1

    def reduced(how: Any, values: Any) -> Any:
        return how.reduceat(values[order], starts).tolist()

    times = columns.timestamp[order]
    lists = (
        ids[starts].tolist(),
        reduced(np.minimum, columns.first_offset),
        reduced(np.maximum, columns.last_offset),
        reduced(np.minimum, columns.producer_epoch),
        reduced(np.maximum, columns.producer_epoch),
        times[starts].tolist(),
        times[ends].tolist(),
        (ends - starts + 1).tolist(),
        reduced(np.add, columns.is_transactional.astype(np.int64)),
        reduced(np.add, columns.num_records),
        reduced(np.add, columns.size),
    )
    return [ProducerSpan(*values) for values in zip(*lists, strict=True)]


@dataclass(slots=True)
class EpochRun:
    """Consecutive batches of one leader epoch; -1 is none, as in magic 0 and 1.

    Attributes:
        epoch: of the leader that appended them.
        first_offset: of the first batch.
        last_offset: highest offset.
        first_timestamp: of the first batch, in milliseconds; -1 for none.
        num_batches: control batches too.
        num_records: data records.
        num_bytes: of the batches.
    """

    epoch: int
    first_offset: int
    last_offset: int
    first_timestamp: int
    num_batches: int = 0
    num_records: int = 0
    num_bytes: int = 0


class EpochRuns:
    """Leader epochs in the order of the log.

    Attributes:
        runs: the first ones.
        num_left_out: how many more there are; the last run that is kept has their totals, too.
    """

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []
        self.num_left_out = 0
        self._epoch: int | None = None

    def add(self, columns: HeaderColumns) -> None:
        """Add the next headers."""
        epochs = columns.leader_epoch
        changes = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
        starts = np.append(0, changes).tolist()
        for first, end in zip(starts, [*changes.tolist(), len(columns)], strict=True):
            epoch = int(epochs[first])
            if epoch != self._epoch and len(self.runs) < _MAX_RUNS:
                begin = int(columns.first_offset[first]), int(columns.last_offset[first])
                self.runs.append(EpochRun(epoch, *begin, int(columns.timestamp[first])))
            elif epoch != self._epoch:
                self.num_left_out += 1
            self._epoch, run = epoch, self.runs[-1]
            run.last_offset = max(run.last_offset, int(columns.last_offset[first:end].max()))
            run.num_batches += end - first
            run.num_records += int(columns.num_records[first:end].sum())
            run.num_bytes += int(columns.size[first:end].sum())
