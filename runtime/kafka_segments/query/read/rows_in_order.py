"""Rows in ascending order of offsets, as a consumer returns them, in batches of bounded size, for Spark.

Strategy: rows at or below the greatest offset so far are skipped (CompletedFetch.nextFetchedRecord). Mostly
they are duplicates. If they are not known to be, they are reported as lost: checksums do not cover base
offsets, and too great a base offset must not hide the records after it.

A decoded batch has a few MiB, but more with a large record. Arrow's offsets end at 2 GiB, and the JVM's
buffers before that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_segments.core.segment.columnar.arrow_schema import has_views
from kafka_segments.core.segment.columnar.viewed_bytes import rows_where
from kafka_segments.errors import RecordTooLargeError
from kafka_segments.log.model import Split

__all__ = ["MonotoneOffsets", "Skipped", "bounded"]

Offsets = npt.NDArray[np.int64]

_NUM_KEPT = 16
_LARGEST = 8 << 20


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
            batch, offsets = rows_where(batch, is_asked_for), offsets[is_asked_for]
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
        return (rows_where(batch, is_ahead) if len(ahead) else None), report

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


def bounded(
    batch: pa.RecordBatch, split: Split, max_row_size: int | None, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a batch, in slices of up to 8 MiB or of one row; with views, in one.

    Raises:
        RecordTooLargeError: one row has more than `max_row_size` bytes.
    """
    # `nbytes` takes as long as all else here: it is asked for where whole buffers may be too large. Views
    # count all that they refer to.
    is_large = batch.get_total_buffer_size() > _LARGEST and batch.nbytes > _LARGEST
    if is_large and not has_views(batch.schema):
        if batch.num_rows > 1:
            half = batch.num_rows // 2
            for piece in (batch.slice(0, half), batch.slice(half)):
                yield from bounded(piece, split, max_row_size, columns)
            return
        if max_row_size is not None and batch.nbytes > max_row_size:
            raise _too_large(batch, split, max_row_size)
    yield batch if batch.schema.names == list(columns) else batch.select(list(columns))


def _too_large(batch: pa.RecordBatch, split: Split, max_row_size: int) -> RecordTooLargeError:
    offset = batch.column("offset")[0].as_py()
    return RecordTooLargeError(
        f"topic {split.topic}, partition {split.partition}, offset {offset}: the record has {batch.nbytes} "
        f"bytes, more than the {max_row_size} that can be returned; leave out its column, or its offset",
        topic=split.topic,
        partition=split.partition,
        offset=offset,
        size=batch.nbytes,
        path=split.segment.file.path,
    )
