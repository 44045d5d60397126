"""Types and expressions of the representation in `model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Path: TypeAlias = tuple[str, ...]
"""Of a struct or an enum, see `model`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a schema: file as messages name it, YAML path (`/seq/0/size`), line and column from 1."""

    schema: str
    yaml_path: str
    line: int
    column: int = 1


# --- Types


@dataclass(frozen=True, slots=True)
class IntType:
    """An integer of whole bytes in the stream: `u1`, `s8le`. A single byte counts as big-endian."""

    width_bytes: int
    signed: bool
    big_endian: bool


@dataclass(frozen=True, slots=True)
class FloatType:
    """A number of IEEE 754 in the stream: `f4`, `f8be`."""

    width_bytes: int
    big_endian: bool


@dataclass(frozen=True, slots=True)
class CalcFloatType:
    """A number with a fraction that was computed."""


@dataclass(frozen=True, slots=True)
class BitsType:
    """An unsigned integer of some bits: `b3`. A field of type `b1` without enum has a bool as its value."""

    width: int
    big_endian: bool


@dataclass(frozen=True, slots=True)
class CalcIntType:
    """An integer that was computed, or a parameter of no width: as wide as need be."""


@dataclass(frozen=True, slots=True)
class BoolType:
    """A truth value: a parameter of type `bool`, the value of a `b1`, the outcome of a comparison."""


@dataclass(frozen=True, slots=True)
class BytesType:
    """Bytes. How many, the field says: `size`, `size_eos`, `terminator`."""


@dataclass(frozen=True, slots=True)
class StrType:
    """A text: in the stream, where the field says how long it is, or computed (`to_s`).

    `encoding` is that of its bytes; `zero` says that they end before a zero unless the field says otherwise
    (`strz`).
    """

    encoding: str
    zero: bool = False


@dataclass(frozen=True, slots=True)
class EnumType:
    """A number that may have a name. `base` is what stands in the stream, or the type of a parameter."""

    path: Path
    base: IntType | BitsType | CalcIntType


@dataclass(frozen=True, slots=True)
class UserType:
    """Another struct, with the arguments for its parameters; the type of an expression leaves them out."""

    path: Path
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A repeated field's value."""

    element: DataType


@dataclass(frozen=True, slots=True)
class SwitchType:
    """One of several types. If no case fits, a field with a size is bytes, any other is absent.

    A case is (expression to be equal to, type); the expression is None for the case that always fits (`_`).
    """

    on: Expr
    cases: tuple[tuple[Expr | None, DataType], ...]

    @property
    def has_structs_only(self) -> bool:
        """Whether all cases are structs."""
        return all(isinstance(case, UserType) for _, case in self.cases)


@dataclass(frozen=True, slots=True)
class StreamType:
    """A stream: `_io`."""


DataType: TypeAlias = (
    IntType
    | BitsType
    | CalcIntType
    | FloatType
    | CalcFloatType
    | BoolType
    | BytesType
    | StrType
    | EnumType
    | UserType
    | ArrayType
    | SwitchType
    | StreamType
)

# --- Expressions

# What a name stands for. "self" is `_`, the value that is being checked or read; "index" is `_index`.
NameKind: TypeAlias = Literal["field", "instance", "param", "parent", "root", "io", "self", "index"]


@dataclass(frozen=True, slots=True)
class Int:
    """An integer as written."""

    value: int
    type: DataType = CalcIntType()


@dataclass(frozen=True, slots=True)
class Float:
    """A number with a fraction as written."""

    value: float
    type: DataType = CalcFloatType()


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes as written: `contents`, `[0x4b, 0x53]`."""

    value: bytes
    type: DataType = BytesType()


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    value: bool
    type: DataType = BoolType()


@dataclass(frozen=True, slots=True)
class Str:
    """A text as written."""

    value: str
    type: DataType = StrType("UTF-8")


@dataclass(frozen=True, slots=True)
class Name:
    """A member of the struct in which the expression stands, or one of the language's own names."""

    id: str
    kind: NameKind
    type: DataType


@dataclass(frozen=True, slots=True)
class EnumLabel:
    """`compression::none`: the enum's path, the label, and the number that it stands for."""

    enum_path: Path
    label: str
    value: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Attribute:
    """A member of another struct: `header.crc`, `_parent.is_control`. `kind` says which sort of member."""

    object: Expr
    id: str
    kind: NameKind
    type: DataType


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the language on a value that is no struct.

    By type of the object: array `size`, `first`, `last`, and of integers `min`, `max`; bytes `size`, `to_s`
    (one argument, the encoding); text `to_i`, `length`; integer `to_s`; enum, bool and float `to_i`; stream
    `size`, `pos`, `eof`. All others are without arguments.
    """

    object: Expr
    id: str
    args: tuple[Expr, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Subscript:
    """`groups[0]`."""

    object: Expr
    index: Expr
    type: DataType


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `~x`, `not x`."""

    op: Literal["-", "~", "not"]
    operand: Expr
    type: DataType


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic. `/` and `%` round towards negative infinity, as everywhere in Kaitai."""

    op: Literal["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]
    left: Expr
    right: Expr
    type: DataType


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two values."""

    op: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr
    type: DataType = BoolType()


@dataclass(frozen=True, slots=True)
class Logic:
    """`a and b and c`: two operands or more, evaluated until the outcome is known."""

    op: Literal["and", "or"]
    operands: tuple[Expr, ...]
    type: DataType = BoolType()


@dataclass(frozen=True, slots=True)
class Ternary:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: DataType


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`sizeof<s4>`, `sizeof<header>`, `crc._sizeof`: a number of bytes that the schema fixes.

    `of` is the type that was measured.
    """

    of: DataType
    value: int
    type: DataType = CalcIntType()


Expr: TypeAlias = (
    Int
    | Float
    | Bytes
    | Bool
    | Str
    | Name
    | EnumLabel
    | Attribute
    | Method
    | Subscript
    | Unary
    | Binary
    | Compare
    | Logic
    | Ternary
    | SizeOf
)
