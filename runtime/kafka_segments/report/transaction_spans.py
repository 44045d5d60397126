"""Transactions as spans of offsets and time: open, committed, aborted, in doubt.

Strategy: `log.transaction_outcomes` has decided which transactions were aborted, are open or in doubt. The
headers add the committed ones, times and sizes: batches of a producer belong to one transaction until its
next marker. Of many transactions the most notable are kept, all are counted.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from kafka_segments.log.transaction_outcomes import TransactionOutcome
from kafka_segments.report.header_columns import HeaderColumns

__all__ = ["STATES", "TransactionSpan", "TransactionSpans"]

STATES = ("committed", "aborted", "open", "in doubt")
"""States of a transaction, the most notable last."""

_MAX_KEPT = 240


@dataclass(slots=True)
class TransactionSpan:
    """A transaction.

    Attributes:
        producer_id: of its producer.
        first_offset: of its first batch.
        last_offset: of its marker; of its last batch if it has none.
        state: one of `STATES`.
        first_timestamp: greatest timestamp of its first batch in milliseconds, -1 for none.
        last_timestamp: of its marker, or of its last batch.
        num_batches: batches with records.
        num_records: in these.
        num_bytes: of these.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    state: str = "open"
    first_timestamp: int = -1
    last_timestamp: int = -1
    num_batches: int = 0
    num_records: int = 0
    num_bytes: int = 0

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds from its first batch to its end; None if a timestamp is missing."""
        is_known = self.first_timestamp >= 0 and self.last_timestamp >= self.first_timestamp
        return self.last_timestamp - self.first_timestamp if is_known else None


class TransactionSpans:
    """Spans of a partition's transactions, from headers in the order of the log.

    Args:
        outcome: of the same log.

    Attributes:
        counts: transactions by state.
    """

    def __init__(self, outcome: TransactionOutcome) -> None:
        self.counts: Counter[str] = Counter()
        self._outcome = outcome
        self._aborted = sorted(one.last_offset for one in outcome.aborted)
        self._doubtful: dict[int, list[tuple[int, int]]] = {}
        for one in outcome.doubtful:
            self._doubtful.setdefault(one.producer_id, []).append((one.first_offset, one.last_offset))
        self._open: dict[int, TransactionSpan] = {}
        self._kept: list[tuple[int, int, int, TransactionSpan]] = []
        self._number = count()

    def add(self, columns: HeaderColumns) -> None:
        """Add the next headers."""
        rows = np.flatnonzero((columns.producer_id >= 0) & (columns.is_transactional | columns.is_control))
        names = ("producer_id", "first_offset", "last_offset", "timestamp", "num_present", "size")
        lists = [getattr(columns, name)[rows].tolist() for name in (*names, "is_control")]
        for producer_id, first, last, timestamp, num_records, size, is_control in zip(*lists, strict=True):
            if is_control and num_records:  # a control batch that compaction has emptied ends nothing
                self._end(producer_id, last, timestamp)
            elif not is_control:
                span = self._open.get(producer_id)
                if span is None:
                    span = TransactionSpan(producer_id, first, last, first_timestamp=timestamp)
                    self._open[producer_id] = span
                span.last_offset, span.last_timestamp = max(span.last_offset, last), timestamp
                span.num_batches += 1
                span.num_records += num_records
                span.num_bytes += size

    def _end(self, producer_id: int, offset: int, timestamp: int) -> None:
        span = self._open.pop(producer_id, None)
        if span is None:  # no batch of it is in the log: compacted, or before the log's start
            return
        at = bisect_left(self._aborted, offset)
        is_aborted = at < len(self._aborted) and self._aborted[at] == offset
        span.last_offset, span.last_timestamp = offset, timestamp
        self._keep(span, "aborted" if is_aborted else "committed")

    def end(self) -> None:
        """End the log: what has no marker is open."""
        for one in self._outcome.open:
            span = self._open.pop(one.producer_id, None)
            if span is None:  # begun before the log's first batch, as a snapshot says
                span = TransactionSpan(one.producer_id, one.first_offset, one.first_offset)
            span.first_offset = min(span.first_offset, one.first_offset)
            self._keep(span, "open" if one.damage is None else "in doubt")
        for span in self._open.values():
            self._keep(span, "in doubt")
        self._open.clear()

    def _keep(self, span: TransactionSpan, state: str) -> None:
        for first, last in self._doubtful.get(span.producer_id, ()):
            if span.first_offset <= last and first <= span.last_offset:
                state = "in doubt"
        span.state = state
        self.counts[state] += 1
        entry = STATES.index(state), span.last_offset - span.first_offset, next(self._number), span
        (heapq.heappush if len(self._kept) < _MAX_KEPT else heapq.heappushpop)(self._kept, entry)

    @property
    def kept(self) -> Sequence[TransactionSpan]:
        """The most notable ones: in doubt, open, aborted, then the longest committed ones; by offset."""
        spans = [span for *_order, span in self._kept]
        return sorted(spans, key=lambda one: (one.first_offset, one.producer_id))

    @property
    def num_left_out(self) -> int:
        """How many are counted, but not kept."""
        return self.counts.total() - len(self._kept)
