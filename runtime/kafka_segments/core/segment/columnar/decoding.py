"""Decoding of batches' records to Arrow batches, by a generated decoder.

Strategy: the decoder appends to the arrays of an arena until one is full, in the middle of a batch if need
be, and continues with the next arena. Arenas have a size that stays in the CPU's cache. Only a larger record
gets an arena of its own, as large as its batch.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_segments.core.native import kernels
from kafka_segments.core.native.arena import Arena, ArenaPool, Lease, pool_of
from kafka_segments.core.native.engine import Compiled, address_of
from kafka_segments.core.segment.columnar.arrow_schema import has_views, stored_names
from kafka_segments.core.segment.columnar.batch_form import BatchForm
from kafka_segments.core.segment.columnar.record_columns import (
    LARGEST_CAPACITY,
    Array,
    Capacity,
    columns_of,
)
from kafka_segments.core.segment.columnar.viewed_bytes import ViewedBytes, copied
from kafka_segments.core.segment.records.batch_records import RecordPlace

__all__ = ["RecordDecoder", "Spans", "Stop"]


class Stop(NamedTuple):
    """A batch that could not be decoded to its end, and where decoding continues; see `RecordPlace`."""

    batch: int
    start: RecordPlace


Spans = Any
"""Where records are: an int64 array of (start, end, row of the table) for each batch."""

_CAPACITY = Capacity(num_rows=1 << 17, num_bytes=5 << 20, num_items=1 << 18)
_NUM_STATE = 64


class RecordDecoder:
    """Decoder of records of one format into some columns.

    Args:
        module: the generated module, e.g. `kafka_segments_generated.columns.kafka_record`.
        schema: the Arrow schema of the result.
        capacity: of one arrow batch.
        max_items: list items of one record at most.

    Attributes:
        max_items: as above; may be changed before a batch is decoded.
        state: the compiled decoder's; see `native.kernels`.
        entry: addresses of the compiled decoder and of its arguments.
    """

    def __init__(
        self,
        module: ModuleType,
        schema: pa.Schema,
        *,
        capacity: Capacity = _CAPACITY,
        max_items: int,
    ) -> None:
        self.max_items = max_items
        self._viewed = ViewedBytes() if has_views(schema) else None
        is_viewed = self._viewed is not None
        columns = columns_of(module.RECORD_COLUMNS, module.RECORD_NONES, has_views=is_viewed)
        wanted = stored_names(schema)
        self._columns = [column for column in columns if column.name in wanted]
        by_name = {column.name: column for column in columns}
        self._form = BatchForm([by_name.get(name) for name in wanted], schema)
        options = {name: name in wanted for name in _options_of(module.decoder)}
        if "views" in options:
            options["views"] = is_viewed
        self.state = np.zeros(_NUM_STATE, np.int64)
        self._native = Compiled(module.decoder, **options)
        self._native.set("state", self.state)
        self.entry = self._native.entry
        self._capacity = capacity
        self._arrays = self._arrays_for(capacity)
        self._all = frozenset(array.name for array in self._arrays)
        self._pool = pool_of(_sizes(self._arrays))
        self._lease: Lease | None = None
        self._arena: Arena | None = None  # that the table of arguments points to
        self._has_refused = False

    @property
    def num_rows(self) -> int:
        """Number of decoded rows that are not flushed."""
        return 0 if self._lease is None else int(self.state[kernels.RECORD_ROW])

    def decode(
        self,
        data: memoryview,
        batches: tuple[int, int],
        spans: Spans,
        fused: Callable[[], int] | None = None,
        *,
        is_lent: bool = False,
    ) -> Generator[pa.RecordBatch, None, Stop | None]:
        """Decode the records of some batches; yields what is full, and keeps the rest for `flush`.

        Args:
            data: the bytes that hold the records; views of them hold its memory.
            batches: address and length of the scan's table.
            spans: in `data`, and in the table.
            fused: calls the decoder instead of this, fills `spans`, and says in the state how many there are.
            is_lent: whether `data` is memory of the caller, see `ViewedBytes`.

        Returns:
            None if all was decoded; else where it stopped: before a record that is damaged or too large for
            one row, or after the last record. Then the caller must flush what was decoded.
        """
        state = self.state
        state[kernels.BATCH] = state[kernels.RECORD] = 0
        state[kernels.NUM_BATCHES] = len(spans) if fused is None else 0
        self._native.place("data", address_of(data), len(data))
        self._native.place("batches", *batches)
        self._native.set("spans", spans)
        if self._viewed is not None and not self.num_rows:
            self._viewed.clear()
        elif self._viewed is not None and self._viewed.is_full(0 if is_lent else len(data)):
            yield self._flush()
        while True:
            self._ensure_arena()
            if self._viewed is not None:
                state[kernels.BUFFER] = self._viewed.number_of(data, is_lent=is_lent)
            status = self.run() if fused is None else fused()
            if status == kernels.DONE:
                return None
            batch = int(state[kernels.BATCH])
            if status != kernels.FULL:
                return self._stop(spans[batch : batch + 1], batch)
            if self.num_rows == 0:
                if not self._enlarge(int(spans[batch, 1] - spans[batch, 0])):
                    return self._stop(spans[batch : batch + 1], batch)
                continue
            assert self._arena is not None
            self._arena.is_full = True
            yield self._flush()

    def run(self) -> int:
        """Call the compiled decoder, for a caller with a loop of its own."""
        return self._native()

    def hold(self, data: memoryview) -> None:
        """Hold no more for views than this, the first part of the bytes that hold the records."""
        if self._viewed is not None:
            self._viewed.hold(data)

    def overwrite(self, name: str, row: int, values: Any) -> None:
        """Replace the decoded numbers of a column from a row on; no effect if it is not selected."""
        array = next((array for array in self._arrays if array.name == f"{name}_values"), None)
        if array is None or self._arena is None or not len(values):
            return
        decoded = self._arena.array(array.name, array.width, row + len(values))
        decoded[row:] = values

    def values(self, name: str, row: int) -> Any:
        """Return the decoded numbers of a column of int64, from a row on; valid until the next call."""
        count = self.num_rows - row
        if count <= 0 or self._arena is None:
            return np.empty(0, np.int64)
        return self._arena.array(f"{name}_values", 8, row + count)[row:]

    def discard(self) -> None:
        """Forget the decoded rows, which the caller has read with `values`; their memory is used again."""
        if self._lease is not None:
            self.state[kernels.RECORD_ROW] = self.state[kernels.NUM_BYTES] = 0
            self.state[kernels.COLUMNS :] = 0

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield the decoded rows, if there are any."""
        if self.num_rows:
            yield self._flush()

    def _flush(self) -> pa.RecordBatch:
        assert self._lease is not None
        numbers = self.state.tolist()
        if self._viewed is None:
            batch = self._form.take(self._lease, numbers)
        else:
            batch = self._take_views(self._lease, self._viewed, numbers)
        if not self._has_refused:
            # Sound records left everything as it was before, but for the bits of nulls, which are counted.
            changed = frozenset(name for one in self._columns for name in one.changed(numbers))
            self._lease.arena.dirty = changed
        self._lease = None
        return batch

    def _take_views(self, lease: Lease, viewed: ViewedBytes, numbers: list[int]) -> pa.RecordBatch:
        """Return a batch with views; with bytes of its own if it would hold too much."""
        num_viewed = sum(column.num_viewed(numbers) for column in self._columns)
        num_views = numbers[kernels.RECORD_ROW] * len(self._columns)
        is_too_much = num_viewed > 0 and viewed.is_too_much(num_viewed, num_views)
        buffers = viewed.take()
        batch = self._form.take(lease, numbers, buffers if num_viewed else ())
        return copied(batch) if is_too_much else batch

    def _stop(self, span: Spans, batch: int) -> Stop:
        """Return where the decoder stopped in a batch that it could not decode to its end."""
        self._has_refused = True  # what it wrote of the next record is not counted
        if self.num_rows == 0:
            self._lease = None  # and goes with the arena
            if self._viewed is not None:
                self._viewed.clear()
        num_records = int(self.state[kernels.RECORD])
        place = int(self.state[kernels.PLACE] - span[0, 0]) if num_records else 0
        return Stop(batch, RecordPlace(num_records, place))

    def _ensure_arena(self) -> None:
        if self._lease is None:
            self._use(self._pool.take(), self._capacity, self._arrays)

    def _enlarge(self, len_records: int) -> bool:
        """Take arrays for any record of a batch of this size; return False if they are large enough."""
        capacity = Capacity(
            self._capacity.num_rows,
            min(max(len_records, self._capacity.num_bytes), LARGEST_CAPACITY),
            max(self.max_items, self._capacity.num_items),
        )
        if capacity.num_bytes <= self.state[kernels.MAX_BYTES] and (
            capacity.num_items <= self.state[kernels.MAX_ITEMS]
        ):
            return False
        arrays = self._arrays_for(capacity)
        self._use(ArenaPool(_sizes(arrays)).take(), capacity, arrays)
        return True

    def _arrays_for(self, capacity: Capacity) -> tuple[Array, ...]:
        decoded = (array for column in self._columns for array in column.arrays(capacity))
        return (*decoded, *self._form.arrays(capacity))

    def _use(self, lease: Lease, capacity: Capacity, arrays: Sequence[Array]) -> None:
        self._lease = lease
        self._has_refused = False
        state = self.state
        state[kernels.RECORD_ROW] = state[kernels.NUM_BYTES] = 0
        state[kernels.COLUMNS :] = 0
        state[kernels.RECORD_MAX_ROWS] = capacity.num_rows
        state[kernels.MAX_BYTES] = capacity.num_bytes
        state[kernels.MAX_ITEMS] = capacity.num_items
        arena = lease.arena
        if arena is not self._arena:
            self._arena = arena
            for array in arrays:
                if array.name in self._native.parameters:
                    self._native.place(array.name, arena.addresses[array.name], array.length)
        if arena.dirty:
            _prepare(arena, arrays)
        arena.dirty = self._all  # until it is known which are not


@cache
def _options_of(decoder: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(decoder).parameters)


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
