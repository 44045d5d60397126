"""Entries of magic 2 by their headers alone, and whether their records can be read; no code of the project.

Sources: DefaultRecordBatch, DefaultRecord.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

import crc32c
from tests.invariant.decode import _CODECS, HEADER, LEN_HEADER, LOG_OVERHEAD, _decompressed, _sized, _varint

OFS_EPOCH, OFS_MAGIC, OFS_CRC, OFS_COVERED = 12, 16, 17, 21
_MAX_OFFSET = (1 << 63) - 1


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


@lru_cache(maxsize=8192)
def entries_in(data: bytes) -> tuple[Entry, ...]:
    """All entries of a file whose checksums are right, in file order."""
    found, position = [], 0
    while position + LEN_HEADER <= len(data):
        one = _entry_at(data, position) if data[position + OFS_MAGIC] == 2 else None
        if one is not None:
            found.append(one)
        position = position + 1 if one is None else one.end
    return tuple(found)


def _entry_at(data: bytes, position: int) -> Entry | None:
    base, length, epoch, _magic, crc, _attributes, delta = HEADER.unpack_from(data, position)[:7]
    end = position + LOG_OVERHEAD + length
    if not position + LEN_HEADER <= end <= len(data) or base < 0 or base + delta > _MAX_OFFSET:
        return None
    if crc32c.crc32c(data[position + OFS_COVERED : end]) != crc:
        return None
    return Entry(position, base, base + delta, epoch, data[position:end])


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
    *_, attributes, delta, _first, _max, _producer, _epoch, _sequence, count = HEADER.unpack_from(data)
    try:
        content = _decompressed(_CODECS[attributes & 7], data[LEN_HEADER:])
        keys, at, deltas = [], 0, [-1]
        while at < len(content):
            key, offset_delta, at = _record(content, at)
            keys.append(key)
            deltas.append(offset_delta)
    except Exception:  # each codec's library has its own
        return None
    if len(keys) != count or at != len(content):
        return None
    return tuple(keys), max(deltas) <= delta and deltas == sorted(set(deltas))


def _record(content: bytes, at: int) -> tuple[bytes | None, int, int]:
    """Key and offset delta of the record at a byte, and the byte behind it."""
    length, at = _varint(content, at)
    end = at + length
    _time, at = _varint(content, at + 1)
    delta, at = _varint(content, at)
    key, at = _sized(content, at)
    _value, at = _sized(content, at)
    num_headers, at = _varint(content, at)
    for _ in range(2 * num_headers):
        _part, at = _sized(content, at)
    if at != end or num_headers < 0:
        raise ValueError("a record's length is not that of its parts")
    return key, delta, end
