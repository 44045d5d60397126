"""Bytes of the discarded magic 3, made by hand: both layouts, with right checksums.

Written from the proposal, not from the schemas: the judge must not share code with what it judges.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import crc32c
from tests.made.build import Header, sized, varint

# The example of a book chapter, "hello" and "world", corrected: as magic 2, and as magic 3.
MAGIC_2 = bytes.fromhex(
    "000000000000000000000049ffffffff02dbda21c90000000000010000018f125c74000000018f125c7400ffffffffffffffffff"
    "ffffffffff0000000216000000010a68656c6c6f0016000002010a776f726c6400"
)
MAGIC_3 = bytes.fromhex(
    "00000000000000000000003bffffffff0325cb19060080ffffffffffffffffffffffffffff000000020280d0e3a5e26300140000"
    "010a68656c6c6f00140002010a776f726c6400"
)
TIME = 1_714_000_000_000

IGNORES_ATTRIBUTES = 0x80
METADATA_FIRST = 0x100


@dataclass(frozen=True)
class Row:
    """One record: its deltas, and what it holds."""

    delta: int = 0
    timestamp_delta: int = 0
    key: bytes | None = None
    value: bytes | None = b"v"
    headers: tuple[Header, ...] = ()
    attributes: int = 0


def records(rows: Sequence[Row], *, has_attributes: bool = False) -> bytes:
    """The records of the first layout, one after the other."""
    out = b""
    for row in rows:
        body = bytes([row.attributes]) if has_attributes else b""
        body += varint(row.timestamp_delta) + varint(row.delta) + sized(row.key) + sized(row.value)
        body += varint(len(row.headers)) + _headers(row)
        out += varint(len(body)) + body
    return out


def metadata_first(rows: Sequence[Row], *, has_attributes: bool = False) -> bytes:
    """The records of the second layout: metadata of all, then contents of all."""
    heads, contents = b"", b""
    for row in rows:
        lengths = (-1 if one is None else len(one) for one in (row.key, row.value))
        numbers = (row.timestamp_delta, row.delta, *lengths, len(row.headers), len(_headers(row)))
        heads += bytes([row.attributes]) if has_attributes else b""
        heads += b"".join(map(varint, numbers))
        contents += (row.key or b"") + (row.value or b"") + _headers(row)
    return heads + contents


def _headers(row: Row) -> bytes:
    return b"".join(sized(key) + sized(value) for key, value in row.headers)


def batch(
    payload: bytes,
    count: int,
    *,
    base_offset: int = 0,
    attributes: int = IGNORES_ATTRIBUTES,
    leader_epoch: int = -1,
    producer: tuple[int, int, int] = (-1, -1, -1),
    last_offset_delta: int = 0,
    base_timestamp: int = TIME,
    max_timestamp_delta: int = 0,
) -> bytes:
    """A batch of either layout: offset, length, header, payload."""
    covered = struct.pack(">Hqhii", attributes, *producer, count)
    covered += varint(last_offset_delta) + varint(base_timestamp) + varint(max_timestamp_delta) + payload
    body = struct.pack(">ibI", leader_epoch, 3, crc32c.crc32c(covered)) + covered
    return struct.pack(">qi", base_offset, len(body)) + body
