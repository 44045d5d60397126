"""Bytes of record batches and messages, made by hand: right ones, and wrong ones with right checksums.

It knows the layout by heart on purpose: the judge must not share code with what it judges.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import crc32c

Header = tuple[bytes | None, bytes | None]

HEADER = struct.Struct(">qiibIhiqqqhii")
"""A v2 batch's header: base offset to record count."""


def varint(value: int) -> bytes:
    """ZigZag, then seven bits a byte, least significant first."""
    return unsigned_varint((value << 1) ^ (value >> 63) if value < 0 else value << 1)


def unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: tuple[Header, ...] = (),
    timestamp_delta: int = 0,
) -> bytes:
    """One record of a v2 batch, its length included."""
    body = b"\0" + varint(timestamp_delta) + varint(delta) + sized(key) + sized(value) + varint(len(headers))
    for header_key, header_value in headers:
        body += sized(header_key) + sized(header_value)
    return varint(len(body)) + body


def batch(base_offset: int = 0, records: list[bytes] | None = None, **fields: Any) -> bytes:
    """A v2 batch of `records` with a right checksum.

    Args:
        base_offset: of the batch.
        records: from `record`; one by default.
        fields: header fields that shall differ, and `payload`: bytes in the records' place.
    """
    records = [record()] if records is None else records
    payload: bytes = fields.pop("payload", b"".join(records))
    values = {
        "leader_epoch": 0,
        "magic": 2,
        "attributes": 0,
        "last_offset_delta": max(0, len(records) - 1),
        "base_timestamp": 1_700_000_000_000,
        "max_timestamp": 1_700_000_000_000,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "count": len(records),
    } | fields
    covered = struct.pack(">hiqqqhii", *(values[name] for name in list(values)[2:])) + payload
    crc = crc32c.crc32c(covered)
    body = struct.pack(">ibI", values["leader_epoch"], values["magic"], crc) + covered
    return struct.pack(">qi", base_offset, len(body)) + body


def control(base_offset: int, *pairs: tuple[bytes | None, bytes | None], **fields: Any) -> bytes:
    """A control batch of keys and values."""
    records = [record(delta, key, value) for delta, (key, value) in enumerate(pairs)]
    return batch(base_offset, records, attributes=0x20, **fields)


def message(
    offset: int, value: bytes | None = b"v", *, magic: int = 1, attributes: int = 0, time: int = 7
) -> bytes:
    """A message of magic 0 or 1 with a null key, with offset and size."""
    covered = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic == 1 else b"")
    covered += struct.pack(">i", -1) + struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
    body = struct.pack(">I", zlib.crc32(covered)) + covered
    return struct.pack(">qi", offset, len(body)) + body


def patched(data: bytes, position: int, new: bytes) -> bytes:
    """`data` with `new` written at `position`; checksums are left as they are."""
    return data[:position] + new + data[position + len(new) :]
