"""A row for each batch, from its header alone: nothing is decompressed and no checksum verified.

Columns are those of the table of entries, with these differences: `size` in bytes, `last_offset` of a batch,
`leader_epoch` for `partition_leader_epoch`, `compression` by name (null if unknown), `timestamp_type` -1 in
magic 0. Null is what a format does not have or where -1 stands for none; of a wrapper, `base_offset` and
`num_records`, which its content has. Flags are false in the old formats.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.segment.columnar.arrow_schema import NONE, TIMESTAMP
from kafka_segments.core.segment.columnar.header_table import array_of
from kafka_segments.core.segment.scan.entry_table import EntryTable

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
    """Return entries as rows of `BATCHES_SCHEMA`."""
    is_batch, is_wrapper, is_old = entries.is_batch(), entries.is_wrapper(), entries.column("magic") < 1
    values = {
        "size": entries.column("end_position") - entries.column("position"),
        "last_offset": entries.stated_last_offsets(),
        "num_records": np.where(is_batch, entries.column("num_records"), 1),
        "timestamp_type": np.where(is_old, NONE, entries.column("timestamp_type")),
        "leader_epoch": entries.column("partition_leader_epoch"),
    }
    absent = {
        "base_offset": is_wrapper,
        "num_records": is_wrapper,
        "base_timestamp": ~is_batch,
        "max_timestamp": is_old,
    }
    everywhere = np.zeros(len(entries), bool)

    def column(field: pa.Field) -> pa.Array:
        if field.name == "compression":
            return _compression(entries)
        found = entries.column(field.name) if field.name not in values else values[field.name]
        if pa.types.is_boolean(field.type):
            found = np.where(is_batch, found, 0)
        nulls = absent.get(field.name, ~is_batch | (found == NONE)) if field.nullable else everywhere
        return array_of(found, field.type, nulls)

    return pa.RecordBatch.from_arrays([column(field) for field in BATCHES_SCHEMA], schema=BATCHES_SCHEMA)


def _compression(entries: EntryTable) -> pa.Array:
    codecs = entries.column("codec")
    indices = array_of(np.minimum(codecs, len(_CODECS) - 1), pa.int8(), codecs >= len(_CODECS))
    return pa.DictionaryArray.from_arrays(indices, _CODECS).dictionary_decode()
