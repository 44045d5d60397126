"""Arrow columns as the arrays of an encoder, and the checks before encoding.

Strategy: nothing is copied; the encoder gets the addresses of each column's buffers, and the first row in
them. Rows are processed in windows, so that absent columns (counted offsets, missing timestamps, null keys)
can come from small arrays that are reused. Its numbers are checked in a compiled loop right before they are
encoded: then they are in the CPU's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import ENC_COLUMNS, Longs, load, rare, store
from kafka_segments.core.segment.columnar.record_columns import Column, columns_of
from kafka_segments.core.segment.records.batch_records import MAX_NUM_HEADERS
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.inputs import Incoming, check_array
from kafka_segments.write.refusals import refused

__all__ = ["NUM_ROWS", "Windows", "check_loop"]

NUM_ROWS = 1 << 14
"""Rows of a window: offsets and timestamps stay in the CPU's L2 cache between check and encoder."""

_NOTHING = (0, 0)
_BYTES, _NUMBERS = ("key", "value"), ("offset", "timestamp")
_WORD = 8  # bytes of a number
_ZEROS = np.zeros(NUM_ROWS + 1, np.int64)
_NO_TIMESTAMPS = np.full(NUM_ROWS, -1, np.int64)


class Windows:
    """Windows over Arrow batches, for one encoder.

    Args:
        module: of the encoder.
        options: of the batches.
        next_offset: of the next record, if there is no column of offsets.
        last_offset: all offsets must be greater.

    Attributes:
        row: number of rows that are done.
        next_offset: the offset after the last record.
        offsets: address of the window's offsets; `timestamps` likewise, as they are written.
    """

    def __init__(self, module: Any, options: BatchOptions, next_offset: int, last_offset: int) -> None:
        self._options = options
        self._columns = columns_of(module.ENCODED_COLUMNS)
        self._check_loop, self._state = Compiled(check_loop), np.zeros(WRONG + 1, np.int64)
        self._check_loop.set("state", self._state)
        self.row = 0
        self.next_offset, self._last_offset = next_offset, last_offset
        self._counted = np.zeros(NUM_ROWS, np.int64)
        self._replaced = self._replacement(options)
        self.offsets = self.timestamps = 0
        self._arrays: dict[str, Any] = {}
        self._start = 0
        self._absent: set[str] = set()  # columns already set as absent in the encoder's arguments

    def _replacement(self, options: BatchOptions) -> Any:
        """Return the timestamps that replace those of the records; None to keep these."""
        if options.magic == 1 and options.is_append_time:
            return np.full(NUM_ROWS, options.log_append_time, np.int64)
        return _NO_TIMESTAMPS if options.magic == 0 else None

    def restart(self, next_offset: int, last_offset: int) -> None:
        """Start again with records that need not follow those before; arguments as for the class."""
        self.next_offset, self._last_offset = next_offset, last_offset

    def iter_windows(self, incoming: Incoming, encoder: Compiled, state: Any) -> Iterator[int]:
        """Prepare the encoder for one window after the other; yield each one's number of rows.

        Args:
            incoming: records.
            encoder: of the records.
            state: the encoder's state.

        Raises:
            EncodeError: a record that Kafka would refuse.
        """
        self._arrays = arrays = incoming.columns
        starts = self._set_columns(arrays, encoder)
        offsets, timestamps = _address(arrays.get("offset")), _address(arrays.get("timestamp"))
        self._check(arrays)
        for start in range(0, incoming.num_rows, NUM_ROWS):
            size = min(NUM_ROWS, incoming.num_rows - start)
            self._start = start
            for at, (first, moves) in enumerate(starts):
                state[ENC_COLUMNS + at] = first + start if moves else first
            self._check_numbers(
                size, offsets and offsets + start * _WORD, timestamps and timestamps + start * _WORD
            )
            encoder.place("offset_values", self.offsets, size)
            encoder.place("timestamp_values", self.timestamps, size)
            yield size
            self.row += size

    def offset_of(self, row: int) -> int:
        """Return the offset of a row of the window."""
        offsets = self._arrays.get("offset")
        return int(self._counted[row]) if offsets is None else int(offsets[self._start + row].as_py())

    def check_arrays(self) -> None:
        """Check columns for offsets outside their buffers, before a message reads their values.

        Raises:
            EncodeError: such a column.
        """
        for name, column in self._arrays.items():
            check_array(name, column, self.row - self._start, is_full=True)

    def num_bytes(self, row: int) -> int:
        """Return the bytes of key, value and headers of a row of the window."""
        at = self._start + row
        arrays = [column.slice(at, 1) for name, column in self._arrays.items() if name in _BYTES]
        if "headers" in self._arrays:
            headers = self._arrays["headers"].slice(at, 1).flatten()
            arrays += [headers.field(0), headers.field(1)]
        return sum(len(value) for array in arrays for value in array.to_pylist() if value)

    def num_headers(self, row: int) -> int:
        """Return the number of headers of a row of the window."""
        headers = self._arrays.get("headers")
        return 0 if headers is None else len(headers[self._start + row])

    def _set_columns(self, arrays: dict[str, Any], encoder: Compiled) -> list[tuple[int, bool]]:
        """Set the columns' addresses; return each one's first row, and whether it advances with rows."""
        starts: list[tuple[int, bool]] = []
        for column in self._columns:
            array = arrays.get(column.name)
            if array is None and column.name not in _NUMBERS:
                is_set = column.name in self._absent
                self._absent.add(column.name)
                starts += _set_absent(column, None if is_set else encoder)
                continue
            self._absent.discard(column.name)
            if column.members:
                starts += _set_headers(column, array, encoder)
            else:
                starts.append((0, False) if column.name in _NUMBERS else _set_binary(column, array, encoder))
        return starts

    def _check(self, arrays: dict[str, Any]) -> None:
        """Refuse null keys in compacted topics, and headers that the format or a reader does not allow."""
        headers, key = arrays.get("headers"), arrays.get("key")
        if headers is not None:
            self._check_headers(headers)
        if self._options.compacted and (key is None or key.null_count):
            at = 0 if key is None else key.is_null().index(True).as_py()
            raise refused("null_key", "a key that is null", row=self.row + at)

    def _check_headers(self, headers: pa.Array) -> None:
        """Refuse headers in magic 0 and 1, and null header keys; null and empty lists hold none."""
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
        """Refuse a record with more headers than can be read back."""
        counts = np.diff(headers.offsets.to_numpy())
        if counts.size and counts.max() > MAX_NUM_HEADERS:
            at = int((counts > MAX_NUM_HEADERS).argmax())
            raise refused("too_many_headers", f"{int(counts[at])} headers", row=self.row + at)

    def _check_numbers(self, size: int, offsets: int, timestamps: int) -> None:
        """Check offsets and timestamps at two addresses (0: absent), and set those that are written."""
        is_given = offsets != 0
        if not is_given and self.next_offset <= self._last_offset:
            found = f"it comes after offset {self._last_offset}"
            raise refused("offset_order", found, offset=self.next_offset, row=self.row)
        if not is_given and self.next_offset > MAX_LONG - size:
            raise refused("negative_offset", "offsets pass 2^63 - 1", offset=self.next_offset, row=self.row)
        self.offsets = offsets or self._counted.ctypes.data
        last = self._last_offset if is_given else self.next_offset - 1
        self._state[:] = size, is_given, last, timestamps != 0, 0
        self._check_loop.place("offsets", self.offsets, size)
        self._check_loop.place("timestamps", timestamps, size)
        status = self._check_loop()
        if status != SOUND:
            self._refuse(status, int(self._state[WRONG]))
        self._last_offset = int(self._state[LAST])
        self.next_offset = self._last_offset + 1
        replaced = _NO_TIMESTAMPS if timestamps == 0 and self._replaced is None else self._replaced
        self.timestamps = timestamps if replaced is None else replaced.ctypes.data

    def _refuse(self, status: int, row: int) -> None:
        offset, number = self.offset_of(row), self.row + row
        if status == WRONG_TIMESTAMP:
            timestamp = self._arrays["timestamp"].view(pa.int64())[self._start + row].as_py()
            raise refused("negative_timestamp", f"timestamp {timestamp}", offset=offset, row=number)
        if offset < 0:
            raise refused("negative_offset", "a negative offset", offset=offset, row=number)
        before = self.offset_of(row - 1) if row else self._last_offset
        raise refused("offset_order", f"it comes after offset {before}", offset=offset, row=number)


def _address(array: Any) -> int:
    """Return the address of a column's 8-byte numbers; 0 for an absent column."""
    return 0 if array is None or not len(array) else array.buffers()[1].address + _WORD * array.offset


def _set_absent(column: Column, encoder: Compiled | None) -> Iterator[tuple[int, bool]]:
    """Set a column of nulls or of empty lists; with `encoder` None it has been set before."""
    if encoder is not None:
        encoder.place(f"{column.path}_offsets", _ZEROS.ctypes.data, NUM_ROWS + 1)
        if not column.members:
            encoder.place(f"{column.path}_bytes", *_NOTHING)
            encoder.place(f"{column.path}_validity", _ZEROS.ctypes.data, NUM_ROWS)
    yield 0, False
    for member in column.members:
        yield from _set_absent(member, encoder)


def _set_binary(column: Column, array: Any, encoder: Compiled) -> tuple[int, bool]:
    validity, offsets, data = array.buffers()
    # An array without items may have no offsets at all.
    place = (_ZEROS.ctypes.data, 1) if offsets is None else (offsets.address, array.offset + len(array) + 1)
    encoder.place(f"{column.path}_offsets", *place)
    encoder.place(f"{column.path}_bytes", *_place(data))
    encoder.place(f"{column.path}_validity", *_place(validity))
    return array.offset, True


def _set_headers(column: Column, array: Any, encoder: Compiled) -> list[tuple[int, bool]]:
    """Set a column of lists of non-null structs."""
    offsets = array.buffers()[1]
    encoder.place(f"{column.path}_offsets", offsets.address, array.offset + len(array) + 1)
    structs = array.values
    starts = [_set_binary(member, structs.field(member.name), encoder)[0] for member in column.members]
    return [(array.offset, True), *((start, False) for start in starts)]


def _place(buffer: Any) -> tuple[int, int]:
    return _NOTHING if buffer is None else (buffer.address, buffer.size)


# Slots of the loop's state: rows; whether the data have offsets, or they are counted; the offset before them;
# whether the data have timestamps. Output: the last offset, and the invalid row.
CHECKED_ROWS, IS_GIVEN, LAST, HAS_TIMES, WRONG = range(5)

SOUND, WRONG_OFFSET, WRONG_TIMESTAMP = range(3)


def check_loop() -> Callable[..., int]:
    """Return a function that checks or counts the offsets of some rows, and checks their timestamps.

    Offsets must increase, and timestamps be -1 or more. Offsets that the data lack are counted.
    """

    def check(state: Longs, offsets: Longs, timestamps: Longs) -> int:
        num_rows, last = load(state, CHECKED_ROWS), load(state, LAST)
        if load(state, IS_GIVEN) != 0:
            for row in range(num_rows):
                offset = load(offsets, row)
                if rare(offset <= last):
                    store(state, WRONG, row)
                    return WRONG_OFFSET
                last = offset
        else:
            for row in range(num_rows):
                store(offsets, row, last + 1 + row)
            last += num_rows
        store(state, LAST, last)
        if load(state, HAS_TIMES) != 0:
            for row in range(num_rows):
                if rare(load(timestamps, row) < -1):
                    store(state, WRONG, row)
                    return WRONG_TIMESTAMP
        return SOUND

    return check
