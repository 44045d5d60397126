"""Entries as rows of a table and as objects: each of them from the other."""

from __future__ import annotations

from array import array
from types import ModuleType
from typing import Any

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["batch_of", "row_of"]

_ALIKE = (
    "partition_leader_epoch",
    "base_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "num_records",
)
"""Columns that only batches of magic 2 have, and that are attributes of a `Batch`."""


def row_of(batch: Batch, module: ModuleType) -> EntryTable:
    """Return a table of one row for an entry that was read as a `Batch`."""
    is_repeated = batch.magic >= 2
    content = next(at for at, one in enumerate(module.CONTENTS) if one.is_repeated == is_repeated)
    len_head = formats.LEN_HEAD if is_repeated else formats.LEN_LOG_OVERHEAD
    known = {
        "content": content,
        "payload": batch.position + len_head,
        "end_payload": batch.end_position,
        "codec": batch.compression_id,
        "compression": batch.compression_id,
        "timestamp_type": int(batch.timestamp_type == "LogAppendTime"),
        "has_delete_horizon": batch.delete_horizon_ms is not None,
        "last_offset_delta": formats.wrap_long(batch.last_offset - (batch.base_offset or 0)),
        "base_offset": batch.base_offset if is_repeated else batch.last_offset,
    }
    values = [known.get(name, getattr(batch, name, 0)) or 0 for name in module.BATCH_COLUMNS]
    return EntryTable(memoryview(array("q", values)), module)


def batch_of(
    entries: EntryTable, row: int, path: str, previous_offset: int | None, *, crc_valid: bool | None
) -> Batch:
    """Return an entry as an object, as `formats.read_entry_header` reads it.

    Args:
        entries: a table of Kafka's own formats.
        row: of the entry.
        path: of the segment.
        previous_offset: the last sound offset before it.
        crc_valid: whether its checksum is right; None if that was not verified.
    """
    content = kafka_log_segment.CONTENTS[entries.value(row, "content")]
    numbers = entries.part(row, row + 1).memory.tolist()
    of = dict(zip(kafka_log_segment.BATCH_COLUMNS, numbers, strict=True))
    base, timestamp, kind = of["base_offset"], of["max_timestamp"], of["timestamp_type"]
    last, further = base, dict[str, Any]()
    if content.is_repeated:
        further = {name: of[name] for name in _ALIKE}
        delta, sequence = of["last_offset_delta"], of["base_sequence"]
        last = formats.wrap_long(base + delta)
        further["last_sequence"] = -1 if sequence == -1 else formats.increment_sequence(sequence, delta)
        further |= {name: bool(of[name]) for name in ("is_transactional", "is_control")}
        further["delete_horizon_ms"] = of["base_timestamp"] if of["has_delete_horizon"] else None
    has_time = content.is_repeated or of["magic"] > 0
    return Batch(
        path=path,
        position=of["position"],
        size=of["end_position"] - of["position"],
        magic=of["magic"],
        base_offset=base if content.is_repeated or of["codec"] == 0 else None,
        last_offset=last,
        crc=of["crc"],
        crc_valid=crc_valid,
        compression=content.codecs.get(of["compression"]),
        compression_id=of["compression"],
        timestamp_type=formats.TIMESTAMP_TYPE_NAMES[kind] if has_time else "NoTimestampType",
        max_timestamp=timestamp if has_time else -1,
        previous_offset=previous_offset,
        **({"num_records": 1 if of["codec"] == 0 else None} | further),
    )
