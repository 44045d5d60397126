"""Types, expressions and dashed keys of the representation in `model`."""

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
    """A text that was computed (`to_s`); the encoding is that of the bytes it came from."""

    encoding: str


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
    """One of several structs. If no case fits, a field with a size is bytes, any other is not there.

    A case is (expression to be equal to, type); the expression is None for the case that always fits (`_`).
    """

    on: Expr
    cases: tuple[tuple[Expr | None, UserType], ...]


@dataclass(frozen=True, slots=True)
class StreamType:
    """A stream: `_io`."""


DataType: TypeAlias = (
    IntType
    | BitsType
    | CalcIntType
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
    (one argument, the encoding, `ASCII` or `UTF-8`); text `to_i`, `length`; enum and bool `to_i`; stream
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

# --- What stands under dashed keys


@dataclass(frozen=True, slots=True)
class Varint:
    """`-varint`: a schema's value is an integer in groups of seven bits, least significant first.

    `bits` is how many of them count; with `zigzag` the lowest is the sign.
    """

    bits: Literal[32, 64]
    zigzag: bool


@dataclass(frozen=True, slots=True)
class Checksum:
    """`-checksum` on a field: it holds the checksum of the bytes `region` (a field or parse instance)."""

    algorithm: Literal["crc32c", "crc32"]
    region: Expr


@dataclass(frozen=True, slots=True)
class Codec:
    """`-codec` on bytes that may be compressed.

    The labels of the enum that `algorithm` has name the codecs; `none` is none. What is inside, once
    decompressed, is either like the instance `content_instance` of the same struct (which reads the same
    bytes where they are not compressed), or a struct `content_type`. Exactly one of the two is given.
    """

    algorithm: Expr
    content_instance: str | None = None
    content_type: Path | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`-derive: {max: records.body.offset_delta.value, default: -1}`: over all elements of a repeated member.

    `over` is that member (of the struct in which this stands); `value` is evaluated for every element, in
    which `Name("_", "self")` is the element. If there are none the outcome is `default`, else what `function`
    picks from the values, plus `plus` if given (which is evaluated in the struct itself). Where `unless`
    holds the elements do not imply it, and a known value is kept.
    """

    function: Literal["first", "last", "max"]
    over: Name
    value: Expr
    default: int
    plus: Expr | None = None
    unless: Expr | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """`-batch-column`, `-record-column`: the column's name and Arrow type.

    For `list<struct>` the struct's members are those of the element's type that are record columns. `none` is
    the number that stands for none where there is one: readers make a null of it.
    """

    name: str
    type: Literal[
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint32",
        "timestamp[ms, UTC]",
        "binary",
        "list<struct>",
    ]
    none: int | None = None


@dataclass(frozen=True, slots=True)
class Extensions:
    """Our dashed keys on a field or value instance.

    `derive` and `default` are for building, when the caller leaves the field out. In a `derive` that is an
    expression, `_index` is the place in the nearest repeated field around. `encode` is for building from
    columns: the field's value, given those of columns. `null` is what a length says of bytes that are null.
    """

    checksum: Checksum | None = None
    codec: Codec | None = None
    derive: Expr | Aggregate | None = None
    default: int | None = None
    encode: Expr | None = None
    null: int | None = None
    batch_column: Column | None = None
    record_column: Column | None = None


NO_EXTENSIONS = Extensions()
