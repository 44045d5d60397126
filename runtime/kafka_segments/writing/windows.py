"""Arrow columns as the arrays that an encoder takes, and what is checked of them before.

Strategy: nothing is copied; an encoder is told where each column's arrays are, and where in them the first
row is. Rows are gone through in windows, so that columns which are not there (offsets that are counted,
timestamps that are none, keys that are null) can come from small arrays that are used again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_segments.columnar.columns import Column, columns_of
from kafka_segments.native.engine import Table
from kafka_segments.writing.options import BatchOptions
from kafka_segments.writing.refusals import refused
from kafka_segments_generated.columns._support import ENC_COLUMNS

__all__ = ["NUM_ROWS", "Windows"]

NUM_ROWS = 1 << 14
"""Rows of a window: their offsets and timestamps stay in the CPU's second cache between check and encoder."""
_MAX_LONG = (1 << 63) - 1

_NOTHING = (0, 0)
_BYTES = ("key", "value")
_ZEROS = np.zeros(NUM_ROWS + 1, np.int64)
_NO_TIMESTAMPS = np.full(NUM_ROWS, -1, np.int64)


class Windows:
    """Goes through arrow batches for one encoder.

    Args:
        module: of the encoder.
        options: how batches are made.
        next_offset: of the next record, if there is no column of offsets.
        last_offset: what all offsets are above.

    Attributes:
        row: rows that are done.
        next_offset: as given, later that behind the last record.
        offsets: of the window's records: the array and where the first is in it; `timestamps` likewise.
        offset_slot: where the encoder is told about the column of offsets.
    """

    def __init__(self, module: Any, options: BatchOptions, next_offset: int, last_offset: int) -> None:
        self._options = options
        self._columns = list(_depth_first(columns_of(module.ENCODED_COLUMNS)))
        self._top = columns_of(module.ENCODED_COLUMNS)
        names = [column.path for column in self._columns]
        self.offset_slot = ENC_COLUMNS + names.index("offset")
        self.row = 0
        self.next_offset, self._last_offset = next_offset, last_offset
        self._counted = np.zeros(NUM_ROWS, np.int64)
        appended = -1 if options.log_append_time is None else options.log_append_time
        self._appended = np.full(NUM_ROWS, appended, np.int64)
        self.offsets: tuple[Any, int] = (_ZEROS, 0)
        self.timestamps: tuple[Any, int] = (_ZEROS, 0)
        self._given: dict[str, Any] = {}
        self._start = 0

    def iter_windows(self, batch: pa.RecordBatch, table: Table, state: Any) -> Iterator[int]:
        """Make the encoder ready for one window after the other; yields how many rows there are.

        Args:
            batch: with columns as `iter_incoming` gives them.
            table: the encoder's arguments.
            state: the encoder's.

        Raises:
            EncodeError: a record that Kafka would refuse.
        """
        self._given = given = {name: batch.column(name) for name in batch.schema.names}
        starts = self._set_columns(given, table)
        offsets, timestamps = _numbers(given.get("offset")), _numbers(given.get("timestamp"))
        for start in range(0, batch.num_rows, NUM_ROWS):
            size = min(NUM_ROWS, batch.num_rows - start)
            self._start = start
            self._check(given, start, size)
            for at, (first, moves) in enumerate(starts):
                state[ENC_COLUMNS + at] = first + (start if moves else 0)
            self.offsets = self._offsets(offsets, start, size)
            self.timestamps = self._timestamps(timestamps, start, size)
            _point(table, "offset_values", self.offsets, size)
            _point(table, "timestamp_values", self.timestamps, size)
            yield size
            self.row += size

    def num_bytes(self, row: int) -> int:
        """Bytes of keys and values in a row of the window, with those of headers."""
        arrays = [
            column.slice(self._start + row, 1) for name, column in self._given.items() if name in _BYTES
        ]
        if "headers" in self._given:
            headers = self._given["headers"].slice(self._start + row, 1).flatten()
            arrays += [headers.field(0), headers.field(1)]
        return sum(pc.sum(pc.binary_length(array)).as_py() or 0 for array in arrays)

    def _set_columns(self, given: dict[str, Any], table: Table) -> list[tuple[int, bool]]:
        """Say where the columns are; returns where each one's first row is, and whether that moves with
        rows.
        """
        starts: list[tuple[int, bool]] = []
        for column in self._top:
            array = given.get(column.name)
            if column.members:
                starts += _set_headers(column, array, table)
            elif column.kind == "binary":
                starts.append(_set_binary(column, array, table))
            else:
                starts.append((0, False))
        return starts

    def _check(self, given: dict[str, Any], start: int, size: int) -> None:
        headers, key = given.get("headers"), given.get("key")
        if headers is not None:
            self._check_headers(headers.slice(start, size))
        if self._options.compacted and (key is None or key.slice(start, size).null_count):
            at = 0 if key is None else key.slice(start, size).is_null().index(True).as_py()
            raise refused("null_key", "a key that is null", row=self.row + at)

    def _check_headers(self, headers: pa.Array) -> None:
        ends = headers.offsets.to_numpy()
        first, last = int(ends[0]), int(ends[-1])
        if last == first:
            return
        if self._options.magic < 2:
            at = int(np.flatnonzero(ends[1:] > first)[0])
            raise refused(
                "headers_below_magic_2", f"headers in magic {self._options.magic}", row=self.row + at
            )
        keys = headers.values.field("key").slice(first, last - first)
        if keys.null_count:
            item = first + keys.is_null().index(True).as_py()
            at = int(np.flatnonzero(ends[1:] > item)[0])
            raise refused("null_header_key", "a header whose key is null", row=self.row + at)

    def _offsets(self, given: Any, start: int, size: int) -> tuple[Any, int]:
        """The window's offsets, which are above all before."""
        if given is None:
            first = self.next_offset
            if first > _MAX_LONG - size:
                raise refused("negative_offset", "offsets pass 2^63 - 1", offset=first, row=self.row)
            self._counted[:size] = np.arange(first, first + size)
            found, at = (self._counted, 0), size - 1
        else:
            self._check_offsets(given[start : start + size])
            found, at = (given, start), start + size - 1
        self._last_offset = int(found[0][at])
        self.next_offset = self._last_offset + 1
        return found

    def _check_offsets(self, offsets: Any) -> None:
        if offsets[0] < 0:
            raise refused("negative_offset", "a negative offset", offset=int(offsets[0]), row=self.row)
        wrong = offsets[1:] <= offsets[:-1]
        if offsets[0] > self._last_offset and not wrong.any():
            return
        at = 0 if offsets[0] <= self._last_offset else 1 + int(wrong.argmax())
        before = int(offsets[at - 1]) if at else self._last_offset
        raise refused(
            "offset_order", f"it comes after offset {before}", offset=int(offsets[at]), row=self.row + at
        )

    def _timestamps(self, given: Any, start: int, size: int) -> tuple[Any, int]:
        """The window's timestamps as they are written."""
        options = self._options
        if given is not None and size and given[start : start + size].min() < -1:
            at = int((given[start : start + size] < -1).argmax())
            found, first = self.offsets
            raise refused(
                "negative_timestamp",
                f"timestamp {given[start + at]}",
                offset=int(found[first + at]),
                row=self.row + at,
            )
        if options.magic == 0 or given is None:
            given, start = _NO_TIMESTAMPS, 0
        if options.magic == 1 and options.is_append_time:
            given, start = self._appended, 0
        return given, start


def _depth_first(columns: tuple[Column, ...]) -> Iterator[Column]:
    for column in columns:
        yield column
        yield from _depth_first(column.members)


def _numbers(array: Any) -> Any:
    """An array's numbers, in place."""
    return None if array is None else array.to_numpy(zero_copy_only=True)


def _point(table: Table, name: str, found: tuple[Any, int], size: int) -> None:
    array, start = found
    table.set(name, array.ctypes.data + start * array.itemsize, size)


def _set_binary(column: Column, array: Any, table: Table) -> tuple[int, bool]:
    if array is None:
        table.set(f"{column.path}_offsets", _ZEROS.ctypes.data, NUM_ROWS + 1)
        table.set(f"{column.path}_bytes", *_NOTHING)
        table.set(f"{column.path}_validity", _ZEROS.ctypes.data, NUM_ROWS)
        return 0, False
    validity, offsets, data = array.buffers()
    # An array without items may have no offsets at all.
    place = (_ZEROS.ctypes.data, 1) if offsets is None else (offsets.address, array.offset + len(array) + 1)
    table.set(f"{column.path}_offsets", *place)
    table.set(f"{column.path}_bytes", *_place(data))
    table.set(f"{column.path}_validity", *_place(validity if array.null_count else None))
    return array.offset, True


def _set_headers(column: Column, array: Any, table: Table) -> list[tuple[int, bool]]:
    """A column of lists of structs, of which none is null."""
    if array is None:
        table.set(f"{column.path}_offsets", _ZEROS.ctypes.data, NUM_ROWS + 1)
        members = [_set_binary(member, None, table) for member in column.members]
        return [(0, False), *members]
    offsets = array.buffers()[1]
    table.set(f"{column.path}_offsets", offsets.address, array.offset + len(array) + 1)
    structs = array.values
    starts = [_set_binary(member, structs.field(member.name), table)[0] for member in column.members]
    return [(array.offset, True), *((start, False) for start in starts)]


def _place(buffer: Any) -> tuple[int, int]:
    return _NOTHING if buffer is None else (buffer.address, buffer.size)
