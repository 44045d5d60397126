"""Arrow batches over a decoder's arrays, each by one import through Arrow's C data interface.

Strategy: a batch is a tree of C structures with the addresses of its buffers. Its form depends on the columns
alone, so it is laid out once for each arena, in the arena itself. For each batch a few words of it are set,
and Arrow imports it. Arrow's Python classes take a call for each buffer and each array, which is twice as
long, the more so after a decoder has filled the CPU's caches with data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.native.arena import Arena, Lease
from kafka_segments.core.native.engine import address_of
from kafka_segments.core.native.kernels import RECORD_ROW
from kafka_segments.core.segment.columnar.record_columns import Array, Capacity, Column

__all__ = ["MOST_VIEWED_BUFFERS", "BatchForm"]

MOST_VIEWED_BUFFERS = 64
"""Buffers that the views of one batch may refer to."""

# The words of a `struct ArrowArray`; and how many.
_LENGTH, _NULL_COUNT, _, _NUM_BUFFERS, _NUM_CHILDREN, _BUFFERS, _CHILDREN = range(7)
_DICTIONARY, _RELEASE, _PRIVATE, _NUM_WORDS = range(7, 11)

_ABSENT, _TREE = "absent", "tree"  # arrays: of zeros, for columns that a format lacks; of the structures
_ANY_TYPE = pa.int8()

# Arrow imports no structure without a function that releases it, but calls only that of the batch. This one
# stands for the others; it does nothing.
_NO_RELEASE = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value or 0


class BatchForm:
    """The form of the batches of one schema.

    Args:
        columns: of a decoder, one for each field; None where the format lacks it. Rows then have an empty
            list, or null.
        schema: of the batches. Numbers that may be null are so where a column has what stands for none.
    """

    def __init__(self, columns: Sequence[Column | None], schema: pa.Schema) -> None:
        self._schema = schema
        self._words: list[int] = []
        self._pointers: list[int] = []  # words with a place in the tree
        self._addresses: dict[int, str] = {}  # words with the address of an array
        self._lengths: list[tuple[int, int]] = []  # words with a length; where the decoder's state counts it
        self._nulls: list[tuple[int, int, int, str]] = []  # words with null count and validity; state; array
        self._nones: list[tuple[Column, int, int]] = []  # columns of numbers, and the same two words
        self._views: list[tuple[int, int]] = []  # structures, and words from the third buffer on
        self._structs: list[int] = []
        root = self._struct(RECORD_ROW, [""], len(schema))
        for number, (column, field) in enumerate(zip(columns, schema, strict=True)):
            self._point(self._words[root + _CHILDREN] + number, self._node(field, column, RECORD_ROW))
        self._sizes = self._reserve(MOST_VIEWED_BUFFERS)
        self._holder = self._reserve(_NUM_WORDS)

    def arrays(self, capacity: Capacity) -> Iterator[Array]:
        """The arrays that batches need beside the decoder's."""
        for column, _count, _validity in self._nones:
            yield Array(f"{column.path}_validity", 1, capacity.num_rows // 8 + 1)
        if _ABSENT in self._addresses.values():
            yield Array(_ABSENT, 8, capacity.num_rows + 1, fill=0)
        yield Array(_TREE, 8, len(self._words))

    def take(self, lease: Lease, state: Sequence[int], viewed: Sequence[memoryview] = ()) -> pa.RecordBatch:
        """Return what has been decoded as an Arrow batch.

        Args:
            lease: of the arena with the decoder's arrays and those of `arrays`; held by the batch.
            state: the decoder's.
            viewed: what views are of; held by the batch.
        """
        lease.held, arena = viewed, lease.arena
        if arena.form is not self:
            self._lay_out(arena)
        tree, address = arena.tree, arena.addresses[_TREE]
        for word, slot in self._lengths:
            tree[word] = state[slot]
        for count, validity, slot, name in self._nulls:
            tree[count], tree[validity] = (-1, arena.addresses[name]) if state[slot] else (0, 0)
        for column, count, validity in self._nones:
            if _mark_nulls(column, arena, state[RECORD_ROW]):
                tree[count], tree[validity] = -1, arena.addresses[f"{column.path}_validity"]
            else:
                tree[count] = tree[validity] = 0
        for struct, buffers in self._views:
            tree[struct + _NUM_BUFFERS] = 3 + len(viewed)
            for number, one in enumerate(viewed):
                tree[buffers + number], tree[self._sizes + number] = address_of(one), len(one)
            tree[buffers + len(viewed)] = address + 8 * self._sizes
        for struct in self._structs:
            tree[struct + _RELEASE] = _NO_RELEASE
        # Of an array that holds the lease the batch gets what releases it.
        holder: Any = pa.Array.from_buffers(_ANY_TYPE, 0, [None, pa.foreign_buffer(address, 0, lease)])
        holder._export_to_c(address + 8 * self._holder)  # noqa: SLF001 - Arrow's documentation uses both
        tree[_RELEASE], tree[_PRIVATE] = tree[self._holder + _RELEASE], tree[self._holder + _PRIVATE]
        batch: pa.RecordBatch = pa.RecordBatch._import_from_c(address, self._schema)  # noqa: SLF001
        for struct in self._structs:
            tree[struct + _RELEASE] = 0
        return batch

    def _lay_out(self, arena: Arena) -> None:
        words = arena.array(_TREE, 8, len(self._words))
        words[:] = self._words
        words[self._pointers] = arena.addresses[_TREE] + 8 * words[self._pointers]
        for word, name in self._addresses.items():
            words[word] = arena.addresses[name]
        arena.form, arena.tree = self, memoryview(words)

    def _node(self, field: pa.Field, column: Column | None, slot: int | None) -> int:
        """Lay out the array of a field, and return its place.

        Args:
            field: with its type.
            column: with its arrays; None has no values.
            slot: where the decoder's state counts its items; None has none.
        """
        kind = field.type
        if pa.types.is_list(kind):
            return self._list(kind.value_type, column, slot)
        if column is None:
            return self._struct(slot, [_ABSENT] * (3 if kind == pa.binary_view() else kind.num_buffers))
        if column.kind != "binary":
            node = self._struct(slot, ["", f"{column.path}_values"])
            if field.nullable and column.none is not None:
                self._nones.append((column, node + _NULL_COUNT, self._words[node + _BUFFERS]))
            return node
        parts = ("validity", "views") if column.has_views else ("validity", "offsets", "bytes")
        node = self._struct(slot, [f"{column.path}_{part}" for part in parts])
        if column.has_views:
            self._views.append((node, self._words[node + _BUFFERS] + len(parts)))
            self._reserve(MOST_VIEWED_BUFFERS + 1)
        # Of rows that were taken back the nulls are counted too: Arrow counts again if it has to.
        words = node + _NULL_COUNT, self._words[node + _BUFFERS]
        self._nulls.append((*words, column.slot + 1, f"{column.path}_validity"))
        return node

    def _list(self, kind: pa.StructType, column: Column | None, slot: int | None) -> int:
        members: Sequence[Column | None] = column.members if column else [None] * len(kind)
        items = column.slot if column else None
        struct = self._struct(items, [""], len(members))
        for number, member in enumerate(members):
            self._point(
                self._words[struct + _CHILDREN] + number, self._node(kind.field(number), member, items)
            )
        node = self._struct(slot, ["", f"{column.path}_offsets" if column else _ABSENT], 1)
        self._point(self._words[node + _CHILDREN], struct)
        return node

    def _struct(self, slot: int | None, buffers: Sequence[str], num_children: int = 0) -> int:
        """Lay out a structure, then the pointers to its children, and to buffers by their arrays."""
        node = self._reserve(_NUM_WORDS)
        self._structs.append(node)
        self._lengths += [] if slot is None else [(node + _LENGTH, slot)]
        self._words[node + _NULL_COUNT] = -1 if _ABSENT in buffers[:1] else 0
        self._words[node + _NUM_BUFFERS], self._words[node + _NUM_CHILDREN] = len(buffers), num_children
        self._point(node + _CHILDREN, self._reserve(num_children))
        self._point(node + _BUFFERS, self._reserve(len(buffers)))
        named = enumerate(buffers, self._words[node + _BUFFERS])
        self._addresses |= {word: name for word, name in named if name}
        return node

    def _reserve(self, num_words: int) -> int:
        self._words += [0] * num_words
        return len(self._words) - num_words

    def _point(self, word: int, place: int) -> None:
        self._words[word] = place
        self._pointers.append(word)


def _mark_nulls(column: Column, arena: Arena, num_rows: int) -> bool:
    """Set the bits of numbers' validity unless none of these stands for none; return whether one does."""
    is_there = arena.array(f"{column.path}_values", column.width, num_rows) != column.none
    if is_there.all():
        return False
    bits = np.packbits(is_there, bitorder="little")
    arena.array(f"{column.path}_validity", 1, len(bits))[:] = bits.view(np.int8)
    return True
