"""Batches' records to arrow batches, by a generated decoder.

Strategy: the decoder appends to the arrays of an arena until something is full, in the middle of a batch if
need be, and goes on where it stopped in the next one. Arenas have a size that stays in the CPU's cache. Only
a record that is larger than that gets one of its own, as large as its batch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.columnar.arena import Arena, ArenaPool, Lease, pool_of
from kafka_segments.columnar.columns import (
    ABSENT,
    LARGEST_CAPACITY,
    Absent,
    Array,
    Capacity,
    Column,
    columns_of,
    take_batch,
)
from kafka_segments.columnar.schema import STORED
from kafka_segments.native.engine import load_decoder
from kafka_segments_generated.columns import _support as support

__all__ = ["RecordDecoder", "Spans"]

Spans = Any
"""Where records are: an int64 array of (start, end, row of the table) for each batch."""

_CAPACITY = Capacity(num_rows=1 << 16, num_bytes=5 << 19, num_items=1 << 18)
_NUM_STATE = 64


class RecordDecoder:
    """Decodes records of one format into some columns.

    Args:
        module: the generated module, e.g. `kafka_segments_generated.columns.kafka_record`.
        schema: the Arrow schema of what is wanted.
        capacity: of one arrow batch.
        max_items: list items that one record may have.

    Attributes:
        state: the compiled decoder's; see the generated `_support`.
        entry: addresses of the compiled decoder and of its arguments.
    """

    def __init__(
        self, module: ModuleType, schema: pa.Schema, *, capacity: Capacity = _CAPACITY, max_items: int
    ) -> None:
        self._schema = schema
        self._max_items = max_items
        columns = columns_of(module.RECORD_COLUMNS, module.RECORD_NONES)
        wanted = [STORED.get(name, name) for name in schema.names]
        self._columns = [column for column in columns if column.name in wanted]
        by_name: dict[str, Column | Absent] = {column.name: column for column in columns}
        self._fields = [by_name.get(name, ABSENT) for name in wanted]
        self._native = load_decoder(
            module.decoder, **{column.name: column.name in wanted for column in columns}
        )
        self._table = self._native.new_table()
        self.state = np.zeros(_NUM_STATE, np.int64)
        self._table.set("state", self.state.ctypes.data, _NUM_STATE)
        self.entry = self._native.address, self._table.address
        self._capacity = capacity
        self._arrays = _arrays(self._columns, capacity)
        self._all = frozenset(array.name for array in self._arrays)
        self._pool = pool_of(_sizes(self._arrays))
        self._lease: Lease | None = None
        self._arena: Arena | None = None  # that the table of arguments points to
        self._has_refused = False

    @property
    def num_rows(self) -> int:
        """Rows that wait for `flush`."""
        return 0 if self._lease is None else int(self.state[support.RECORD_ROW])

    def decode(
        self,
        data: tuple[int, int],
        batches: tuple[int, int],
        spans: Spans,
        sweep: Callable[[], int] | None = None,
    ) -> Generator[pa.RecordBatch, None, tuple[int, int] | None]:
        """Decode the records of some batches; yields what is full, and keeps the rest for `flush`.

        Args:
            data: address and size of the bytes that hold the records.
            batches: address and length of the scan's table.
            spans: in `data`, and in the table.
            sweep: calls the decoder instead of this, fills `spans`, and says in the state how many there are.

        Returns:
            None if all was decoded; else the number of the batch whose records are not sound or too many
            for one row, and how many of them were yielded before (those in this arena are taken back).
        """
        state = self.state
        state[support.BATCH] = state[support.RECORD] = 0
        state[support.NUM_BATCHES] = len(spans) if sweep is None else 0
        self._table.set("data", *data)
        self._table.set("batches", *batches)
        self._table.set("spans", spans.ctypes.data, spans.size)
        flushed = (0, 0)
        while True:
            self._ensure_arena()
            status = self._native(self._table) if sweep is None else sweep()
            if status == support.DONE:
                return None
            batch, record = int(state[support.BATCH]), int(state[support.RECORD])
            if status != support.FULL:
                return self._take_back(batch, record, flushed)
            if self.num_rows == 0:
                if not self._enlarge(int(spans[batch, 1] - spans[batch, 0])):
                    return self._take_back(batch, record, flushed)
                continue
            yield self._flush()
            flushed = batch, record

    def run(self) -> int:
        """Call the compiled decoder, for somebody who sweeps."""
        return self._native(self._table)

    def overwrite(self, name: str, row: int, values: Any) -> None:
        """Replace what was decoded of a column of numbers, from a row on; nothing if nobody wants it."""
        array = next((array for array in self._arrays if array.name == f"{name}_values"), None)
        if array is None or self._arena is None or not len(values):
            return
        place = self._arena.addresses[array.name] + row * array.width
        narrowed = np.ascontiguousarray(values, f"i{array.width}")
        ctypes.memmove(place, narrowed.ctypes.data, narrowed.nbytes)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that wait, if there are any."""
        if self.num_rows:
            yield self._flush()

    def _flush(self) -> pa.RecordBatch:
        assert self._lease is not None
        numbers = self.state.tolist()
        batch = take_batch(self._fields, self._schema, self._lease, numbers)
        if not self._has_refused:
            # Sound records left everything as it was before, but for the bits of nulls, which are counted.
            changed = frozenset(name for one in self._columns for name in one.changed(numbers))
            self._lease.arena.dirty = changed
        self._lease = None
        return batch

    def _take_back(self, batch: int, record: int, flushed: tuple[int, int]) -> tuple[int, int]:
        """Forget the rows of a batch that could not be decoded, so far as they were not flushed."""
        self._has_refused = True  # what it wrote before it noticed, nobody counted
        num_flushed = flushed[1] if flushed[0] == batch else 0
        self.state[support.RECORD_ROW] -= record - num_flushed
        if self.num_rows == 0:
            self._lease = None  # what else was counted and written for those rows goes with the arena
        return batch, num_flushed

    def _ensure_arena(self) -> None:
        if self._lease is None:
            self._use(self._pool.take(), self._capacity, self._arrays)

    def _enlarge(self, len_records: int) -> bool:
        """Take arrays that hold any record of a batch of this size; False if these are such already."""
        capacity = Capacity(
            self._capacity.num_rows,
            min(max(len_records, self._capacity.num_bytes), LARGEST_CAPACITY),
            max(self._max_items, self._capacity.num_items),
        )
        if capacity.num_bytes <= self.state[support.MAX_BYTES] and (
            capacity.num_items <= self.state[support.MAX_ITEMS]
        ):
            return False
        arrays = _arrays(self._columns, capacity)
        self._use(ArenaPool(_sizes(arrays)).take(), capacity, arrays)
        return True

    def _use(self, lease: Lease, capacity: Capacity, arrays: Sequence[Array]) -> None:
        self._lease = lease
        self._has_refused = False
        state = self.state
        state[support.RECORD_ROW] = state[support.NUM_BYTES] = 0
        state[support.COLUMNS :] = 0
        state[support.RECORD_MAX_ROWS] = capacity.num_rows
        state[support.MAX_BYTES] = capacity.num_bytes
        state[support.MAX_ITEMS] = capacity.num_items
        arena = lease.arena
        if arena is not self._arena:
            self._arena = arena
            for array in arrays:
                self._table.set(array.name, arena.addresses[array.name], array.length)
        if arena.dirty:
            _prepare(arena, arrays)
        arena.dirty = self._all  # until it is known which are not


def _arrays(columns: Sequence[Column], capacity: Capacity) -> tuple[Array, ...]:
    return tuple(array for column in columns for array in column.arrays(capacity))


def _prepare(arena: Arena, arrays: Sequence[Array]) -> None:
    for array in arrays:
        if array.name not in arena.dirty:
            continue
        address = arena.addresses[array.name]
        if array.fill is not None:
            ctypes.memset(address, array.fill, array.size)
        if array.first is not None:
            ctypes.memset(address, array.first, array.width)


def _sizes(arrays: Sequence[Array]) -> tuple[tuple[str, int], ...]:
    return tuple((array.name, array.size) for array in arrays)
