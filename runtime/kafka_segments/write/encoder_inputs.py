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

from kafka_segments.native.engine import Table
from kafka_segments.native.kernels import ENC_COLUMNS
from kafka_segments.segment.batch_records import MAX_NUM_HEADERS
from kafka_segments.segment.columnar.record_columns import Column, columns_of
from kafka_segments.write.batch_options import MAX_LONG, BatchOptions
from kafka_segments.write.inputs import Incoming, check_array
from kafka_segments.write.offset_checks import SOUND, WRONG_TIMESTAMP, Checker
from kafka_segments.write.refusals import refused

__all__ = ["NUM_ROWS", "Windows"]

NUM_ROWS = 1 << 14
"""Rows of a window: their offsets and timestamps stay in the CPU's second cache between check and encoder."""

_NOTHING = (0, 0)
_BYTES, _NUMBERS = ("key", "value"), ("offset", "timestamp")
_WORD = 8  # bytes of a number
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
        offsets: address of the window's offsets; `timestamps` likewise, as they are written.
    """

    def __init__(self, module: Any, options: BatchOptions, next_offset: int, last_offset: int) -> None:
        self._options = options
        self._columns = columns_of(module.ENCODED_COLUMNS)
        self._checker = Checker()
        self.row = 0
        self.next_offset, self._last_offset = next_offset, last_offset
        self._counted = np.zeros(NUM_ROWS, np.int64)
        self._replaced = self._replacement(options)
        self.offsets = self.timestamps = 0
        self._given: dict[str, Any] = {}
        self._start = 0
        self._absent: set[str] = set()  # columns that the encoder has been told are not there

    def _replacement(self, options: BatchOptions) -> Any:
        """The timestamps that are written whatever is given; None for those that are given."""
        if options.magic == 1 and options.is_append_time:
            return np.full(NUM_ROWS, options.log_append_time, np.int64)
        return _NO_TIMESTAMPS if options.magic == 0 else None

    def iter_windows(self, incoming: Incoming, table: Table, state: Any) -> Iterator[int]:
        """Make the encoder ready for one window after the other; yields how many rows there are.

        Args:
            incoming: records.
            table: the encoder's arguments.
            state: the encoder's.

        Raises:
            EncodeError: a record that Kafka would refuse.
        """
        self._given = given = incoming.columns
        starts = self._set_columns(given, table)
        offsets, timestamps = _address(given.get("offset")), _address(given.get("timestamp"))
        self._check(given)
        for start in range(0, incoming.num_rows, NUM_ROWS):
            size = min(NUM_ROWS, incoming.num_rows - start)
            self._start = start
            for at, (first, moves) in enumerate(starts):
                state[ENC_COLUMNS + at] = first + start if moves else first
            self._check_numbers(
                size, offsets and offsets + start * _WORD, timestamps and timestamps + start * _WORD
            )
            table.set("offset_values", self.offsets, size)
            table.set("timestamp_values", self.timestamps, size)
            yield size
            self.row += size

    def offset_of(self, row: int) -> int:
        """The offset of a row of the window."""
        given = self._given.get("offset")
        return int(self._counted[row]) if given is None else int(given[self._start + row].as_py())

    def check_arrays(self) -> None:
        """Refuse columns that lead out of their own memory, before values are read for a message.

        Raises:
            EncodeError: such a column.
        """
        for name, column in self._given.items():
            check_array(name, column, self.row - self._start, is_full=True)

    def num_bytes(self, row: int) -> int:
        """Bytes of keys and values in a row of the window, with those of headers."""
        at = self._start + row
        arrays = [column.slice(at, 1) for name, column in self._given.items() if name in _BYTES]
        if "headers" in self._given:
            headers = self._given["headers"].slice(at, 1).flatten()
            arrays += [headers.field(0), headers.field(1)]
        return sum(len(value) for array in arrays for value in array.to_pylist() if value)

    def num_headers(self, row: int) -> int:
        """Headers of a row of the window."""
        headers = self._given.get("headers")
        return 0 if headers is None else len(headers[self._start + row])

    def _set_columns(self, given: dict[str, Any], table: Table) -> list[tuple[int, bool]]:
        """Say where the columns are; returns where each one's first row is, and whether that moves with
        rows.
        """
        starts: list[tuple[int, bool]] = []
        for column in self._columns:
            array = given.get(column.name)
            if array is None and column.name not in _NUMBERS:
                is_told = column.name in self._absent
                self._absent.add(column.name)
                starts += _set_absent(column, None if is_told else table)
                continue
            self._absent.discard(column.name)
            if column.members:
                starts += _set_headers(column, array, table)
            else:
                starts.append((0, False) if column.name in _NUMBERS else _set_binary(column, array, table))
        return starts

    def _check(self, given: dict[str, Any]) -> None:
        """Refuse nulls where none may be, and headers where none can be."""
        headers, key = given.get("headers"), given.get("key")
        if headers is not None:
            self._check_headers(headers)
        if self._options.compacted and (key is None or key.null_count):
            at = 0 if key is None else key.is_null().index(True).as_py()
            raise refused("null_key", "a key that is null", row=self.row + at)

    def _check_headers(self, headers: pa.Array) -> None:
        """Refuse null keys; a list that is null or empty has none, whatever lies beneath it."""
        keys = headers.values.field("key")
        magic = self._options.magic
        if len(keys) > MAX_NUM_HEADERS:
            self._check_counts(headers)
        if magic >= 2 and not keys.null_count:
            return
        check_array("headers", headers, self.row, is_full=True)
        ends = headers.offsets.to_numpy()
        first, last = int(ends[0]), int(ends[-1])
        if magic < 2 and last > first:
            at = int(np.flatnonzero(ends[1:] > first)[0])
            raise refused("headers_below_magic_2", f"headers in magic {magic}", row=self.row + at)
        item = keys.slice(first, last - first).is_null().index(True).as_py()
        if item >= 0:
            at = int(np.flatnonzero(ends[1:] > first + item)[0])
            raise refused("null_header_key", "a header whose key is null", row=self.row + at)

    def _check_counts(self, headers: pa.Array) -> None:
        """Refuse more headers of one record than can be read again."""
        counts = np.diff(headers.offsets.to_numpy())
        if counts.size and counts.max() > MAX_NUM_HEADERS:
            at = int((counts > MAX_NUM_HEADERS).argmax())
            raise refused("too_many_headers", f"{int(counts[at])} headers", row=self.row + at)

    def _check_numbers(self, size: int, offsets: int, timestamps: int) -> None:
        """Check offsets and timestamps at two addresses (0: not given), and say which ones are written."""
        is_given = offsets != 0
        if not is_given and self.next_offset <= self._last_offset:
            found = f"it comes after offset {self._last_offset}"
            raise refused("offset_order", found, offset=self.next_offset, row=self.row)
        if not is_given and self.next_offset > MAX_LONG - size:
            raise refused("negative_offset", "offsets pass 2^63 - 1", offset=self.next_offset, row=self.row)
        self.offsets = offsets or self._counted.ctypes.data
        last = self._last_offset if is_given else self.next_offset - 1
        status = self._checker.check(size, self.offsets, last, timestamps, is_given=is_given)
        if status != SOUND:
            self._refuse(status, self._checker.row)
        self._last_offset = self._checker.last
        self.next_offset = self._last_offset + 1
        replaced = _NO_TIMESTAMPS if timestamps == 0 and self._replaced is None else self._replaced
        self.timestamps = timestamps if replaced is None else replaced.ctypes.data

    def _refuse(self, status: int, row: int) -> None:
        offset, number = self.offset_of(row), self.row + row
        if status == WRONG_TIMESTAMP:
            timestamp = self._given["timestamp"].view(pa.int64())[self._start + row].as_py()
            raise refused("negative_timestamp", f"timestamp {timestamp}", offset=offset, row=number)
        if offset < 0:
            raise refused("negative_offset", "a negative offset", offset=offset, row=number)
        before = self.offset_of(row - 1) if row else self._last_offset
        raise refused("offset_order", f"it comes after offset {before}", offset=offset, row=number)


def _address(array: Any) -> int:
    """Where a column's numbers are, 8 bytes each; 0 for a column that is not there."""
    return 0 if array is None or not len(array) else array.buffers()[1].address + _WORD * array.offset


def _set_absent(column: Column, table: Table | None) -> Iterator[tuple[int, bool]]:
    """A column of nulls, or of lists without anything in them; without a table it has been said before."""
    if table is not None:
        table.set(f"{column.path}_offsets", _ZEROS.ctypes.data, NUM_ROWS + 1)
        if not column.members:
            table.set(f"{column.path}_bytes", *_NOTHING)
            table.set(f"{column.path}_validity", _ZEROS.ctypes.data, NUM_ROWS)
    yield 0, False
    for member in column.members:
        yield from _set_absent(member, table)


def _set_binary(column: Column, array: Any, table: Table) -> tuple[int, bool]:
    validity, offsets, data = array.buffers()
    # An array without items may have no offsets at all.
    place = (_ZEROS.ctypes.data, 1) if offsets is None else (offsets.address, array.offset + len(array) + 1)
    table.set(f"{column.path}_offsets", *place)
    table.set(f"{column.path}_bytes", *_place(data))
    table.set(f"{column.path}_validity", *_place(validity))
    return array.offset, True


def _set_headers(column: Column, array: Any, table: Table) -> list[tuple[int, bool]]:
    """A column of lists of structs, of which none is null."""
    offsets = array.buffers()[1]
    table.set(f"{column.path}_offsets", offsets.address, array.offset + len(array) + 1)
    structs = array.values
    starts = [_set_binary(member, structs.field(member.name), table)[0] for member in column.members]
    return [(array.offset, True), *((start, False) for start in starts)]


def _place(buffer: Any) -> tuple[int, int]:
    return _NOTHING if buffer is None else (buffer.address, buffer.size)
