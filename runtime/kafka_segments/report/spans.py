"""Spans of a log: batches of a producer, of a leader epoch, of a transaction, added up.

Strategy: entries come in tables. In each, those with the same key are reduced to one span, and spans of the
same thing are joined. Of very many producers, epochs and transactions the most notable are kept.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from kafka_segments.core.segment.transactions.state import DoubtfulTransaction, Marker, Step
from kafka_segments.log.transaction_outcomes import TransactionOutcome
from kafka_segments.report.entry_figures import EntryFigures

__all__ = [
    "STATES",
    "EpochRuns",
    "ProducerSpan",
    "ProducerSpans",
    "TransactionSpan",
    "TransactionSpans",
]

STATES = ("committed", "aborted", "open", "in doubt")
"""States of a transaction, the most notable last."""

_MAX_PRODUCERS = 4096
_MAX_RUNS = 256
_MAX_TRANSACTIONS = 240


@dataclass(slots=True)
class Span:
    """Batches with something in common.

    Attributes:
        key: what they have in common: the producer's id; the leader epoch, -1 for none.
        first_offset: lowest offset.
        last_offset: highest one; of a transaction that has ended, that of its marker.
        first_timestamp: greatest timestamp of the first batch in milliseconds, -1 for none.
        last_timestamp: of the last one, or of the marker.
        num_batches: how many there are.
        num_records: data records in them.
        num_bytes: of all of them.
    """

    key: int
    first_offset: int
    last_offset: int
    first_timestamp: int = -1
    last_timestamp: int = -1
    num_batches: int = 0
    num_records: int = 0
    num_bytes: int = 0

    def add(self, other: Span) -> None:
        """Add later batches."""
        self.first_offset = min(self.first_offset, other.first_offset)
        self.last_offset = max(self.last_offset, other.last_offset)
        self.last_timestamp = other.last_timestamp
        self.num_batches += other.num_batches
        self.num_records += other.num_records
        self.num_bytes += other.num_bytes


def _spans(figures: EntryFigures, keys: Any, starts: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the values of a `Span` for each run of entries, which begin at `starts`."""
    ends = np.append(starts[1:], len(figures)) - 1
    return zip(
        keys[starts].tolist(),
        np.minimum.reduceat(figures.first_offset, starts).tolist(),
        np.maximum.reduceat(figures.last_offset, starts).tolist(),
        figures.timestamp[starts].tolist(),
        figures.timestamp[ends].tolist(),
        (ends - starts + 1).tolist(),
        np.add.reduceat(figures.num_records, starts).tolist(),
        np.add.reduceat(figures.size, starts).tolist(),
        strict=True,
    )


def _changes(keys: Any) -> Any:
    """Where runs of the same key begin."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))


@dataclass(slots=True)
class ProducerSpan(Span):
    """Batches of a producer with records.

    Attributes:
        lowest_epoch: of the producer.
        highest_epoch: likewise.
        num_transactional: batches of transactions.
    """

    lowest_epoch: int = 0
    highest_epoch: int = 0
    num_transactional: int = 0

    def add(self, other: Span) -> None:
        """Add later batches of the producer."""
        Span.add(self, other)
        assert isinstance(other, ProducerSpan)
        self.lowest_epoch = min(self.lowest_epoch, other.lowest_epoch)
        self.highest_epoch = max(self.highest_epoch, other.highest_epoch)
        self.num_transactional += other.num_transactional


class ProducerSpans:
    """Totals of each idempotent or transactional producer; of very many, those with the most records.

    Attributes:
        num_dropped: how often a producer with few records was given up; one that came back counts again.
        num_records_without: records without a producer's id.
    """

    def __init__(self) -> None:
        self.num_dropped = self.num_records_without = 0
        self._by_id: dict[int, ProducerSpan] = {}

    def add(self, figures: EntryFigures) -> None:
        """Add the next entries."""
        ids = figures.of_batch("producer_id")
        self.num_records_without += int(figures.num_records[ids < 0].sum())
        rows = np.flatnonzero((ids >= 0) & ~figures.is_control)
        if not len(rows):
            return
        own = figures.taken(rows[np.argsort(ids[rows], kind="stable")])
        keys = own.of_batch("producer_id")
        starts = _changes(keys)
        epochs, is_transactional = own.of_batch("producer_epoch"), own.of_batch("is_transactional", 0) != 0
        more = (
            np.minimum.reduceat(epochs, starts).tolist(),
            np.maximum.reduceat(epochs, starts).tolist(),
            np.add.reduceat(is_transactional.astype(np.int64), starts).tolist(),
        )
        for values, *others in zip(_spans(own, keys, starts), *more, strict=True):
            span = ProducerSpan(*values, *others)
            known = self._by_id.setdefault(span.key, span)
            if known is not span:
                known.add(span)
        if len(self._by_id) > _MAX_PRODUCERS:
            kept = self.top(_MAX_PRODUCERS // 2)
            self.num_dropped += len(self._by_id) - len(kept)
            self._by_id = {one.key: one for one in kept}

    def __len__(self) -> int:
        return len(self._by_id)

    def top(self, most: int) -> list[ProducerSpan]:
        """Return the producers with the most records, at most so many."""
        return sorted(self._by_id.values(), key=lambda one: (-one.num_records, one.key))[:most]

    def get(self, producer_id: int) -> ProducerSpan | None:
        """Return a producer's totals, None if there are none."""
        return self._by_id.get(producer_id)


class EpochRuns:
    """Runs of batches of one leader epoch, control batches too, in the order of the log.

    Attributes:
        runs: the first ones.
        num_left_out: how many more there are; the last run that is kept has their totals, too.
    """

    def __init__(self) -> None:
        self.runs: list[Span] = []
        self.num_left_out = 0
        self._epoch: int | None = None

    def add(self, figures: EntryFigures) -> None:
        """Add the next entries."""
        epochs = figures.of_batch("partition_leader_epoch")
        for values in _spans(figures, epochs, _changes(epochs)):
            run = Span(*values)
            if run.key != self._epoch and len(self.runs) < _MAX_RUNS:
                self.runs.append(run)
            else:
                self.num_left_out += run.key != self._epoch
                self.runs[-1].add(run)
            self._epoch = run.key


@dataclass(slots=True)
class TransactionSpan(Span):
    """A transaction of a producer.

    Attributes:
        state: one of `STATES`.
    """

    state: str = "open"

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds from its first batch to its end; None if a timestamp is missing."""
        is_known = self.first_timestamp >= 0 and self.last_timestamp >= self.first_timestamp
        return self.last_timestamp - self.first_timestamp if is_known else None


class TransactionSpans:
    """Spans of a partition's transactions: batches of a producer belong to one until its next marker.

    Attributes:
        counts: transactions by state.
        doubts: those so far whose marker may be lost; others add to it.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.doubts: Sequence[DoubtfulTransaction] = ()
        self._doubtful: dict[int, list[DoubtfulTransaction]] = {}
        self._num_doubts = 0
        self._open: dict[int, TransactionSpan] = {}
        self._kept: list[tuple[int, int, int, TransactionSpan]] = []
        self._number = count()

    def add(self, figures: EntryFigures, steps: Sequence[Step]) -> None:
        """Add the next entries, whose markers are in some steps."""
        aborts = {step.offset: step.is_abort for step in steps if isinstance(step, Marker)}
        is_transactional = figures.of_batch("is_transactional", 0) != 0
        ids = figures.of_batch("producer_id")
        own = figures.chosen((ids >= 0) & (is_transactional | figures.is_control))
        spans = _spans(own, own.of_batch("producer_id"), np.arange(len(own))) if len(own) else ()
        bases = own.entries.values("base_offset")
        for values, is_control, offset in zip(spans, own.is_control.tolist(), bases, strict=False):
            span = TransactionSpan(*values)
            if is_control and offset in aborts:  # one that compaction has emptied ends nothing
                self._end(span, "aborted" if aborts[offset] else "committed")
            elif not is_control:
                known = self._open.setdefault(span.key, span)
                if known is not span:
                    known.add(span)

    def _end(self, marker: TransactionSpan, state: str) -> None:
        span = self._open.pop(marker.key, None)
        if span is not None:  # None: no batch of it is in the log: compacted, or before the log's start
            span.last_offset, span.last_timestamp = marker.last_offset, marker.last_timestamp
            self._keep(span, state)

    def end(self, outcome: TransactionOutcome) -> None:
        """End the log: what has no marker is open."""
        for one in outcome.open:
            span = self._open.pop(one.producer_id, None)
            if span is None:  # begun before the log's first batch, as a snapshot says
                span = TransactionSpan(one.producer_id, one.first_offset, one.first_offset)
            span.first_offset = min(span.first_offset, one.first_offset)
            self._keep(span, "open" if one.damage is None else "in doubt")
        for span in self._open.values():
            self._keep(span, "in doubt")
        self._open.clear()

    def _keep(self, span: TransactionSpan, state: str) -> None:
        for one in self.doubts[self._num_doubts :]:
            self._doubtful.setdefault(one.producer_id, []).append(one)
        self._num_doubts = len(self.doubts)
        for one in self._doubtful.get(span.key, ()):
            if span.first_offset <= one.last_offset and one.first_offset <= span.last_offset:
                state = "in doubt"
        span.state = state
        self.counts[state] += 1
        entry = STATES.index(state), span.last_offset - span.first_offset, next(self._number), span
        (heapq.heappush if len(self._kept) < _MAX_TRANSACTIONS else heapq.heappushpop)(self._kept, entry)

    def listed(self, most: int) -> list[TransactionSpan]:
        """Return some of the kept ones: first those that are not committed, then by duration."""
        ordered = sorted(self.kept, key=lambda one: (-STATES.index(one.state), -(one.duration_ms or 0)))
        return ordered[:most]

    @property
    def kept(self) -> Sequence[TransactionSpan]:
        """The most notable ones: in doubt, open, aborted, then the longest committed ones; by offset."""
        spans = [span for *_order, span in self._kept]
        return sorted(spans, key=lambda one: (one.first_offset, one.key))

    @property
    def num_left_out(self) -> int:
        """How many are counted, but not kept."""
        return self.counts.total() - len(self._kept)
