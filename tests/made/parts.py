"""Entries taken apart into named fields, and put together again with right lengths and checksums.

It knows the layout by heart, as `encoder.py` does: the judge's material must not come from
what is judged. A field's name says what it is part of: `batch` (magic 2), `record` (in a batch), `message`
(magic 0 or 1), `wrapper` (a compressed one), `inner` (a message in a wrapper).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import crc32c
from tests.made.codecs import NAMES, compress, plain
from tests.made.encoder import LOG_OVERHEAD, V2_HEADER, varint

OFS_BODY, OFS_CRC_REGION = LOG_OVERHEAD, 16
OFS_CRC_REGION_V2 = 21

BATCH = {
    "base_offset": 8,
    "batch_length": 4,
    "partition_leader_epoch": 4,
    "magic": 1,
    "crc": 4,
    "attributes": 2,
    "last_offset_delta": 4,
    "base_timestamp": 8,
    "max_timestamp": 8,
    "producer_id": 8,
    "producer_epoch": 2,
    "base_sequence": 4,
    "count": 4,
}
"""Widths of a v2 batch's header fields, in their order."""
MESSAGE = {"offset": 8, "size": 4, "crc": 4, "magic": 1, "attributes": 1}


class Piece(NamedTuple):
    """Some bytes under the name of a field."""

    field: str
    data: bytes


Unit = list[Piece]
"""A record of a batch, or a message in a wrapper."""


@dataclass
class Parts:
    """One entry.

    Attributes:
        head: the fields in front of the payload, by their names.
        units: the payload before compression.
        form: how it is compressed, one of `properties.codecs.FORMS`.
        stored: the payload as it is stored; None is what follows from units and form.
        kept: fields whose bytes stay as they are, although other bytes say they are wrong.
    """

    head: dict[str, bytes]
    units: list[Unit]
    form: str = "none"
    stored: bytes | None = None
    kept: set[str] = field(default_factory=set)

    @property
    def is_batch(self) -> bool:
        """Whether it is one of magic 2, or was."""
        return "batch.base_offset" in self.head

    @property
    def kind(self) -> str:
        """What the names of its head's fields begin with."""
        return next(iter(self.head)).partition(".")[0]

    def content(self) -> bytes:
        """The payload before compression."""
        return b"".join(piece.data for unit in self.units for piece in unit)

    def payload(self) -> bytes:
        """The payload as it is stored."""
        if self.stored is not None:
            return self.stored
        content = self.content()
        if self.is_batch and not content:
            return content
        return compress(self.form, content, 0 if self.head.get("wrapper.magic") == b"\0" else 2)

    def encode(self) -> bytes:
        """All bytes; lengths and checksum are right, but for those that are kept."""
        payload = self.payload()
        head = dict(self.head)
        lengths = {"batch.batch_length": len(payload), "message.size": len(payload)}
        lengths["wrapper.size"] = len(payload)
        for name, length in lengths.items():
            if name in head and name not in self.kept:
                head[name] = struct.pack(">i", sum(map(len, head.values())) - LOG_OVERHEAD + length)
        for name in ("message.value_length", "wrapper.value_length"):
            if name in head and name not in self.kept and (payload or head[name] != b"\xff" * 4):
                head[name] = struct.pack(">i", len(payload))
        data = b"".join(head.values()) + payload
        if f"{self.kind}.crc" in self.kept:
            return data
        (size,) = struct.unpack_from(">i", data, 8)
        end = LOG_OVERHEAD + size if 0 < size <= len(data) - LOG_OVERHEAD else len(data)
        return sealed(data[:end]) + data[end:]


def sealed(data: bytes) -> bytes:
    """An entry with the checksum that Kafka wants for its magic: in files all from 2 on are read as 2."""
    if len(data) < OFS_CRC_REGION_V2:
        return data
    if data[16] in range(2, 128):
        crc = struct.pack(">I", crc32c.crc32c(data[OFS_CRC_REGION_V2:]))
        return data[:17] + crc + data[OFS_CRC_REGION_V2:]
    crc = struct.pack(">I", zlib.crc32(data[OFS_CRC_REGION:]))
    return data[:OFS_BODY] + crc + data[OFS_CRC_REGION:]


def sealed_unit(unit: Unit) -> Unit:
    """A record with its right length, or an inner message with its right size and checksum."""
    rest = b"".join(piece.data for piece in unit[1:])
    if unit[0].field == "record.length":
        return [Piece("record.length", varint(len(rest))), *unit[1:]]
    if [piece.field for piece in unit[:3]] != ["inner.offset", "inner.size", "inner.crc"]:
        return unit
    covered = b"".join(piece.data for piece in unit[3:])
    size, crc = struct.pack(">i", len(covered) + 4), struct.pack(">I", zlib.crc32(covered))
    return [unit[0], Piece("inner.size", size), Piece("inner.crc", crc), *unit[3:]]


def take_apart(entry: bytes) -> Parts:
    """The parts of a sound entry."""
    if entry[16] == 2:
        return _batch(entry)
    return _message(entry)


def head_of(entry: bytes) -> list[Piece]:
    """The fields of a sound entry in front of its records, or all of a message's."""
    if entry[16] < 2:
        return _fields(entry, "message")
    pieces, position = [], 0
    for name, width in BATCH.items():
        pieces.append(Piece(f"batch.{name}", entry[position : position + width]))
        position += width
    return pieces


def _batch(entry: bytes) -> Parts:
    head = dict(head_of(entry))
    codec, payload = NAMES[entry[22] & 7], entry[V2_HEADER:]
    content = plain(codec, payload) if payload else payload
    return Parts(head, list(records_of(content)), codec, payload)


def _message(entry: bytes) -> Parts:
    pieces = _fields(entry, "message")
    codec = NAMES[entry[17] & 7]
    if codec == "none":
        return Parts(
            {name: data for name, data in pieces if name != "message.value"},
            [[piece] for piece in pieces if piece.field == "message.value"],
        )
    head = {name.replace("message", "wrapper"): data for name, data in pieces[:-1]}
    stored = pieces[-1].data
    return Parts(head, list(_messages(plain(codec, stored))), codec, stored)


def _fields(entry: bytes, kind: str) -> list[Piece]:
    """The fields of a sound message."""
    widths = MESSAGE | ({"timestamp": 8} if entry[16] == 1 else {})
    pieces, position = [], 0
    for name, width in widths.items():
        pieces.append(Piece(f"{kind}.{name}", entry[position : position + width]))
        position += width
    for name in ("key", "value"):
        length = entry[position : position + 4]
        size = max(0, *struct.unpack(">i", length))
        pieces.append(Piece(f"{kind}.{name}_length", length))
        if length[0] < 0x80:
            pieces.append(Piece(f"{kind}.{name}", entry[position + 4 : position + 4 + size]))
        position += 4 + size
    return pieces


def _messages(content: bytes) -> Iterator[Unit]:
    while content:
        end = LOG_OVERHEAD + struct.unpack_from(">i", content, 8)[0]
        yield _fields(content[:end], "inner")
        content = content[end:]


def records_of(content: bytes) -> Iterator[Unit]:
    """Sound records."""
    position = 0
    while position < len(content):
        reader = _Reader(content, position)
        size = reader.varint("length")
        end = reader.position + size
        reader.raw("attributes", 1)
        reader.varint("timestamp_delta")
        reader.varint("offset_delta")
        reader.sized("key")
        reader.sized("value")
        for _ in range(reader.varint("header_count")):
            reader.sized("header_key")
            reader.sized("header_value")
        assert reader.position == end
        yield reader.unit
        position = end


class _Reader:
    """Reads a sound record field by field."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self.position = position
        self.unit: Unit = []

    def raw(self, name: str, size: int) -> None:
        """So many bytes."""
        self.unit.append(Piece(f"record.{name}", self._data[self.position : self.position + size]))
        self.position += size

    def varint(self, name: str) -> int:
        """A varint; returns its value."""
        end = self.position
        while self._data[end] >= 0x80:
            end += 1
        self.raw(name, end + 1 - self.position)
        return from_varint(self.unit[-1].data)

    def sized(self, name: str) -> None:
        """A length, and the bytes."""
        length = self.varint(f"{name}_length")
        if length >= 0:
            self.raw(name, length)


def from_varint(data: bytes) -> int:
    """The value of a whole varint."""
    value = 0
    for place, byte in enumerate(data):
        value |= (byte & 0x7F) << 7 * place
    return value >> 1 ^ -(value & 1)
