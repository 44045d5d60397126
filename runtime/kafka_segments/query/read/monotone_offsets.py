"""Rows in ascending order of offsets, as a consumer returns them.

Strategy: rows at or below the greatest offset so far are skipped (CompletedFetch.nextFetchedRecord). Mostly
they are duplicates. If they are not known to be, they are reported as lost: checksums do not cover base
offsets, and too great a base offset must not hide the records after it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["MonotoneOffsets", "Skipped"]

Offsets = npt.NDArray[np.int64]

_NUM_KEPT = 16


@dataclass(frozen=True, slots=True)
class Skipped:
    """Skipped rows.

    Attributes:
        first_offset: the least.
        last_offset: the greatest.
        num_rows: number of rows.
        new: least and greatest offset of rows that are not known duplicates; None if all are.
    """

    first_offset: int
    last_offset: int
    num_rows: int
    new: tuple[int, int] | None

    def __str__(self) -> str:
        which = f"{self.num_rows} records with offsets {self.first_offset} to {self.last_offset}"
        return f"{which} follow greater ones, or are duplicates"


class MonotoneOffsets:
    """Position of a consumer over batches in file order.

    Args:
        limit: end of the requested offsets, exclusive, as more is read of misnamed segments; None is open.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._highest = -1
        # First and last offsets of the latest runs without a gap, a bounded number.
        self._runs: deque[tuple[Offsets, Offsets]] = deque(maxlen=_NUM_KEPT)

    def of(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch | None, Skipped | None]:
        """Return rows after the position, None if there are none, and the skipped rows."""
        offsets = batch.column("offset").to_numpy()
        if self._limit is not None and int(offsets.max()) >= self._limit:
            is_asked_for = offsets < self._limit
            if not is_asked_for.any():
                return None, None
            batch, offsets = batch.filter(pa.array(is_asked_for)), offsets[is_asked_for]
        if offsets[0] > self._highest and bool((offsets[1:] > offsets[:-1]).all()):
            self._come(offsets)
            return batch, None
        before = np.maximum.accumulate(np.concatenate([[self._highest], offsets[:-1]]))
        is_ahead = offsets > before
        ahead, skipped = offsets[is_ahead], offsets[~is_ahead]
        if len(ahead):
            self._come(ahead)
        new = skipped[~self._has_come(skipped)]
        report = Skipped(
            int(skipped.min()),
            int(skipped.max()),
            len(skipped),
            (int(new.min()), int(new.max())) if len(new) else None,
        )
        return (batch.filter(pa.array(is_ahead)) if len(ahead) else None), report

    def _come(self, offsets: Offsets) -> None:
        """Advance the position by ascending offsets."""
        is_dense = offsets[-1] - offsets[0] == len(offsets) - 1
        if is_dense and self._runs and offsets[0] == self._highest + 1:
            self._runs[-1][1][-1] = offsets[-1]
        else:
            gaps = np.zeros(0, np.int64) if is_dense else np.flatnonzero(np.diff(offsets) != 1)
            self._runs.append((offsets[np.append(0, gaps + 1)], offsets[np.append(gaps, len(offsets) - 1)]))
        self._highest = int(offsets[-1])

    def _has_come(self, offsets: Offsets) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(offsets), bool)
        for firsts, lasts in self._runs:
            at = np.searchsorted(firsts, offsets, side="right") - 1
            found |= (at >= 0) & (offsets <= lasts[at])
        return found
