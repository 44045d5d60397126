"""Record batches of magic 2, read from their description alone; the judge of what lies sound in a file.

It shares no code with what it judges: `struct`, CRC-32C, and the codecs' own libraries. `entries_in` finds
batches with right checksums and offsets that a log can have, `sound_batches` those of them whose records can
be read. Behind anything else, the next one is looked for at every byte.

Sources: DefaultRecordBatch, DefaultRecord.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import crc32c
from tests.made.codecs import NAMES, plain
from tests.made.encoder import LOG_OVERHEAD
from tests.made.encoder import V2_HEADER as LEN_HEADER

HEADER = struct.Struct(">qiibIhiqqqhii")
OFS_EPOCH, OFS_MAGIC, OFS_CRC, OFS_COVERED = 12, 16, 17, 21
_MAX_OFFSET = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Row:
    """A record: what makes it the same one wherever it lies."""

    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch with a right checksum, and where it stands.

    Attributes:
        position: its first byte in the file.
        base: its base offset.
        last: its last offset.
        epoch: its leader epoch.
        data: all its bytes.
    """

    position: int
    base: int
    last: int
    epoch: int
    data: bytes

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.position + len(self.data)

    @property
    def content(self) -> bytes:
        """What its checksum covers, and the checksum: the same wherever the batch was put."""
        return self.data[OFS_MAGIC:]

    @property
    def producer_id(self) -> int:
        """Of its producer; -1 if it has none."""
        return int(HEADER.unpack_from(self.data)[9])

    @property
    def is_transactional(self) -> bool:
        """Whether it is data of a transaction, or a marker."""
        return bool(HEADER.unpack_from(self.data)[5] & 0x10)

    @property
    def control_type(self) -> int | None:
        """0 for ABORT, 1 for COMMIT; None for data."""
        if not HEADER.unpack_from(self.data)[5] & 0x20:
            return None
        keys = keys_of(self.data)
        return int.from_bytes(keys[0][2:4], "big") if keys and keys[0] else None


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


@lru_cache(maxsize=8192)
def entries_in(data: bytes) -> tuple[Entry, ...]:
    """All entries of a file whose checksums are right, in file order."""
    found, position = [], 0
    while position + LEN_HEADER <= len(data):
        one = _entry_at(data, position)
        if one is not None:
            found.append(one)
        position = position + 1 if one is None else one.end
    return tuple(found)


def sound_batches(data: bytes) -> list[Found]:
    """All sound batches of a file, in file order."""
    found, position = [], 0
    while position + LEN_HEADER <= len(data):
        one = _entry_at(data, position)
        batch = None if one is None else _found(one)
        if batch is not None:
            found.append(batch)
        position = position + 1 if batch is None else batch.end
    return found


def _entry_at(data: bytes, position: int) -> Entry | None:
    if data[position + OFS_MAGIC] != 2:
        return None
    base, length, epoch, _magic, crc, _attributes, delta = HEADER.unpack_from(data, position)[:7]
    end = position + LOG_OVERHEAD + length
    if not position + LEN_HEADER <= end <= len(data) or base < 0 or base + delta > _MAX_OFFSET:
        return None
    if crc32c.crc32c(data[position + OFS_COVERED : end]) != crc:
        return None
    return Entry(position, base, base + delta, epoch, data[position:end])


def _found(one: Entry) -> Found | None:
    attributes = HEADER.unpack_from(one.data)[5]
    try:
        rows = tuple(Row(one.base + parsed.delta, parsed.key, parsed.value) for parsed in _parsed(one.data))
    except Exception:  # each codec's library has its own; somebody made the checksum right
        return None
    is_control = bool(attributes & 0x20)
    return Found(
        one.position, one.end, one.base, one.last, one.producer_id, one.is_transactional, is_control, rows
    )


def with_checksum(data: bytes | bytearray) -> bytes:
    """The bytes of an entry with the checksum made right."""
    checksum = struct.pack(">I", crc32c.crc32c(bytes(data[OFS_COVERED:])))
    return bytes(data[:OFS_CRC]) + checksum + bytes(data[OFS_COVERED:])


def keys_of(data: bytes) -> tuple[bytes | None, ...] | None:
    """The keys of an entry's records; None if they cannot all be read as its header says."""
    found = _records(data)
    return found[0] if found is not None and found[1] else None


def has_other_offsets(data: bytes) -> bool:
    """Whether an entry's records can all be read, and have other offsets than its header has room for."""
    found = _records(data)
    return found is not None and not found[1]


@lru_cache(maxsize=8192)
def _records(data: bytes) -> tuple[tuple[bytes | None, ...], bool] | None:
    """The keys of all records, and whether their offsets rise and are the header's."""
    delta, count = HEADER.unpack_from(data)[6], HEADER.unpack_from(data)[12]
    try:
        found = list(_parsed(data))
    except Exception:  # each codec's library has its own
        return None
    if len(found) != count or not all(one.is_whole for one in found):
        return None
    deltas = [-1, *(one.delta for one in found)]
    return tuple(one.key for one in found), max(deltas) <= delta and deltas == sorted(set(deltas))


class _Parsed(NamedTuple):
    """A record; `is_whole` is whether its length is that of its parts."""

    delta: int
    key: bytes | None
    value: bytes | None
    is_whole: bool


def _parsed(data: bytes) -> Iterator[_Parsed]:
    """The records of a batch, each where its length leads."""
    stored = data[LEN_HEADER:]
    content = plain(NAMES[HEADER.unpack_from(data)[5] & 7], stored) if stored else stored
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
        yield _Parsed(delta, key, value, at <= end <= len(content) and _has_headers(content, at, end))
        at = end


def _has_headers(content: bytes, at: int, end: int) -> bool:
    """Whether headers, and nothing else, stand between two places."""
    try:
        num_headers, at = _varint(content, at)
        for _ in range(2 * num_headers):
            _part, at = _sized(content, at)
    except IndexError:
        return False
    return at == end and num_headers >= 0


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
