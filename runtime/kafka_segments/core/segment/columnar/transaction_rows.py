"""Excluded batches in the scanner's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.transactions.state import ExcludedBatches

__all__ = ["ExcludedRows"]


class ExcludedRows:
    """Excluded batches, for tables; see `ExcludedBatches`.

    Args:
        excluded: which transactions.
    """

    def __init__(self, excluded: ExcludedBatches) -> None:
        self._excluded = excluded
        self._ranges = {
            producer_id: (np.asarray(firsts, np.int64), np.asarray(lasts, np.int64))
            for producer_id, (firsts, lasts) in excluded.ranges.items()
        }

    def holds(self, batch: Batch) -> bool:
        """Return whether one batch is excluded."""
        return self._excluded.holds(batch)

    def mask(self, entries: EntryTable) -> Any:
        """Return a mask of the rows that are excluded batches."""
        mask = np.zeros(len(entries), bool)
        rows = np.flatnonzero(entries.is_batch() & (entries.column("is_transactional") != 0))
        producers, offsets = entries.column("producer_id")[rows], entries.column("base_offset")[rows]
        for producer_id in np.unique(producers).tolist():
            if producer_id in self._ranges:
                firsts, lasts = self._ranges[producer_id]
                own = rows[producers == producer_id]
                at = np.searchsorted(firsts, offsets[producers == producer_id], "right") - 1
                mask[own] = (at >= 0) & (entries.column("base_offset")[own] <= lasts[at])
        return mask
