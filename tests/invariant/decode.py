"""Record batches of magic 2, read from their description alone; the judge of what lies sound in a file.

It shares no code with what it judges: `struct`, CRC-32C, and the codecs' own libraries. A batch is sound if
its length fits into the file, its checksum is right, its records can be read and its offsets are ones that a
log can have. Behind anything else, the next sound batch is looked for at every byte.

Sources: DefaultRecordBatch, DefaultRecord.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import crc32c
import lz4.frame
import snappy
import zstandard

HEADER = struct.Struct(">qiibIhiqqqhii")
LEN_HEADER = 61
LOG_OVERHEAD = 12
_OFS_MAGIC = 16
_OFS_COVERED = 21
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class Row:
    """A record: what makes it the same one wherever it lies."""

    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Found:
    """A sound batch and where it stands."""

    position: int
    end: int
    base_offset: int
    last_offset: int
    producer_id: int
    is_transactional: bool
    is_control: bool
    rows: tuple[Row, ...]

    @property
    def control_type(self) -> int | None:
        """0 for ABORT, 1 for COMMIT."""
        if not self.is_control or not self.rows or self.rows[0].key is None:
            return None
        return int.from_bytes(self.rows[0].key[2:4], "big")


def sound_batches(data: bytes) -> list[Found]:
    """All sound batches of a file, in file order."""
    found, position = [], 0
    while position + LEN_HEADER <= len(data):
        batch = _batch_at(data, position)
        if batch is None:
            position += 1
        else:
            found.append(batch)
            position = batch.end
    return found


def _batch_at(data: bytes, position: int) -> Found | None:
    if data[position + _OFS_MAGIC] != 2:
        return None
    base, length, _epoch, _magic, crc, attributes, delta, _base_time, _max_time, producer_id, *_ = (
        HEADER.unpack_from(data, position)
    )
    end = position + LOG_OVERHEAD + length
    if not position + LEN_HEADER <= end <= len(data):
        return None
    if crc32c.crc32c(data[position + _OFS_COVERED : end]) != crc:
        return None
    if base < 0 or base + delta > (1 << 63) - 1:
        return None
    try:
        content = _decompressed(_CODECS[attributes & 7], data[position + LEN_HEADER : end])
        rows = tuple(_rows(content, base))
    except Exception:  # each codec's library has its own; somebody made the checksum right
        return None
    is_control = bool(attributes & 0x20)
    return Found(
        position,
        end,
        base,
        base + delta,
        producer_id,
        bool(attributes & 0x10),
        is_control,
        rows,
    )


def _rows(content: bytes, base: int) -> Iterator[Row]:
    at = 0
    while at < len(content):
        length, at = _varint(content, at)
        end = at + length
        if length <= 0:
            raise ValueError("a record has no length")
        _time, at = _varint(content, at + 1)
        delta, at = _varint(content, at)
        key, at = _sized(content, at)
        value, at = _sized(content, at)
        yield Row(base + delta, key, value)
        at = end


def _sized(content: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(content, at)
    return (None, at) if length < 0 else (content[at : at + length], at + length)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def _decompressed(codec: str, stored: bytes) -> bytes:
    if not stored or codec == "none":
        return stored
    if codec == "gzip":
        return _gunzip(stored)
    if codec == "snappy":
        return _unsnappy(stored)
    if codec == "lz4":
        return bytes(lz4.frame.decompress(stored))
    with zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True) as reader:
        return bytes(reader.read())


def _gunzip(stored: bytes) -> bytes:
    out = b""
    while stored:
        inflater = zlib.decompressobj(wbits=31)
        out += inflater.decompress(stored)
        stored = inflater.unused_data
    return out


def _unsnappy(stored: bytes) -> bytes:
    """The container of org.xerial.snappy, or a bare block."""
    if not stored.startswith(b"\x82SNAPPY\0"):
        return bytes(snappy.decompress(stored))
    out, at = b"", 16
    while at < len(stored):
        (length,) = struct.unpack_from(">i", stored, at)
        out += snappy.decompress(stored[at + 4 : at + 4 + length])
        at += 4 + length
    return out
