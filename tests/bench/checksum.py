"""What every decoder adds up while it reads, so that none can leave out work, and how it is done over
columns.

For each record: offset + timestamp + length of the key + the byte in the middle of the value + lengths of the
headers' keys and values; the sum wraps as a Java long. A null or empty key, value or header value counts
nothing.

Strategy: the peers add up record by record in the loop that they hand records out in. Over Arrow batches a
compiled loop does the same from the buffers' addresses: making NumPy arrays of a dozen buffers would take
longer than the sum.
"""

from __future__ import annotations

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


@numba.njit(types.int64(*[types.int64] * 9), nogil=True, cache=True)
def _sum(  # pragma: no cover  compiled
    num_rows: int,
    offset: int,
    timestamp: int,
    key_offsets: int,
    value_offsets: int,
    value_data: int,
    list_offsets: int,
    header_keys: int,
    header_values: int,
) -> int:
    offsets = numba.carray(_pointer(offset), num_rows, types.int64)
    timestamps = numba.carray(_pointer(timestamp), num_rows, types.int64)
    ends = numba.carray(_pointer(value_offsets), num_rows + 1, types.int32)
    keys = numba.carray(_pointer(key_offsets), num_rows + 1, types.int32)
    data = numba.carray(_pointer(value_data), ends[num_rows], types.uint8)
    total = types.int64(keys[num_rows]) - keys[0]
    for row in range(num_rows):
        length = ends[row + 1] - ends[row]
        total += offsets[row] + timestamps[row]
        if length > 0:
            total += data[ends[row] + (length >> 1)]
    lists = numba.carray(_pointer(list_offsets), num_rows + 1, types.int32)
    first, last = lists[0], lists[num_rows]
    if last > first:
        names = numba.carray(_pointer(header_keys), last + 1, types.int32)
        values = numba.carray(_pointer(header_values), last + 1, types.int32)
        total += types.int64(names[last]) - names[first] + values[last] - values[first]
    return total


def of_batch(batch: pa.RecordBatch) -> int:
    """Checksum of an arrow batch with the columns of `ours.COLUMNS`; not yet wrapped.

    Raises:
        ValueError: the batch is a slice of a larger one, which the addresses would miss.
    """
    columns = batch.columns
    if any(column.offset for column in columns):
        raise ValueError("a sliced arrow batch")
    offset, timestamp, key, value, headers = (column.buffers() for column in columns)
    if batch.num_rows == 0:
        return 0
    total: int = _sum(
        batch.num_rows,
        offset[1].address,
        timestamp[1].address,
        key[1].address,
        value[1].address,
        address_of(value[2]),
        headers[1].address,
        address_of(headers[4]),
        address_of(headers[7]),
    )
    return total


def address_of(buffer: pa.Buffer | None) -> int:
    """Where a buffer lies; 0 for one that may be left out where nothing is in it."""
    return 0 if buffer is None else buffer.address
