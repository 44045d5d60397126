"""Arrays that a generated decoder fills, and the Arrow batch made of them.

Strategy: everything is derived from the `RECORD_COLUMNS` of the generated module: the decoder's arrays, their
greatest sizes, and the slots of its state that count their use. A binary column has int32 offsets;
`Capacity.num_bytes` is below 2 GiB, so that no column exceeds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.native import kernels
from kafka_segments.core.native.arena import Lease

__all__ = ["ABSENT", "LARGEST_CAPACITY", "Absent", "Array", "Capacity", "Column", "columns_of", "take_batch"]

COPY_SLACK = (
    256  # bytes after the end of a bytes array that copying may overwrite, so that it need not be exact
)
LARGEST_CAPACITY = 2**31 - 1
_WIDTHS = {"int64": 8, "timestamp[ms, UTC]": 8, "int32": 4, "uint32": 8, "int8": 1, "bool": 1}


@dataclass(frozen=True, slots=True)
class Capacity:
    """Room in a decoder's arrays: rows, bytes (of any one column) and list items."""

    num_rows: int
    num_bytes: int
    num_items: int


@dataclass(frozen=True, slots=True)
class Array:
    """An array of a decoder: `length` elements of `width` bytes.

    Attributes:
        fill: what all bytes are before, None for anything.
        first: what the first element's bytes are before.
    """

    name: str
    width: int
    length: int
    fill: int | None = None
    first: int | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return self.width * self.length


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a generated decoder.

    Attributes:
        name: of the column; arrays are named after it, `path` in front of a member's.
        kind: its Arrow type, in the schema's words.
        slot: where the decoder's state counts what is used: bytes and nulls, or items.
        members: of a list of structs.
        none: the number that stands for none.
        has_views: whether bytes are views into memory that the decoder does not fill.
    """

    name: str
    path: str
    kind: str
    slot: int
    members: tuple[Column, ...] = ()
    none: int | None = None
    has_views: bool = False

    def arrays(self, capacity: Capacity) -> Iterator[Array]:
        """Its arrays."""
        if self.kind == "binary":
            if self.has_views:
                yield Array(f"{self.path}_views", 1, kernels.LEN_VIEW * capacity.num_rows)
            else:
                yield Array(f"{self.path}_offsets", 4, capacity.num_rows + 1, first=0)
                yield Array(f"{self.path}_bytes", 1, capacity.num_bytes + COPY_SLACK)
            # All set: the decoder clears the bits of nulls.
            yield Array(f"{self.path}_validity", 1, capacity.num_rows // 8 + 1, fill=0xFF)
        elif self.members:
            yield Array(f"{self.path}_offsets", 4, capacity.num_rows + 1, first=0)
            items = Capacity(capacity.num_items, capacity.num_bytes, capacity.num_items)
            for member in self.members:
                yield from member.arrays(items)
        else:
            yield Array(f"{self.path}_values", _WIDTHS[self.kind], capacity.num_rows)

    def take(
        self, kind: Any, lease: Lease, state: list[int], num_rows: int, viewed: Sequence[pa.Buffer]
    ) -> pa.Array:
        """Return the column as an Arrow array of type `kind`; `viewed` is what views are of."""
        if self.members:
            return self._take_list(kind, lease, state, num_rows, viewed)
        if self.kind == "binary":
            num_bytes, num_nulls = state[self.slot], state[self.slot + 1]
            buffers = [self._buffer(lease, "validity", num_rows // 8 + 1) if num_nulls else None]
            if self.has_views:
                buffers += [self._buffer(lease, "views", kernels.LEN_VIEW * num_rows), *viewed]
            else:
                buffers.append(self._buffer(lease, "offsets", 4 * (num_rows + 1)))
                buffers.append(self._buffer(lease, "bytes", num_bytes))
            # Of rows that were taken back the nulls are counted too: Arrow counts again if it has to.
            return pa.Array.from_buffers(kind, num_rows, buffers, -1 if num_nulls else 0)
        values = self._buffer(lease, "values", _WIDTHS[self.kind] * num_rows)
        return pa.Array.from_buffers(kind, num_rows, [None, values], 0)

    def num_viewed(self, state: list[int]) -> int:
        """Bytes that its views refer to."""
        if self.kind == "binary":
            return state[self.slot]
        return sum(member.num_viewed(state) for member in self.members)

    def changed(self, state: list[int]) -> Iterator[str]:
        """The arrays that are not as before any more, as far as it matters: validity, where nulls were."""
        if self.kind == "binary" and state[self.slot + 1]:
            yield f"{self.path}_validity"
        for member in self.members:
            yield from member.changed(state)

    def _take_list(
        self, kind: Any, lease: Lease, state: list[int], num_rows: int, viewed: Sequence[pa.Buffer]
    ) -> pa.Array:
        num_items = state[self.slot]
        struct = kind.value_type
        if num_items:
            members = [
                member.take(struct.field(at).type, lease, state, num_items, viewed)
                for at, member in enumerate(self.members)
            ]
            items = pa.Array.from_buffers(struct, num_items, [None], 0, children=members)
        else:
            items = _nothing(struct)
        offsets = self._buffer(lease, "offsets", 4 * (num_rows + 1))
        return pa.Array.from_buffers(kind, num_rows, [None, offsets], 0, children=[items])

    def _buffer(self, lease: Lease, part: str, size: int) -> Any:
        return pa.foreign_buffer(lease.arena.addresses[f"{self.path}_{part}"], size, lease)


class Absent:
    """A column that a format lacks: an empty list in each row, or null."""

    none: int | None = None

    def take(
        self, kind: Any, _lease: Lease, _state: list[int], num_rows: int, _viewed: Sequence[pa.Buffer]
    ) -> pa.Array:
        """Return the column as an Arrow array of type `kind`."""
        if not pa.types.is_list(kind):
            return pa.nulls(num_rows, kind)
        offsets = pa.py_buffer(bytes(4 * (num_rows + 1)))
        return pa.Array.from_buffers(kind, num_rows, [None, offsets], 0, children=[_nothing(kind.value_type)])


ABSENT = Absent()


@cache
def _nothing(kind: Any) -> pa.Array:
    """An empty array, of which there need be only one."""
    return pa.nulls(0, kind)  # pa.array would import pandas


def columns_of(
    described: Sequence[Any], nones: Mapping[str, int] | None = None, *, has_views: bool = False
) -> tuple[Column, ...]:
    """Return the columns of a generated module's `RECORD_COLUMNS`, with their slots in the state.

    Args:
        described: the columns.
        nones: its `RECORD_NONES`, the numbers that stand for none.
        has_views: whether bytes are views.
    """
    numbers = nones or {}
    slot = kernels.COLUMNS

    def column(description: Any, prefix: str) -> Column:
        nonlocal slot
        name, kind, _is_nullable, members = description
        own, path = slot, f"{prefix}{name}"
        slot += 1 if members else 2 * (kind == "binary")
        nested = tuple(column(member, f"{path}_") for member in members)
        return Column(name, path, kind, own, nested, None if prefix else numbers.get(name), has_views)

    return tuple(column(description, "") for description in described)


def take_batch(
    columns: Sequence[Column | Absent],
    schema: Any,
    lease: Lease,
    state: list[int],
    viewed: Sequence[pa.Buffer] = (),
) -> pa.RecordBatch:
    """Return what has been decoded as an Arrow batch; its buffers hold the lease.

    Args:
        columns: those of `schema`.
        schema: of the batch. Numbers that may be null are so where a column has what stands for none.
        lease: of the arena with the columns' arrays.
        state: the decoder's.
        viewed: the buffers that views are of.
    """
    num_rows = state[kernels.RECORD_ROW]
    arrays = []
    for column, field in zip(columns, schema, strict=True):
        array = column.take(field.type, lease, state, num_rows, viewed)
        if field.nullable and column.none is not None:
            array = _with_nulls(array, column.none)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_nulls(array: pa.Array, none: int) -> pa.Array:
    """Numbers, null where a file has what stands for none; there is no bitmap where that is nowhere."""
    if not len(array):
        return array
    numbers = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array
    is_there = np.from_dlpack(numbers) != none  # to_numpy would import pandas
    if is_there.all():
        return array
    validity = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [validity, array.buffers()[1]])
