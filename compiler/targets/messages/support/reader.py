"""Messages of Kafka's protocol as JSON values, read by their definitions.

All messages share one encoding of values (Kafka's protocol guide; KIP-482 for flexible versions).
Values are those of Kafka's JSON converters: bytes as base64, uuids as Kafka prints them, and a tagged field
only if its value is not the default.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Field", "Message", "MessageError", "Reader", "read_message"]

Json = Any
_HIGHEST = 1 << 15


class MessageError(Exception):
    """A message that cannot be read; the text is that of Kafka's exception."""


class Field(NamedTuple):
    """A field: versions are inclusive ranges, None for none."""

    name: str
    type: str
    versions: tuple[int, int]
    nullable: tuple[int, int] | None = None
    tagged: tuple[int, int] | None = None
    tag: int = -1
    default: Json = None
    fields: tuple[Field, ...] = ()


class Message(NamedTuple):
    """A message, and from which version on it is flexible (None: in none)."""

    name: str
    versions: tuple[int, int]
    flexible_from: int | None
    fields: tuple[Field, ...]


class Reader:
    """Reader of values, one after the other.

    Args:
        data: all bytes.
        text: decodes UTF-8 as Java does.
    """

    def __init__(self, data: bytes, text: Callable[[bytes], str]) -> None:
        self._data = data
        self.text = text
        self.unknown_version: int | None = None
        self._at = 0

    @property
    def remaining(self) -> int:
        """The number of bytes that are left."""
        return len(self._data) - self._at

    def unpack(self, form: struct.Struct) -> Json:
        """Read a number."""
        if self.remaining < form.size:
            raise MessageError("null")  # BufferUnderflowException has no message
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value

    def unsigned_varint(self) -> int:
        """Read an int of up to five bytes (ByteUtils.readUnsignedVarint)."""
        value: int = 0
        for shift in range(0, 35, 7):
            byte: int = self.unpack(_BYTE)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >= 1 << 31 else value
        raise MessageError(
            "Varint is too long, the most significant bit in the 5th byte is set, "
            f"converted value: {value & 0xFFFFFFFF:x}"
        )

    def take(self, size: int) -> bytes:
        """Read bytes."""
        if size < 0:
            raise MessageError(f"{size}")  # NegativeArraySizeException
        if size > self.remaining:
            raise MessageError(
                f"Error reading byte array of {size} byte(s): only {self.remaining} byte(s) available"
            )
        self._at += size
        return self._data[self._at - size : self._at]


_BYTE = struct.Struct(">B")
_INT8 = struct.Struct(">b")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UUID = struct.Struct(">16s")
_NUMBERS = {
    "int8": _INT8,
    "int16": _INT16,
    "uint16": struct.Struct(">H"),
    "int32": _INT32,
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}


def short(data: Reader) -> int:
    """Read an int16, as versions are."""
    version: int = data.unpack(_INT16)
    return version


def read_message(message: Message, data: Reader, version: int) -> dict[str, Json]:
    """Read a message.

    Args:
        message: its definition.
        data: at its first byte.
        version: of the message.

    Raises:
        MessageError: it cannot be read.
    """
    lowest, highest = message.versions
    # Kafka's classes take an unknown version for the nearest; structures in a field refuse higher ones.
    data.unknown_version = version if version > highest else None
    version = min(max(version, lowest), highest)
    is_flexible = message.flexible_from is not None and version >= message.flexible_from
    return _struct(message.fields, data, version, is_flexible)


def _is_in(version: int, versions: tuple[int, int] | None) -> bool:
    return versions is not None and versions[0] <= version <= versions[1]


def _struct(fields: Sequence[Field], data: Reader, version: int, is_flexible: bool) -> dict[str, Json]:
    found: dict[str, Json] = {}
    tags = {field.tag for field in fields if field.tagged is not None}
    tagged = {field.tag: field for field in fields if _is_in(version, field.tagged)}
    for field in fields:
        if _is_in(version, field.versions) and field.tag not in tagged:
            found[field.name] = _value(field, data, version, is_flexible)
    if is_flexible:
        for _ in range(data.unsigned_varint()):
            tag, size = data.unsigned_varint(), data.unsigned_varint()
            if tag in tags and tag not in tagged:
                raise MessageError(f"Tag {tag} is not valid for version {version}")
            if tag in tagged:
                found[tagged[tag].name] = _value(tagged[tag], data, version, is_flexible)
            else:
                data.take(size)
    defaults = {field.name: field.default for field in tagged.values()}
    return {
        field.name: found[field.name]
        for field in fields
        if field.name in found and (field.name not in defaults or found[field.name] != field.default)
    }


def _value(field: Field, data: Reader, version: int, is_flexible: bool) -> Json:
    kind = field.type
    if kind in _NUMBERS:
        return data.unpack(_NUMBERS[kind])
    if kind == "bool":
        return bool(data.unpack(_INT8))
    if kind == "uuid":
        return base64.urlsafe_b64encode(data.unpack(_UUID)).decode().rstrip("=")
    if kind not in {"string", "bytes"} and not kind.startswith("[]"):
        return _nested(field, data, version, is_flexible)
    if is_flexible:
        length = data.unsigned_varint() - 1
    else:
        length = data.unpack(_INT16 if kind == "string" else _INT32)
    if length < 0:
        if not _is_in(version, field.nullable):
            raise MessageError(f"non-nullable field {field.name} was serialized as null")
        return None
    if kind == "bytes":
        return base64.b64encode(data.take(length)).decode()
    if kind == "string":
        if length >= _HIGHEST:
            raise MessageError(f"string field {field.name} had invalid length {length}")
        return data.text(data.take(length))
    return _array(field, data, version, is_flexible, length)


def _nested(field: Field, data: Reader, version: int, is_flexible: bool) -> Json:
    if _is_in(version, field.nullable):
        # MessageDataGenerator.generateStructReader
        is_tagged = _is_in(version, field.tagged)
        if data.unsigned_varint() <= 0 if is_tagged else data.unpack(_INT8) < 0:
            return None
    if data.unknown_version is not None:
        raise MessageError(f"Can't read version {data.unknown_version} of {field.type}")
    return _struct(field.fields, data, version, is_flexible)


def _array(field: Field, data: Reader, version: int, is_flexible: bool, length: int) -> list[Json]:
    if length > data.remaining:
        raise MessageError(
            f"Tried to allocate a collection of size {length}, but there are only {data.remaining} bytes "
            "remaining."
        )
    kind = field.type.removeprefix("[]")
    element = Field(f"{field.name} element", kind, field.versions, fields=field.fields)
    return [_value(element, data, version, is_flexible) for _ in range(length)]
