"""Fields of a parsed vector with their places, values and the schema's words, for tools/format_pages.py."""

from __future__ import annotations

import enum
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from compiler.frontend.model import BitsType, EnumType, Field, Model, Struct
from kaitaistruct import KaitaiStream, KaitaiStruct

SHOWN_TEXT = 40
"""Characters of a text, or half the hexadecimal digits of bytes, that a value shows."""


@dataclass(frozen=True)
class Row:
    """One field.

    Attributes:
        name: with its path from the root, such as `records[0].body.key`.
        start: position of its first byte in the vector; None for a bit field.
        end: position after its last byte.
        value: as Markdown.
        doc: the first sentence of its description, the first time that the field occurs.
        bits: for a bit field, which of the bits before it.
        is_leaf: it has no rows of its own for what is in it.
        is_again: an instance, or something in one: other fields may have the same bytes.
    """

    name: str
    start: int | None
    end: int
    value: str
    doc: str
    bits: str = ""
    is_leaf: bool = True
    is_again: bool = False


def read_rows(
    model: Model, stem: str, module: ModuleType, data: bytes, params: Sequence[Any]
) -> Iterator[Row]:
    """Parse bytes by a class of the compiler's debug mode and yield its fields in their order.

    Args:
        model: all schemas, for the fields' descriptions.
        stem: the schema.
        module: with its class.
        data: the vector.
        params: of the class.
    """
    name = "".join(part.capitalize() for part in stem.split("_"))
    parsed = getattr(module, name)(*params, KaitaiStream(io.BytesIO(data)))
    parsed._read()  # in debug mode nothing is read by the constructor
    yield from _Reader(model).rows(parsed, model.schemas[stem].root, "", 0, is_again=False)


class _Reader:
    """Walks through a tree of objects and, beside it, of structs."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._described: set[tuple[tuple[str, ...], str]] = set()
        self._structs = {
            _class_path(one): one for schema in model.schemas.values() for one in schema.root.walk()
        }

    def rows(
        self, found: KaitaiStruct, struct: Struct, prefix: str, base: int, *, is_again: bool
    ) -> Iterator[Row]:
        """The fields of an object, then its instances of other types.

        Args:
            found: the object.
            struct: its type.
            prefix: what names begin with.
            base: where its stream begins in the vector.
            is_again: see `Row`.
        """
        bit = 0
        width = sum(map(_num_bits, struct.fields))
        for field in struct.fields:
            if num_bits := _num_bits(field):
                yield self._bits(found, struct, field, prefix, width - bit)
                bit += num_bits
            else:
                yield from self._field(found, struct, field, prefix, base=base, is_again=is_again)
        for member in struct.instances:
            if isinstance(member, Field):
                value = getattr(found, member.id)
                if isinstance(value, KaitaiStruct | list):
                    again = is_again or bool(struct.fields)
                    yield from self._field(found, struct, member, prefix, base=base, is_again=again)

    def _field(
        self, found: KaitaiStruct, struct: Struct, field: Field, prefix: str, *, base: int, is_again: bool
    ) -> Iterator[Row]:
        value = getattr(found, field.id, None)
        if value is None:
            return
        debug = vars(found)["_debug"][f"_m_{field.id}" if field.pos is not None else field.id]
        values, places = (value, debug["arr"]) if isinstance(value, list) else ([value], [debug])
        for index, (one, place) in enumerate(zip(values, places, strict=True)):
            name = f"{prefix}{field.id}" + (f"[{index}]" if isinstance(value, list) else "")
            start, end = base + place["start"], base + place["end"]
            inner = self._structs[_path_of(one)] if isinstance(one, KaitaiStruct) else None
            is_varint = inner is not None and inner.varint is not None
            has_bits = inner is not None and any(map(_num_bits, inner.fields))
            is_leaf = inner is None or is_varint or has_bits
            shown = "" if inner is not None and not is_varint else _value(one.value if is_varint else one)
            yield Row(name, start, end, shown, self._doc(struct, field), is_leaf=is_leaf, is_again=is_again)
            if inner is not None and not is_varint:
                below = start if one._io is not found._io else base
                yield from self.rows(one, inner, f"{name}.", below, is_again=is_again)
                if field.terminator is not None and start + one._io.size() < end:
                    yield Row(name, start + one._io.size(), end, "the terminator", "", is_again=is_again)

    def _bits(self, found: KaitaiStruct, struct: Struct, field: Field, prefix: str, num_left: int) -> Row:
        """The row of a bit field; of all the bits, `num_left` are its own and those after it."""
        first, last = num_left - 1, num_left - _num_bits(field)
        bits = f"bit {first}" if first == last else f"bits {first} to {last}"
        doc = self._doc(struct, field)
        return Row(f"{prefix}{field.id}", None, 0, _value(getattr(found, field.id)), doc, bits)

    def _doc(self, struct: Struct, field: Field) -> str:
        """The first sentence of a field's description, once."""
        key = struct.path, field.id
        if key in self._described:
            return ""
        self._described.add(key)
        text = " ".join(field.doc.split())
        head, stop, _ = text.partition(". ")
        return head + stop.rstrip()


def _num_bits(field: Field) -> int:
    """The width of a bit field; 0 for another one."""
    kind = field.type.base if isinstance(field.type, EnumType) else field.type
    return kind.width if isinstance(kind, BitsType) else 0


def _class_path(struct: Struct) -> tuple[str, ...]:
    return struct.path[:1] + tuple(
        "".join(part.capitalize() for part in name.split("_")) for name in struct.path
    )


def _path_of(value: KaitaiStruct) -> tuple[str, ...]:
    kind = type(value)
    return (kind.__module__.rpartition(".")[2], *kind.__qualname__.split("."))


def _value(value: Any) -> str:
    """A value as Markdown: numbers plain, texts in quotes, other bytes as hexadecimal digits."""
    if isinstance(value, enum.Enum):
        return f"{value.value}: {value.name}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        if value and all(32 <= byte < 127 for byte in value):
            return _value(value.decode("ascii"))
        return f"`{value[:16].hex()}{'…' if len(value) > 16 else ''}`" if value else "empty"
    if isinstance(value, str):
        cut = value[:SHOWN_TEXT] + ("…" if len(value) > SHOWN_TEXT else "")
        return '"' + cut.replace("\\", "\\\\").replace("`", "\\`").replace("*", "\\*") + '"'
    return str(value)
