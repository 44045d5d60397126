"""Bytes of record batches and messages, made by hand: right ones, and wrong ones with right checksums.

By the encoder beside it, which shares no code with what it judges.
"""

from __future__ import annotations

from typing import Any

from tests.made.encoder import (
    Record,
    encode_record,
    pack_batch,
    pack_message,
    sized,
    unsigned_varint,
    varint,
)

__all__ = ["batch", "control", "message", "patched", "record", "sized", "unsigned_varint", "varint"]

Header = tuple[bytes | None, bytes | None]
TIME = 1_700_000_000_000


def record(
    delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: tuple[Header, ...] = (),
    timestamp_delta: int = 0,
) -> bytes:
    """One record of a v2 batch, its length included."""
    return encode_record(Record(delta, timestamp_delta, key, value, headers))


def batch(base_offset: int = 0, records: list[bytes] | None = None, **fields: Any) -> bytes:
    """A v2 batch of `records` with a right checksum.

    Args:
        base_offset: of the batch.
        records: from `record`; one by default.
        fields: header fields that shall differ, and `payload`: bytes in the records' place.
    """
    records = [record()] if records is None else records
    values = {
        "payload": b"".join(records),
        "last_offset_delta": max(0, len(records) - 1),
        "base_timestamp": TIME,
        "max_timestamp": TIME,
        "count": len(records),
    }
    return pack_batch(base_offset, **values | fields)


def control(base_offset: int, *pairs: tuple[bytes | None, bytes | None], **fields: Any) -> bytes:
    """A control batch of keys and values."""
    records = [record(delta, key, value) for delta, (key, value) in enumerate(pairs)]
    return batch(base_offset, records, attributes=0x20, **fields)


def message(
    offset: int, value: bytes | None = b"v", *, magic: int = 1, attributes: int = 0, time: int = 7
) -> bytes:
    """A message of magic 0 or 1 with a null key, with offset and size."""
    return pack_message(offset, magic, attributes, time, None, value)


def patched(data: bytes, position: int, new: bytes) -> bytes:
    """`data` with `new` written at `position`; checksums are left as they are."""
    return data[:position] + new + data[position + len(new) :]
