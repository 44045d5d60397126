"""What every decoder adds up while it reads, so that none can leave out work, and how it is done over
columns.

For each record: offset + timestamp + length of the key + the byte in the middle of the value + lengths of the
headers' keys and values; the sum wraps as a Java long. A null or empty key, value or header value counts
nothing.

Strategy: the peers add up record by record in the loop that they hand records out in. Over Arrow batches a
compiled loop does the same, and gets them as a program in C would, through Arrow's C data interface: a dozen
Python objects for a dozen buffers would take longer than the sum.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numba
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def wrapped(total: int) -> int:
    """An integer as a Java long has it."""
    return (total + (1 << 63)) % (1 << 64) - (1 << 63)


def of_rows(rows: Iterable[tuple[int, int, bytes | None, bytes | None, Any]]) -> tuple[int, int]:
    """Number and checksum of records as rows: offset, timestamp, key, value, pairs of a header."""
    num_rows = total = 0
    for offset, timestamp, key, value, headers in rows:
        num_rows += 1
        total += offset + timestamp
        if key is not None:
            total += len(key)
        if value:
            total += value[len(value) >> 1]
        for header_key, header_value in headers:
            total += len(header_key) + (0 if header_value is None else len(header_value))
    return num_rows, wrapped(total)


@intrinsic
def _pointer(_context: Any, address: Any) -> Any:
    """An address as numba's void pointer."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(address), generate


class _ArrowArray(ctypes.Structure):
    """The struct of Arrow's C data interface; ten words."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary", "release", "private")),
    ]


_OFFSET, _BUFFERS, _CHILDREN = 2, 5, 6
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@numba.njit(types.int64(types.int64, types.int64), nogil=True, cache=True)
def _word(address: int, number: int) -> int:  # pragma: no cover  compiled
    return numba.carray(_pointer(address), number + 1, types.int64)[number]


@numba.njit(types.int64(types.int64, types.int64), nogil=True, cache=True)
def _child(array: int, number: int) -> int:  # pragma: no cover  compiled
    return _word(_word(array, _CHILDREN), number)


@numba.njit(types.int64(types.int64, types.int64), nogil=True, cache=True)
def _buffer(array: int, number: int) -> int:  # pragma: no cover  compiled
    return _word(_word(array, _BUFFERS), number)


@numba.njit(types.int64(types.int64, types.int64, types.boolean), nogil=True, cache=True)
def _lengths(array: int, num_rows: int, views: bool) -> int:  # pragma: no cover  compiled
    """How many bytes the values of a column have, of offsets or of views."""
    if not views:
        ends = numba.carray(_pointer(_buffer(array, 1)), num_rows + 1, types.int32)
        return types.int64(ends[num_rows]) - ends[0]
    words = numba.carray(_pointer(_buffer(array, 1)), 4 * num_rows, types.int32)
    total = types.int64(0)
    for row in range(num_rows):
        total += words[4 * row]
    return total


@numba.njit(types.int64(types.int64, types.int64), nogil=True, cache=True)
def _middles(array: int, num_rows: int) -> int:  # pragma: no cover  compiled
    """The sum of the bytes in the middle of values that stand one behind the other."""
    ends = numba.carray(_pointer(_buffer(array, 1)), num_rows + 1, types.int32)
    data = numba.carray(_pointer(_buffer(array, 2)), ends[num_rows], types.uint8)
    total = types.int64(0)
    for row in range(num_rows):
        length = ends[row + 1] - ends[row]
        if length > 0:
            total += data[ends[row] + (length >> 1)]
    return total


@numba.njit(types.int64(types.int64, types.int64), nogil=True, cache=True)
def _viewed_middles(array: int, num_rows: int) -> int:  # pragma: no cover  compiled
    """The same of values with views, through these: each is in its view, or in the buffer that it names."""
    words = numba.carray(_pointer(_buffer(array, 1)), 4 * num_rows, types.int32)
    inlined = numba.carray(_pointer(_buffer(array, 1)), 16 * num_rows, types.uint8)
    total = types.int64(0)
    for row in range(num_rows):
        length = words[4 * row]
        if length > 12:
            place = types.int64(words[4 * row + 3]) + (length >> 1)
            total += numba.carray(_pointer(_buffer(array, 2 + words[4 * row + 2])), place + 1, types.uint8)[
                place
            ]
        elif length > 0:
            total += inlined[16 * row + 4 + (length >> 1)]
    return total


@numba.njit(types.int64(types.int64, types.boolean), nogil=True, cache=True)
def _sum(batch: int, views: bool) -> int:  # pragma: no cover  compiled
    """Of a struct of offset, timestamp, key, value, headers; -1 if one of these is a slice of something."""
    num_rows = _word(batch, 0)
    total = types.int64(0)
    for column in range(5):
        if _word(_child(batch, column), _OFFSET) != 0:
            return -1
    offsets = numba.carray(_pointer(_buffer(_child(batch, 0), 1)), num_rows, types.int64)
    timestamps = numba.carray(_pointer(_buffer(_child(batch, 1), 1)), num_rows, types.int64)
    for row in range(num_rows):
        total += offsets[row] + timestamps[row]
    total += _lengths(_child(batch, 2), num_rows, views)
    value = _child(batch, 3)
    total += _viewed_middles(value, num_rows) if views else _middles(value, num_rows)
    lists = numba.carray(_pointer(_buffer(_child(batch, 4), 1)), num_rows + 1, types.int32)
    if lists[num_rows] > lists[0]:
        items = _child(_child(batch, 4), 0)
        total += _lengths(_child(items, 0), lists[num_rows], views)
        total += _lengths(_child(items, 1), lists[num_rows], views)
    return total


def of_batch(batch: pa.RecordBatch) -> int:
    """Checksum of an arrow batch with the columns of `ours.COLUMNS`; not yet wrapped.

    Raises:
        ValueError: the batch is a slice of a larger one.
    """
    if batch.num_rows == 0:
        return 0
    array = _ArrowArray()
    address = ctypes.addressof(array)
    batch._export_to_c(address)
    try:
        total: int = _sum(address, pa.types.is_binary_view(batch.schema.field("value").type))
    finally:
        _Release(array.release)(address)
    if total == -1:
        raise ValueError("a sliced arrow batch")
    return total
