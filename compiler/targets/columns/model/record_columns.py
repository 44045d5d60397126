"""The columns of a record: names, types, arrays, and counters in the decoder's state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.frontend.model import Column, Field, Model, Struct, UserType, ValueInstance
from compiler.targets.columns.model.row_files import structs_in
from compiler.targets.columns.model.segment_layout import is_part, unsupported

__all__ = ["RecordColumn", "described", "nones", "record_columns"]

_ARRAYS = {"int64": "Longs", "timestamp[ms, UTC]": "Longs", "int32": "Ints", "int8": "Tinies"}
_ARRAYS |= {"float64": "Longs", "float32": "Ints"}  # their bits
_BYTES = ("binary", "utf8")
_BINARY = (("offsets", "Ints"), ("bytes", "Bytes"), ("validity", "Bytes"))


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """A column of a decoder.

    Attributes:
        name: of the column.
        path: prefix of its arrays' names: the column's name, after that of the list that it is a member of.
        kind: its Arrow type.
        nullable: whether it may be null.
        member: the field or value instance that it holds.
        inside: the fields that lead from the record to the member's struct.
        members: of a list of structs.
        slot: its place in the state, after `COLUMNS`.
        none: the number that stands for none, of which readers make a null.
        has_views: whether bytes may also be views into the data, in an array of their own.
    """

    name: str
    path: str
    kind: str
    nullable: bool
    member: Field | ValueInstance
    inside: tuple[str, ...]
    members: tuple[RecordColumn, ...]
    slot: int
    none: int | None = None
    has_views: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether it has bytes."""
        return self.kind in _BYTES or any(member.is_binary for member in self.members)

    def arrays(self) -> Iterator[tuple[str, str]]:
        """Names and types of its arrays."""
        if self.kind in _BYTES:
            yield from ((f"{self.path}_{part}", kind) for part, kind in _BINARY)
            if self.has_views:
                yield f"{self.path}_views", "Bytes"
        elif self.members:
            yield f"{self.path}_offsets", "Ints"
            for member in self.members:
                yield from member.arrays()
        else:
            yield f"{self.path}_values", _ARRAYS[self.kind]
            if self.nullable:
                yield f"{self.path}_validity", "Bytes"

    def counters(self) -> Iterator[tuple[str, int]]:
        """Variables that count what is used, and their slots."""
        if self.kind in _BYTES:
            yield f"{self.path}_used", self.slot
            if self.nullable:
                yield f"{self.path}_nulls", self.slot + 1
        elif self.nullable:
            yield f"{self.path}_nulls", self.slot
        elif self.members:
            yield f"{self.path}_items", self.slot
            for member in self.members:
                yield from member.counters()


def record_columns(
    struct: Struct, model: Model, *, has_nulls: bool = False, prefix: str = "", has_views: bool = False
) -> tuple[RecordColumn, ...]:
    """The columns of a record, in the order of its fields and then its instances.

    Args:
        struct: the record.
        model: all schemas.
        has_nulls: whether absent numbers are null; else they are their default.
        prefix: what paths begin with, so that no column is called as a variable of the decoder.
        has_views: whether columns of bytes may be views, too.

    Raises:
        SchemaError: two of one name, or one of a type that is not supported there.
    """
    columns = tuple(_Collector(model, has_nulls, prefix, has_views).of_struct(struct, "", ()))
    for column in columns:
        if sum(each.name == column.name for each in columns) > 1:
            raise unsupported(f"two record columns are called {column.name}", column.member.place)
    return columns


class _Collector:
    """Finds columns, and gives each its place in the state."""

    def __init__(self, model: Model, has_nulls: bool, prefix: str, has_views: bool) -> None:
        self._model, self._has_nulls, self._prefix = model, has_nulls, prefix
        self._has_views = has_views
        self._slot = 0

    def of_struct(
        self, struct: Struct, prefix: str, inside: tuple[str, ...], optional: bool = False
    ) -> Iterator[RecordColumn]:
        """The columns of a struct, which need not be there if `optional`, and of what is nested in it."""
        for member in (*struct.fields, *struct.instances):
            if member.extensions.record_column is not None:
                yield self._of_member(member, member.extensions.record_column, prefix, inside, optional)
            elif isinstance(member, Field) and isinstance(member.type, UserType) and is_part(member):
                nested = self._model.struct(member.type.path)
                is_optional = optional or member.condition is not None
                yield from self.of_struct(nested, prefix, (*inside, member.id), is_optional)
            elif isinstance(member, Field):
                for key, nested in structs_in(member, self._model):
                    yield from self.of_struct(nested, prefix, (*inside, key), optional=True)

    def _of_member(
        self,
        member: Field | ValueInstance,
        column: Column,
        prefix: str,
        inside: tuple[str, ...],
        optional: bool,
    ) -> RecordColumn:
        own, path = self._slot, f"{prefix or self._prefix}{column.name}"
        members: tuple[RecordColumn, ...] = ()
        is_optional = optional or member.condition is not None
        nullable = is_optional and column.type in _BYTES
        if column.type in _BYTES:
            self._slot += 2
        elif column.type == "list<struct>":
            is_repeated = isinstance(member, Field) and member.repeat is not None
            if prefix or not is_repeated or not isinstance(member.type, UserType):
                raise unsupported(
                    "a list<struct> is a repeated struct, and not inside another one", member.place
                )
            self._slot += 1
            members = tuple(self.of_struct(self._model.struct(member.type.path), f"{path}_", ()))
        elif column.type not in _ARRAYS:
            known = ", ".join([*_ARRAYS, *_BYTES, "list<struct>"])
            detail = f"a record column of type {column.type} is not supported; supported are {known}"
            raise unsupported(detail, member.place)
        elif self._has_nulls and is_optional and member.extensions.default is None:
            nullable = True
            self._slot += 1
        return RecordColumn(
            column.name,
            path,
            column.type,
            nullable,
            member,
            inside,
            members,
            own,
            column.none,
            self._has_views and column.type in _BYTES,
        )


def nones(columns: tuple[RecordColumn, ...]) -> str:
    """The constant `RECORD_NONES` of a generated module: numbers that stand for null."""
    found = ", ".join(f'"{column.name}": {column.none}' for column in columns if column.none is not None)
    return f"RECORD_NONES = {{{found}}}"


def described(columns: tuple[RecordColumn, ...]) -> list[str]:
    """The entries of `RECORD_COLUMNS` in a generated module: name, Arrow type, nullable, members."""
    lines = []
    for column in columns:
        members = ", ".join(f'("{m.name}", "{m.kind}", {m.nullable}, ())' for m in column.members)
        members = f"({members},)" if len(column.members) == 1 else f"({members})"
        lines.append(f'("{column.name}", "{column.kind}", {column.nullable}, {members})')
    return lines
