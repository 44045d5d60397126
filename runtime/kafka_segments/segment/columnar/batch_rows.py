"""A row for each batch: what its header says, with nothing decompressed and no checksum verified.

| column | type | meaning |
|---|---|---|
| `position`, `size` | int64, int32 | where it is in the segment, in bytes |
| `base_offset`, `last_offset` | int64 | of its records; the first of a wrapper is null, for it is inside |
| `num_records` | int32 | null for a wrapper |
| `magic`, `compression` | int8, string | the format, and the codec's name (null for an unknown one) |
| `timestamp_type` | int8 | Kafka's ids: -1 none (magic 0), 0 CreateTime, 1 LogAppendTime |
| `base_timestamp`, `max_timestamp` | timestamp[ms, UTC] | null where the format has none |
| `leader_epoch`, `producer_id` | int32, int64 | null for none |
| `producer_epoch`, `base_sequence` | int32, int32 | null for none |
| `is_transactional`, `is_control`, `has_delete_horizon` | bool | false in the old formats |
| `crc` | int64 | as it is stored |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.codecs import CODEC_NAMES
from kafka_segments.segment.columnar.arrow_schema import NONE, TIMESTAMP
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.header_table import array_of

__all__ = ["BATCHES_SCHEMA", "overview"]

BATCHES_SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int32(), nullable=False),
        pa.field("base_offset", pa.int64()),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("num_records", pa.int32()),
        pa.field("magic", pa.int8(), nullable=False),
        pa.field("compression", pa.string()),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("base_timestamp", TIMESTAMP),
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("base_sequence", pa.int32()),
        pa.field("is_transactional", pa.bool_(), nullable=False),
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("has_delete_horizon", pa.bool_(), nullable=False),
        pa.field("crc", pa.int64(), nullable=False),
    ]
)
_CODECS = pa.array(["none", *CODEC_NAMES], pa.string())


def overview(entries: EntryTable) -> pa.RecordBatch:
    """Some entries as rows of `BATCHES_SCHEMA`."""
    is_batch, is_wrapper = entries.is_batch(), entries.is_wrapper()
    is_old = entries.column("magic") < 1
    everywhere = np.zeros(len(entries), bool)

    def numbers(name: str, absent: Any = everywhere, values: Any = None) -> pa.Array:
        return array_of(entries.column(name) if values is None else values, kinds[name], absent)

    def of_batches(name: str, column: str) -> pa.Array:
        values = entries.column(column)
        return numbers(name, ~is_batch | (values == NONE), values)

    def flag(name: str) -> pa.Array:
        return numbers(name, values=np.where(is_batch, entries.column(name), 0))

    kinds = {field.name: field.type for field in BATCHES_SCHEMA}
    sizes = entries.column("end_position") - entries.column("position")
    counts = np.where(is_batch, entries.column("num_records"), 1)
    types = np.where(is_old, -1, entries.column("timestamp_type"))
    return pa.RecordBatch.from_arrays(
        [
            numbers("position"),
            numbers("size", values=sizes),
            numbers("base_offset", is_wrapper),
            numbers("last_offset", values=entries.last_offsets()),
            numbers("num_records", is_wrapper, counts),
            numbers("magic"),
            _compression(entries),
            numbers("timestamp_type", values=types),
            numbers("base_timestamp", ~is_batch),
            numbers("max_timestamp", is_old),
            of_batches("leader_epoch", "partition_leader_epoch"),
            of_batches("producer_id", "producer_id"),
            of_batches("producer_epoch", "producer_epoch"),
            of_batches("base_sequence", "base_sequence"),
            flag("is_transactional"),
            flag("is_control"),
            flag("has_delete_horizon"),
            numbers("crc"),
        ],
        schema=BATCHES_SCHEMA,
    )


def _compression(entries: EntryTable) -> pa.Array:
    codecs = entries.column("codec")
    indices = array_of(np.minimum(codecs, len(_CODECS) - 1), pa.int8(), codecs >= len(_CODECS))
    return pa.DictionaryArray.from_arrays(indices, _CODECS).dictionary_decode()
