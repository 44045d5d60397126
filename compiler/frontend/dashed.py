"""What dashed keys say, in the representation in `model`; `extensions` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compiler.frontend.nodes import Expr, Name, Path


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
        "float32",
        "float64",
        "utf8",
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
