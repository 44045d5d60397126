"""The typed representation of the schemas, from which every target is generated.

A `Model` holds `Schema`s, a schema its root `Struct`, a struct its fields, instances, enums and nested
structs. Everything in it is resolved: a type names the struct or enum that it means by its full path, an
expression knows its type and what each name in it stands for (see `nodes`; its classes can be had from here).
All classes are frozen; nothing here refers back to YAML except `Place`, which says where something stands for
the sake of messages and comments.

Paths: a struct is `("kafka_record", "record_body")`, its schema's stem first, then the names of nested types;
an enum is the path of the struct that declares it, followed by the enum's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from compiler.frontend.dashed import (
    NO_EXTENSIONS,
    Aggregate,
    Checksum,
    Codec,
    Column,
    Extensions,
    Varint,
)
from compiler.frontend.nodes import (
    ArrayType,
    Attribute,
    Binary,
    BitsType,
    Bool,
    BoolType,
    Bytes,
    BytesType,
    CalcFloatType,
    CalcIntType,
    Compare,
    DataType,
    EnumLabel,
    EnumType,
    Expr,
    Float,
    FloatType,
    Int,
    IntType,
    Logic,
    Method,
    Name,
    NameKind,
    Path,
    Place,
    SizeOf,
    Str,
    StreamType,
    StrType,
    Subscript,
    SwitchType,
    Ternary,
    Unary,
    UserType,
)

__all__ = [
    "Aggregate",
    "ArrayType",
    "Attribute",
    "Binary",
    "BitsType",
    "Bool",
    "BoolType",
    "Bytes",
    "BytesType",
    "CalcFloatType",
    "CalcIntType",
    "Checksum",
    "Codec",
    "Column",
    "Compare",
    "DataType",
    "Enum",
    "EnumLabel",
    "EnumMember",
    "EnumType",
    "Expr",
    "Extensions",
    "Field",
    "Float",
    "FloatType",
    "Int",
    "IntType",
    "Logic",
    "Member",
    "Method",
    "Model",
    "Name",
    "NameKind",
    "Param",
    "Path",
    "Place",
    "Repeat",
    "Schema",
    "SizeOf",
    "Str",
    "StrType",
    "StreamType",
    "Struct",
    "Subscript",
    "SwitchType",
    "Ternary",
    "Unary",
    "UserType",
    "Valid",
    "ValueInstance",
    "Varint",
]


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often a field is repeated: `expr` times, until `expr` holds for an element (`_`), or to the end."""

    kind: Literal["expr", "eos", "until"]
    expr: Expr | None = None


@dataclass(frozen=True, slots=True)
class Valid:
    """A constraint on a value, for each element if repeated.

    `eq`: one expression; `any_of`: all that are allowed; `expr`: one condition on `_`; `min_max`: the least
    and the most, either of which may be None. `never`: a field of no bytes, with a condition that holds for
    bytes that are refused; in a schema it is `size: 0` and `valid: '[0]'`.
    """

    kind: Literal["eq", "min_max", "any_of", "expr", "never"]
    exprs: tuple[Expr | None, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field to read: an attribute of `seq`, or a parse instance (then `pos` is given).

    `type` is that of one element if the field is repeated, see `value_type`. A struct with `size`, `size_eos`
    or `terminator` has a stream of its own, for each element if repeated. Bytes and texts have one of the
    three, or a terminator within a size; `include` says that the terminator is part of the value, `consume`
    that it is passed over, `pad_right` which byte is cut off at the end of a size.
    """

    id: str
    orig_id: tuple[str, ...]
    doc: str
    place: Place
    type: DataType
    size: Expr | None = None
    size_eos: bool = False
    terminator: int | None = None
    eos_error: bool = True
    include: bool = False
    consume: bool = True
    pad_right: int | None = None
    condition: Expr | None = None
    repeat: Repeat | None = None
    valid: Valid | None = None
    pos: Expr | None = None
    extensions: Extensions = NO_EXTENSIONS

    @property
    def is_check(self) -> bool:
        """Whether there is no such field in valid bytes: its condition says which are refused."""
        return self.valid is not None and self.valid.kind == "never"

    @property
    def value_type(self) -> DataType:
        """The type that an expression sees: an array if repeated, a bool for a `b1`."""
        element = self.type
        if isinstance(element, BitsType) and element.width == 1:
            element = BoolType()
        return ArrayType(element) if self.repeat else element


@dataclass(frozen=True, slots=True)
class ValueInstance:
    """A value computed from what was read, once, at its first use."""

    id: str
    orig_id: tuple[str, ...]
    doc: str
    place: Place
    type: DataType
    value: Expr
    condition: Expr | None = None
    extensions: Extensions = NO_EXTENSIONS

    @property
    def value_type(self) -> DataType:
        """The type that an expression sees."""
        return self.type


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a struct."""

    id: str
    type: DataType
    doc: str
    place: Place

    @property
    def value_type(self) -> DataType:
        """The type that an expression sees."""
        return self.type


Member: TypeAlias = Field | ValueInstance | Param


@dataclass(frozen=True, slots=True)
class EnumMember:
    """One number of an enum, and its names."""

    number: int
    id: str
    orig_id: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Enum:
    """Named numbers. Others may occur: a field of an enum's type then holds the plain number."""

    path: Path
    members: tuple[EnumMember, ...]
    place: Place

    def label(self, number: int) -> str | None:
        """The name of a number, None if it has none."""
        return next((member.id for member in self.members if member.number == number), None)

    def number(self, label: str) -> int | None:
        """The number of a name, None if there is no such name."""
        return next((member.number for member in self.members if member.id == label), None)


@dataclass(frozen=True, slots=True)
class Struct:
    """A type of a schema; the schema itself is one.

    `parent` is what `_parent` is, where every use of the type agrees on it. `fixed_size` is the size of the
    fields in bytes, where the schema fixes it. `varint` is for the root of a schema only.
    """

    path: Path
    doc: str
    doc_refs: tuple[str, ...]
    orig_id: tuple[str, ...]
    place: Place
    params: tuple[Param, ...] = ()
    fields: tuple[Field, ...] = ()
    instances: tuple[Field | ValueInstance, ...] = ()
    enums: tuple[Enum, ...] = ()
    types: tuple[Struct, ...] = ()
    parent: Path | None = None
    fixed_size: int | None = None
    varint: Varint | None = None

    def member(self, name: str) -> Member | None:
        """The parameter, field or instance of this name, None if there is none."""
        members: tuple[Member, ...] = (*self.params, *self.fields, *self.instances)
        return next((member for member in members if member.id == name), None)

    def walk(self) -> Iterator[Struct]:
        """This struct and all nested ones, each before its own."""
        yield self
        for nested in self.types:
            yield from nested.walk()


@dataclass(frozen=True, slots=True)
class Schema:
    """One `.ksy` file. `files`: names of the files that it reads, as patterns; none for a part of one."""

    stem: str
    title: str
    imports: tuple[str, ...]
    root: Struct
    files: tuple[str, ...] = ()

    @property
    def doc(self) -> str:
        """The description of the schema."""
        return self.root.doc

    @property
    def doc_refs(self) -> tuple[str, ...]:
        """Links to the format's documentation."""
        return self.root.doc_refs


@dataclass(frozen=True)
class Model:
    """All schemas, by stem: those that are imported come before those that import them."""

    schemas: dict[str, Schema]
    _structs: dict[Path, Struct] = field(init=False, repr=False, compare=False)
    _enums: dict[Path, Enum] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index structs and enums by path."""
        structs = {struct.path: struct for schema in self.schemas.values() for struct in schema.root.walk()}
        enums = {enum.path: enum for struct in structs.values() for enum in struct.enums}
        object.__setattr__(self, "_structs", structs)
        object.__setattr__(self, "_enums", enums)

    def struct(self, path: Path) -> Struct:
        """The struct of a path.

        Raises:
            KeyError: there is none.
        """
        return self._structs[path]

    def enum(self, path: Path) -> Enum:
        """The enum of a path.

        Raises:
            KeyError: there is none.
        """
        return self._enums[path]
