"""Timestamps of Arrow columns as they are stored."""

from __future__ import annotations

import pyarrow as pa


def stored(column: pa.Array | pa.ChunkedArray) -> list[int]:
    """The numbers of a column of timestamps: null stands for -1, and nothing else does."""
    numbers = column.cast(pa.int64()).to_pylist()
    assert -1 not in numbers
    return [-1 if number is None else number for number in numbers]
