"""Memory that views of bytes refer to, and batches with views.

Strategy: views point into the window that was read, or into what a payload was decompressed to. A batch holds
that memory as long as it is referenced itself. If it holds more than twice its own bytes, as with a few short
keys of a large window, its bytes are copied.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_segments.core.native.engine import address_of
from kafka_segments.core.native.kernels import LEN_VIEW
from kafka_segments.core.segment.columnar.arrow_schema import copied_schema
from kafka_segments.core.segment.columnar.batch_form import MOST_VIEWED_BUFFERS

__all__ = ["ViewedBytes", "copied", "rows_where"]

_MOST_HELD = 8 << 20  # bytes that a batch holds before it is yielded with fewer rows than it has room for
_MOST_TIMES = 2


class ViewedBytes:
    """The buffers that views of the next batch refer to, by number."""

    def __init__(self) -> None:
        self._buffers: list[memoryview] = []
        self._num_held = 0  # bytes of them, without the caller's own memory

    def number_of(self, data: memoryview, *, is_lent: bool) -> int:
        """Return the number of a buffer, which is added unless it is the last one.

        Args:
            data: holds its memory.
            is_lent: whether it is the caller's own memory, of which batches may hold any part.
        """
        if not self._buffers or address_of(self._buffers[-1]) != address_of(data):
            self._buffers.append(memoryview(b""))
        self.hold(data, is_lent=is_lent)
        return len(self._buffers) - 1

    def hold(self, data: memoryview, *, is_lent: bool = False) -> None:
        """Refer to this in place of the last buffer: to more or less of the same memory."""
        self._num_held += 0 if is_lent else len(data) - len(self._buffers[-1])
        self._buffers[-1] = data

    def is_full(self, num_bytes: int) -> bool:
        """Whether a batch should be yielded before it refers to more bytes."""
        return self._num_held + num_bytes > _MOST_HELD or len(self._buffers) == MOST_VIEWED_BUFFERS

    def take(self) -> list[memoryview]:
        """Return the buffers, and forget them."""
        buffers = self._buffers
        self.clear()
        return buffers

    def clear(self) -> None:
        """Forget the buffers."""
        self._buffers, self._num_held = [], 0

    def is_too_much(self, num_viewed: int, num_views: int) -> bool:
        """Whether a batch with so many views, of so many bytes, would hold too much."""
        return self._num_held > _MOST_TIMES * (num_viewed + LEN_VIEW * num_views)


def copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with views of bytes of its own."""
    return batch.cast(copied_schema(batch.schema)).cast(batch.schema)


def rows_where(batch: pa.RecordBatch, is_wanted: Any) -> pa.RecordBatch:
    """Return some rows of a batch: a slice of consecutive ones, else a copy.

    Args:
        batch: the rows, with or without views.
        is_wanted: a numpy array of bools.
    """
    rows = is_wanted.nonzero()[0]
    if not len(rows):
        return batch.slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):
        return batch.slice(first, len(rows))
    plain = batch.cast(copied_schema(batch.schema))  # Arrow filters no views
    return plain.filter(pa.array(is_wanted)).cast(batch.schema)
