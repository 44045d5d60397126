"""Parts of a drawing, taken from the schema model: fields as rows, structs as frames around them.

A `Row` is a field with the bytes that it takes; a `Frame` holds rows and other frames, and may be repeated. A
`Span` marks the rows that a length counts or a checksum covers. All names, sizes and words are the schema's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.frontend.model import (
    Attribute,
    Binary,
    BitsType,
    BytesType,
    Compare,
    DataType,
    EnumType,
    Expr,
    Field,
    Int,
    IntType,
    Model,
    Name,
    Path,
    SizeOf,
    Struct,
    UserType,
    ValueInstance,
)

TIMES = "\N{MULTIPLICATION SIGN}"
FIRM = "\N{NO-BREAK SPACE}"
BITS_OF_A_GROUP = 7
"""Bits of a varint's byte that belong to the number."""


@dataclass(frozen=True)
class Row:
    """A field, or several that a drawing leaves out.

    Attributes:
        name: in the schema.
        type: what stands at the right: the type, or how many bytes there are.
        least: the fewest bytes.
        most: the most bytes; None if a length says how many.
        words: what it is.
        kafka: its name in Kafka's source, where that is another word.
        bits: for a field of some bits, the first one (from the left), how many, and of how many.
        is_folded: it stands for fields that the drawing leaves out.
        is_optional: it may be missing.
    """

    name: str
    type: str
    least: int
    most: int | None
    words: str = ""
    kafka: str = ""
    bits: tuple[int, int, int] | None = None
    is_folded: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Strip:
    """A file from left to right: what lies in it, as a row of boxes."""

    name: str
    boxes: tuple[str, ...]


@dataclass(frozen=True)
class Span:
    """A bracket from a row of a frame to the frame's end."""

    first: str
    text: str


@dataclass(frozen=True)
class Frame:
    """A struct around its fields.

    Attributes:
        title: above it.
        parts: what is in it.
        words: below the title.
        repeated: others of its kind follow it.
        apart: positions in it begin at 0.
        spans: brackets beside it.
    """

    title: str
    parts: tuple[Part, ...]
    words: str = ""
    repeated: bool = False
    apart: bool = False
    spans: tuple[Span, ...] = ()


Part: TypeAlias = Row | Frame | Strip


class Layouts:
    """Makes parts of the structs of a model.

    Args:
        model: all schemas.
        topic: where a description has a sentence that begins so (`Magic 2: `), that one alone is shown.
    """

    def __init__(self, model: Model, topic: str = "") -> None:
        self._model = model
        self._topic = topic

    def parts(
        self, path: Path, *, shown: Collection[str] | None = None, replaced: Mapping[str, Part] | None = None
    ) -> tuple[Part, ...]:
        """The fields of a struct, each as a row, or as a frame if it is a struct itself.

        Args:
            path: the struct.
            shown: the fields to show; those between them are folded. None for all.
            replaced: what to show for a field instead.
        """
        found: list[Part] = []
        folded: list[Row | Frame] = []
        for field in self._model.struct(path).fields:
            if field.is_check:
                continue
            part = (replaced or {}).get(field.id) or self._part(field)
            if shown is not None and field.id not in (*shown, *(replaced or {})):
                assert not isinstance(part, Strip)
                folded.append(part)
                continue
            found += [*_fold(folded), part]
            folded.clear()
        return (*found, *_fold(folded))

    def spans(self, path: Path, counts: str = "") -> tuple[Span, ...]:
        """The brackets of a struct: what a length in front counts, if named, and what a checksum covers."""
        struct = self._model.struct(path)
        first = next(field.id for field in struct.fields if not field.is_check)
        counted = (Span(first, f"{counts} counts"),) if counts else ()
        return (*counted, *self._covered(struct))

    def _covered(self, struct: Struct) -> Iterator[Span]:
        for field in struct.fields:
            checksum = field.extensions.checksum
            if checksum is None:
                continue
            assert isinstance(checksum.region, Name | Attribute)
            around = struct if isinstance(checksum.region, Name) else self._model.struct(struct.parent or ())
            region = around.member(checksum.region.id)
            assert isinstance(region, Field)
            if region.pos is None:
                yield Span(region.id, f"{field.id} covers")
                continue
            start, at = self._number(region.pos, around), 0
            for other in struct.fields:
                if at == start:
                    yield Span(other.id, f"{field.id} covers")
                    break
                at += self._size(other)

    def _number(self, expr: Expr, struct: Struct) -> int:
        """The value of an expression that the schema fixes."""
        if isinstance(expr, Int | SizeOf):
            return expr.value
        if isinstance(expr, Binary) and expr.op == "+":
            return self._number(expr.left, struct) + self._number(expr.right, struct)
        if isinstance(expr, Attribute):
            assert isinstance(expr.object, Name)
            inner = struct.member(expr.object.id)
            assert isinstance(inner, Field)
            assert isinstance(inner.type, UserType)
            return self._number(Name(expr.id, expr.kind, expr.type), self._model.struct(inner.type.path))
        if isinstance(expr, Name):
            member = struct.member(expr.id)
            if isinstance(member, ValueInstance):
                return self._number(member.value, struct)
        raise NotImplementedError(f"{struct.path}: {expr} has no fixed value")

    def _size(self, field: Field) -> int:
        part = self._part(field)
        assert isinstance(part, Row)
        assert part.least == part.most, f"{field.id} has no fixed size"
        return part.least

    def _part(self, field: Field) -> Part:
        kind = field.type.base if isinstance(field.type, EnumType) else field.type
        times = (
            f" {TIMES} {_text(field.repeat.expr)}" if field.repeat and field.repeat.expr is not None else ""
        )
        if isinstance(kind, UserType):
            struct = self._model.struct(kind.path)
            if not struct.varint and not _bits(struct) and struct.fields:
                title = f"{field.id}{times}" + (f": {_text(field.size)} bytes" if field.size else "")
                repeated, spans = field.repeat is not None, self.spans(kind.path)
                return Frame(title, self.parts(kind.path), repeated=repeated, spans=spans)
        least, most = self._bytes(field, kind)
        optional = _is_optional(field)
        return Row(
            field.id,
            self._type(field, kind),
            least,
            most,
            self.words(field),
            _kafka(field),
            is_optional=optional,
        )

    def _bytes(self, field: Field, kind: DataType) -> tuple[int, int | None]:
        if isinstance(kind, IntType):
            return kind.width_bytes, kind.width_bytes
        if isinstance(field.size, Int):
            return field.size.value, field.size.value
        if isinstance(kind, UserType):
            struct = self._model.struct(kind.path)
            if struct.varint:
                return 1, -(-struct.varint.bits // BITS_OF_A_GROUP)
            if struct.fixed_size is not None:
                return struct.fixed_size, struct.fixed_size
        return 0, None

    def _type(self, field: Field, kind: DataType) -> str:
        if isinstance(kind, IntType):
            return f"{'' if kind.signed else 'u'}int{8 * kind.width_bytes}"
        if isinstance(kind, UserType):
            struct = self._model.struct(kind.path)
            if struct.varint:
                return kind.path[0].removeprefix("kafka_").replace("_", " ")
            if _bits(struct):
                return f"{_num_bits(struct)} bits"
        return f"{_text(field.size)} bytes" if field.size is not None else "the rest"

    def words(self, field: Field, *, all_values: bool = False) -> str:
        """What a field is: when it is there, its description, its values (each in a line if asked for)."""
        said = []
        if isinstance(field.condition, Compare) and _is_optional(field):
            said.append(f"There if {_text(field.condition)}.")
        said.append(_sentence(field.doc, self._topic))
        if isinstance(field.type, EnumType):
            members = self._model.enum(field.type.path).members
            if all_values:
                said += [
                    f"\n{one.number} {one.id}: {_sentence(one.doc, '')}".removesuffix(": ") for one in members
                ]
            else:
                said.append("; ".join(f"{one.number}{FIRM}{one.id}" for one in members) + ".")
        return " ".join(filter(None, said)).strip()

    def bits(self, path: Path) -> Frame:
        """The fields of a struct of bits, the lowest bit first."""
        struct = self._model.struct(path)
        rows = []
        at, width = 0, _num_bits(struct)
        for field in struct.fields:
            bits = _bits(field)
            first, last = width - at - 1, width - at - bits
            label = f"bit {first}" if first == last else f"bits {last}-{first}"
            words = self.words(field, all_values=True)
            rows.append(Row(field.id, label, 0, 0, words, _kafka(field), (at, bits, width)))
            at += bits
        return Frame(f"{path[-1]}: {width} bits", tuple(reversed(rows)))

    def row(self, path: Path, name: str, **changed: object) -> Row:
        """The row of a field, with some of its attributes changed."""
        member = self._model.struct(path).member(name)
        assert isinstance(member, Field)
        part = self._part(member)
        assert isinstance(part, Row)
        return replace(part, **changed)  # type: ignore[arg-type]  # names of Row's attributes


def _fold(parts: list[Row | Frame]) -> Iterator[Row]:
    """One row for several fields that are not shown."""
    if parts:
        rows = [part for part in parts if isinstance(part, Row)]
        least = sum(row.least for row in rows)
        fixed = len(rows) == len(parts) and all(row.least == row.most for row in rows)
        names = [part.name if isinstance(part, Row) else part.title for part in parts]
        size = f"{least} bytes" if fixed else ""
        name, words = (
            (names[0], "") if len(names) == 1 else (f"{len(names)} fields", f"{names[0]} to {names[-1]}")
        )
        yield Row(name, size, least, least if fixed else None, words, is_folded=True)


def _bits(what: Struct | Field) -> int:
    """The bits of a field of bits, or of the first field of a struct; 0 if it has none."""
    if isinstance(what, Struct):
        return _bits(what.fields[0]) if what.fields else 0
    kind = what.type.base if isinstance(what.type, EnumType) else what.type
    return kind.width if isinstance(kind, BitsType) else 0


def _num_bits(struct: Struct) -> int:
    return sum(map(_bits, struct.fields))


def _is_optional(field: Field) -> bool:
    """Whether a field depends on another one. The drawing of a key says that it may be null."""
    return isinstance(field.condition, Compare) and not isinstance(field.type, BytesType)


def _kafka(field: Field) -> str:
    """Kafka's names of a field, where none of them is the schema's."""
    names = [name for name in field.orig_id if _snake(name) != field.id]
    return " or ".join(names) if len(names) == len(field.orig_id) else ""


def _snake(name: str) -> str:
    """Kafka's name of a field as a schema writes it."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def _sentence(doc: str, topic: str) -> str:
    """The first sentence of a description, or the one about a topic, without marks of Markdown."""
    text = " ".join(doc.split()).replace("`", "")
    if topic and topic in text:
        text = text.partition(topic)[2]
        text = text[:1].upper() + text[1:]
    head, stop, _ = text.partition(". ")
    return head + stop.rstrip()


def _text(expr: Expr) -> str:
    """An expression as a reader of the format sees it: a varint is its value."""
    if isinstance(expr, Int):
        return str(expr.value)
    if isinstance(expr, Name):
        return expr.id
    if isinstance(expr, Attribute):
        return _text(expr.object) if expr.id == "value" else f"{_text(expr.object)}.{expr.id}"
    if isinstance(expr, Compare):
        return f"{_text(expr.left)} {expr.op} {_text(expr.right)}"
    raise NotImplementedError(f"no text for {type(expr).__name__}")
