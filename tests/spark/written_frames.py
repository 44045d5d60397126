"""Writes of DataFrames as Spark makes them, step by step in this process: no session, no Java."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from tests.spark import kafka_rows
from tests.spark.planned import source_of

from kafka_segments.spark.writing.segments_writer import KafkaSegmentsWriter

TYPES: Mapping[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "timestampMs": pa.int64(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
Rows = Sequence[Mapping[str, Any]]


def batch(rows: Rows, *columns: str, **types: pa.DataType) -> pa.RecordBatch:
    """Rows as Spark hands them over; `columns` are all of the first row's, if none is named."""
    names = columns or tuple(rows[0])
    fields = [pa.field(name, types.get(name, TYPES.get(name, pa.binary()))) for name in names]
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], pa.schema(fields))


def writer(
    path: Path, schema: pa.Schema | StructType, *, overwrite: bool = False, **options: str
) -> KafkaSegmentsWriter:
    """The writer as tasks and the driver get it: pickled."""
    columns = (
        from_arrow_schema(schema, prefer_timestamp_ntz=True) if isinstance(schema, pa.Schema) else schema
    )
    source = source_of(path=str(path), **options)
    made: KafkaSegmentsWriter = pickle.loads(pickle.dumps(source.writer(columns, overwrite)))
    return made


def write(path: Path, *tasks: Sequence[pa.RecordBatch], overwrite: bool = False, **options: str) -> None:
    """Write Arrow batches, those of each task; an error of any step aborts, as in Spark."""
    job = writer(path, tasks[0][0].schema, overwrite=overwrite, **options)
    messages: list[Any] = [None] * len(tasks)
    try:
        for number, batches in enumerate(tasks):
            messages[number] = pickle.loads(pickle.dumps(job.write(iter(batches))))
        job.commit(messages)
    except BaseException:
        job.abort(messages)
        raise


def recorded_batches(name: str, num_rows: int = 50, topics: str = ".*") -> list[pa.RecordBatch]:
    """What Kafka itself reads of a recorded set, as rows of a DataFrame."""
    rows = [
        {
            "key": row.key,
            "value": row.value,
            "topic": row.topic,
            "partition": row.partition,
            "offset": row.offset,
            "timestamp": row.timestamp,
            "timestampType": row.timestamp_type,
            "headers": None if row.headers is None else [{"key": k, "value": v} for k, v in row.headers],
        }
        for row in kafka_rows.source_rows(name)
        # Kafka's own writer refuses what is before; other clients do not.
        if row.timestamp >= -1000 and re.fullmatch(topics, row.topic)
    ]
    return [batch(rows[at : at + num_rows]) for at in range(0, len(rows), num_rows)]
