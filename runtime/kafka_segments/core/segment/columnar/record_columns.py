"""Arrays that a generated decoder fills.

Strategy: everything is derived from the `RECORD_COLUMNS` of the generated module: the decoder's arrays, their
greatest sizes, and the slots of its state that count their use. A binary column has int32 offsets;
`Capacity.num_bytes` is below 2 GiB, so that no column exceeds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.core.native import kernels

__all__ = ["LARGEST_CAPACITY", "Array", "Capacity", "Column", "columns_of"]

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
            yield Array(f"{self.path}_values", self.width, capacity.num_rows)

    @property
    def width(self) -> int:
        """Bytes of a number."""
        return _WIDTHS[self.kind]

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
