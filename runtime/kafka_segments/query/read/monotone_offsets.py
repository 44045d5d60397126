"""Rows whose offsets do not grow: as a consumer, whose position is behind each record that it was given.

Strategy: what is at or below the greatest offset so far is left out (CompletedFetch.nextFetchedRecord skips
it). Mostly it is what has come already. Where that is not seen to be so, it is told as a loss: no checksum
covers a base offset, and one that is too great must not hide what is behind it.
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
    """Rows that were left out.

    Attributes:
        first_offset: the least.
        last_offset: the greatest.
        num_rows: how many.
        new: least and greatest offset of those that are not known to have come before; None if all have.
    """

    first_offset: int
    last_offset: int
    num_rows: int
    new: tuple[int, int] | None

    def __str__(self) -> str:
        which = f"{self.num_rows} records with offsets {self.first_offset} to {self.last_offset}"
        return f"{which} stand behind greater ones, or twice"


class MonotoneOffsets:
    """The position of who reads: the rows of batches, in file order, from there on.

    Args:
        limit: rows from this offset on are not asked for: of a log whose names are wrong more is read, to
            find what is. None is any.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._highest = -1
        # First and last offsets of what has come without a gap; the latest is enough, and has an end.
        self._runs: deque[tuple[Offsets, Offsets]] = deque(maxlen=_NUM_KEPT)

    def of(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch | None, Skipped | None]:
        """The rows that are ahead, None if none are, and what was left out."""
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
        told = Skipped(
            int(skipped.min()),
            int(skipped.max()),
            len(skipped),
            (int(new.min()), int(new.max())) if len(new) else None,
        )
        return (batch.filter(pa.array(is_ahead)) if len(ahead) else None), told

    def _come(self, offsets: Offsets) -> None:
        """Take note of offsets that grow."""
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
