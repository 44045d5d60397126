"""Arrow batches of records as the columns that Spark's `kafka` source has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute

from kafka_segments.errors import TimestampRangeError
from kafka_segments.layout import java_text
from kafka_segments.spark.splits import SegmentSplit

__all__ = ["source_columns", "spark_batch"]

# Of our columns, those that a column of Spark's is made from, by its name in lower case (a user's schema may
# write it in any). The offset always comes along: it counts the rows, and an error names it.
_SOURCES = {
    "key": "key",
    "value": "value",
    "timestamp": "timestamp",
    "timestamptype": "timestamp_type",
    "headers": "headers",
}
pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them
_MICROS = 1000
_MAX_MILLIS = (2**63 - 1) // _MICROS


def source_columns(schema: pa.Schema) -> list[str]:
    """Which of our columns the columns of `schema` are made from; the offset in any case."""
    names = (name.lower() for name in schema.names)
    return ["offset", *(_SOURCES[name] for name in names if name in _SOURCES)]


def spark_batch(batch: pa.RecordBatch, schema: pa.Schema, split: SegmentSplit) -> pa.RecordBatch:
    """Data records as a batch of exactly `schema`: some of the columns of the `kafka` source, in any order.

    Args:
        batch: has the columns of `source_columns`.
        schema: Spark's.
        split: where the records are from.

    Raises:
        TimestampRangeError: a timestamp is beyond what microseconds in 64 bits can say.
    """
    columns = [_BUILDERS[field.name.lower()](batch, split, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _timestamps(batch: pa.RecordBatch, split: SegmentSplit, column_type: pa.DataType) -> pa.Array:
    millis = batch.column("timestamp").view(pa.int64())
    extremes = pc.min_max(millis).as_py()
    if extremes["min"] < -_MAX_MILLIS or extremes["max"] > _MAX_MILLIS:
        raise _out_of_range(batch, split, millis)
    return pc.multiply(millis, _MICROS).view(column_type)


def _out_of_range(batch: pa.RecordBatch, split: SegmentSplit, millis: pa.Array) -> TimestampRangeError:
    row = next(row for row, value in enumerate(millis.to_pylist()) if abs(value) > _MAX_MILLIS)
    offset, timestamp = batch.column("offset")[row].as_py(), millis[row].as_py()
    return TimestampRangeError(
        f"offset {offset}: the timestamp {timestamp} (milliseconds) is beyond the range of Spark's "
        "timestamps (microseconds); read this topic without the column timestamp, as in "
        '.schema("key binary, value binary, offset bigint"), or with `kafka-segments dump`',
        offset=offset,
        timestamp=timestamp,
        path=split.path,
    )


def _headers(batch: pa.RecordBatch, _split: SegmentSplit, column_type: pa.DataType) -> pa.Array:
    """Headers with keys as text; null, not an empty list, for a record without any (as the connector's)."""
    headers = batch.column("headers")
    pairs = headers.values
    struct = column_type.value_type
    arrays = [_text(pairs.field("key")), pairs.field("value")]
    texts = pa.StructArray.from_arrays(arrays, fields=[struct.field(0), struct.field(1)])
    is_empty = pc.equal(pc.list_value_length(headers), 0)
    return pa.ListArray.from_arrays(headers.offsets, texts, type=column_type, mask=is_empty)


def _text(keys: pa.Array) -> pa.Array:
    """Keys as text, each different one decoded once."""
    encoded = keys.dictionary_encode()
    texts = pa.array([java_text(key) for key in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _repeat(batch: pa.RecordBatch, value: str | int, column_type: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, column_type), batch.num_rows)


_BUILDERS: dict[str, Callable[[pa.RecordBatch, SegmentSplit, pa.DataType], pa.Array]] = {
    "key": lambda batch, _split, _type: batch.column("key"),
    "value": lambda batch, _split, _type: batch.column("value"),
    "topic": lambda batch, split, column_type: _repeat(batch, split.topic, column_type),
    "partition": lambda batch, split, column_type: _repeat(batch, split.partition, column_type),
    "offset": lambda batch, _split, _type: batch.column("offset"),
    "timestamp": _timestamps,
    "timestamptype": lambda batch, _split, column_type: batch.column("timestamp_type").cast(column_type),
    "headers": _headers,
}
