"""Rows of a DataFrame as what a writer of segments takes, partition by partition.

The columns are those of the source and of Spark's `kafka` sink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_segments.core.formats.file_names import TopicPartition, parse_directory_name
from kafka_segments.core.segment.columnar.fitted_values import MICROS_PER_MILLI
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.query.options import nearest
from kafka_segments.spark.writing.write_options import WriteOptions
from kafka_segments.write.batch_options import MAX_INT, is_integer, shown
from kafka_segments.write.partitioner import partitions_by_key

__all__ = ["KIND", "LOG_APPEND_TIME", "RowSplitter", "check_write_schema", "partition_by_key"]

KIND = "timestamp_type"
"""Column of the parts: the type of each timestamp, as Kafka numbers it."""
LOG_APPEND_TIME = 1
_KINDS = (-1, 0, LOG_APPEND_TIME)  # TimestampType: none, CreateTime, LogAppendTime
_BYTES = (BinaryType(), StringType())
_TYPES: Mapping[str, tuple[DataType, ...]] = {
    "key": _BYTES,
    "value": _BYTES,
    "topic": (StringType(),),
    "partition": (IntegerType(),),
    "offset": (LongType(),),
    "timestamp": (TimestampType(),),
    "timestampType": (IntegerType(),),
    "timestampMs": (LongType(),),
}
_HEADERS = "headers"
_BY_LOWER = {name.lower(): name for name in (*_TYPES, _HEADERS)}
_NO_TIMESTAMP = -1
_PER_TOPIC = MAX_INT + 1  # partitions that a topic can have


def check_write_schema(schema: StructType, options: WriteOptions) -> None:
    """Check the columns of a DataFrame, whose names may be in any case.

    Raises:
        OptionError: an unknown column, one of another type or twice, no `value`, no topic, two times.
    """
    found = [_BY_LOWER.get(field.name.lower(), "") for field in schema]
    for field, name in zip(schema, found, strict=True):
        if not name:
            raise OptionError(
                f"column {field.name} cannot be written: drop it{nearest(field.name, _BY_LOWER.values())}"
            )
        if found.count(name) > 1:
            raise OptionError(f"there are two columns {name}; leave one")
        _check_column(name, field.dataType)
    if "value" not in found:
        raise OptionError("there is no column value, which records need")
    if "topic" not in found and options.topic is None:
        raise OptionError("there is no column topic: add one, or name one for all rows with option topic")
    if "timestamp" in found and "timestampMs" in found:
        raise OptionError("timestamp and timestampMs are the same time in two forms: drop one")


def _check_column(name: str, kind: DataType) -> None:
    if name == _HEADERS:
        if not _holds_headers(kind):
            expected = "array<struct<key:string,value:binary>>"
            raise OptionError(f"column headers is {kind.simpleString()}; cast it to {expected}")
    elif kind not in _TYPES[name]:
        expected = " or ".join(one.simpleString() for one in _TYPES[name])
        raise OptionError(f"column {name} is {kind.simpleString()}; cast it to {expected}")


def _holds_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = {field.name: field.dataType for field in kind.elementType}
    return list(fields) == ["key", "value"] and all(one in _BYTES for one in fields.values())


class RowSplitter:
    """Divides Arrow batches of a DataFrame by topic and partition.

    Args:
        options: of the write; the columns were checked with them.
    """

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._names: dict[str, TopicPartition] = {}

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        """Yield the rows of each partition, in their order, as columns of a segment writer and `KIND`.

        Raises:
            EncodeError: a row without topic or partition, or with one that Kafka does not allow; a time with
                a fraction of a millisecond.
        """
        if not batch.num_rows:
            return
        columns = {
            _BY_LOWER[name.lower()]: column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        topics, topic_numbers = self._topics(columns.get("topic"), batch.num_rows)
        numbers = self._partitions(columns, batch.num_rows)
        rows = _as_written(columns, batch.num_rows)
        codes, places, counts = np.unique(
            topic_numbers * _PER_TOPIC + numbers, return_inverse=True, return_counts=True
        )
        if len(codes) > 1:
            rows = rows.take(pa.array(np.argsort(places.reshape(-1), kind="stable")))
        first = 0
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            topic, partition = divmod(code, _PER_TOPIC)
            yield self._name(topics[topic], partition), rows.slice(first, count)
            first += count

    def _topics(self, column: pa.Array | None, num_rows: int) -> tuple[list[str], Any]:
        """Return the topics, and of each row the number of its own."""
        if self._options.topic is not None or column is None:
            return [str(self._options.topic)], np.zeros(num_rows, np.int64)
        if column.null_count:
            raise EncodeError(
                "a row has no topic, its column topic is null: leave such rows out, or name one for all "
                "rows with option topic"
            )
        encoded = column.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)

    def _partitions(self, columns: Mapping[str, pa.Array], num_rows: int) -> Any:
        """Return the partition of each row: its own, or that of its key."""
        column = columns.get("partition")
        if column is None or column.null_count == num_rows:
            return _by_key(columns.get("key"), np.ones(num_rows, bool), self._options.num_partitions)
        numbers = column.fill_null(0).to_numpy().astype(np.int64)
        if numbers.min() < 0:
            raise EncodeError(f"a row has partition {numbers.min()}; partitions count from 0")
        if column.null_count:
            is_null = column.is_null().to_numpy(zero_copy_only=False)
            by_key = _by_key(columns.get("key"), is_null, self._options.num_partitions)
            numbers = np.where(is_null, by_key, numbers)
        return numbers

    def _name(self, topic: str, partition: int) -> TopicPartition:
        name = f"{topic}-{partition}"
        if name not in self._names:
            parsed = parse_directory_name(name)
            if parsed is None:
                raise EncodeError(
                    f"a row has topic {topic!r:.80}; a topic's name is 1 to 249 of the characters a-z A-Z "
                    "0-9 . _ -, and neither . nor .."
                )
            self._names[name] = parsed
        return self._names[name]


def partition_by_key(frame: DataFrame, num_partitions: int) -> DataFrame:
    """Add the column `partition`, computed from each row's key as by Kafka's default partitioner.

    Args:
        frame: rows with a column `key`, binary or string, and without a column `partition`.
        num_partitions: the topic's.

    Raises:
        OptionError: other columns, or a number below 1. When the frame is used, an `EncodeError` for a row
            without a key.

    Example:
        `partition_by_key(frame, 6).repartition("partition").write.format("kafka-segments")`
    """
    if not is_integer(num_partitions) or not 1 <= num_partitions <= MAX_INT:
        raise OptionError(f"num_partitions is {shown(num_partitions)}; give an integer from 1 to {MAX_INT}")
    kinds = {field.name.lower(): field.dataType.simpleString() for field in frame.schema}
    if kinds.get("key") not in ("binary", "string") or "partition" in kinds:
        raise OptionError(
            f"columns are {', '.join(frame.columns)}; there must be a key, binary or string, and no partition"
        )

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _with_partition(batch, num_partitions)

    return frame.mapInArrow(add, StructType([*frame.schema, StructField("partition", IntegerType())]))


def _with_partition(batch: pa.RecordBatch, num_partitions: int) -> pa.RecordBatch:
    """Return rows with the column `partition`: of each row's key, as Kafka's default partitioner.

    Raises:
        EncodeError: a row has no key, and there are several partitions.
    """
    names = [name.lower() for name in batch.schema.names]
    keys = batch.column(names.index("key")) if "key" in names else None
    numbers = _by_key(keys, np.ones(batch.num_rows, bool), num_partitions)
    return batch.append_column("partition", pa.array(numbers.astype(np.int32)))


def _by_key(keys: pa.Array | None, are_asked: Any, num_partitions: int) -> Any:
    """Return the partition of each key, which those that are asked for must have."""
    if num_partitions == 1:
        return np.zeros(len(are_asked), np.int64)
    if keys is None or (keys.is_null().to_numpy(zero_copy_only=False) & are_asked).any():
        raise EncodeError(
            "a row has neither partition nor key. Kafka spreads such rows at random, but a repeated task "
            "must write the same: give them a partition"
        )
    return partitions_by_key(keys.cast(pa.binary()), num_partitions)


def _as_written(columns: Mapping[str, pa.Array], num_rows: int) -> pa.RecordBatch:
    """Return the columns of records, with times as milliseconds."""
    found = {name: columns[name] for name in ("offset", "key", "value", _HEADERS) if name in columns}
    if "timestamp" in columns:
        found["timestamp_ms"] = _millis(columns["timestamp"])
    elif "timestampMs" in columns:
        found["timestamp_ms"] = columns["timestampMs"].fill_null(_NO_TIMESTAMP)
    else:
        found["timestamp_ms"] = pa.array(np.full(num_rows, _NO_TIMESTAMP, np.int64))
    found[KIND] = _kinds(columns.get("timestampType"), num_rows)
    return pa.RecordBatch.from_pydict(found)


def _millis(column: pa.Array) -> pa.Array:
    micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    micros = micros.fill_null(_NO_TIMESTAMP * MICROS_PER_MILLI).to_numpy()
    if (micros % MICROS_PER_MILLI).any():
        raise EncodeError(
            "a timestamp has a fraction of a millisecond, which Kafka does not keep: "
            "date_trunc('MILLISECOND', timestamp) removes it"
        )
    return pa.array(micros // MICROS_PER_MILLI)


def _kinds(column: pa.Array | None, num_rows: int) -> pa.Array:
    """Return the types of timestamps; messages of magic 0 have none, and become batches of CreateTime."""
    if column is None:
        return pa.array(np.zeros(num_rows, np.int32))
    kinds = column.fill_null(0).to_numpy()
    wrong = kinds[~np.isin(kinds, _KINDS)]
    if len(wrong):
        raise EncodeError(
            f"a row has timestampType {wrong[0]}; it must be 0 (CreateTime), 1 (LogAppendTime) or -1"
        )
    return pa.array(np.maximum(kinds, 0))
