"""Batches and messages with all that records can have, and ways to damage them."""

from __future__ import annotations

from typing import Any

from tests.made.encoder import Batch, Message, Record

RECORDS = (
    Record(0, 0, b"key", b"value"),
    Record(1, 5, None, b""),
    Record(2, -70_000, b"", None, ((b"h", b"1"), (b"", None), (b"long" * 40, b"x" * 200))),
    Record(3, 1 << 40, b"k" * 70, b"v" * 300, ((b"trace", b""),)),
    Record(200, 1, b"\x80\xff", b"\x00" * 17),
)
BATCHES = (
    Batch(base_offset=7, records=RECORDS, base_timestamp=1_700_000_000_000),
    Batch(base_offset=(1 << 63) - 2, records=RECORDS[:3], base_timestamp=(1 << 63) - 3, timestamp_type=0),
    Batch(
        base_offset=50,
        records=RECORDS[1:],
        base_timestamp=5,
        max_timestamp=99,
        timestamp_type=1,
        leader_epoch=4,
        producer_id=1 << 40,
        producer_epoch=32767,
        base_sequence=2147483645,
    ),
    Batch(base_offset=400, records=(), is_control=True),
    Batch(base_offset=500, records=RECORDS * 3),
)
MESSAGES = (
    Message(3, 0, None, b"zero"),
    Message(4, 0, b"key", None),
    Message(5, 1, b"", b"", timestamp=1_700_000_000_000),
    Message(6, 1, b"k" * 40, b"v" * 90, timestamp=-1, timestamp_type=1),
)


def table_row(module: Any, **values: int) -> list[int]:
    """A row of the table."""
    return [values.get(name, 0) for name in module.BATCH_COLUMNS]


def further_of(batch: Batch) -> list[tuple[int, ...]]:
    """What else a decoder tells of each record: leader epoch, producer, its epoch, sequence."""
    sequences = [(batch.base_sequence + record.offset_delta) % (1 << 31) for record in batch.records]
    same = batch.leader_epoch, batch.producer_id, batch.producer_epoch
    return [(*same, -1 if batch.base_sequence < 0 else sequence) for sequence in sequences]


def header_of(batch: Batch) -> dict[str, int]:
    """What the table has of a batch, as far as records need it."""
    return {
        "base_offset": batch.base_offset,
        "timestamp_type": batch.timestamp_type,
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.highest_timestamp(),
        "is_control": int(batch.is_control),
        "num_records": len(batch.records) if batch.count is None else batch.count,
        "partition_leader_epoch": batch.leader_epoch,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
    }
