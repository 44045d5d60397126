"""The data source as Spark uses it, without a JVM: planned here, pickled on the way to its tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition

from kafka_segments.spark.source import KafkaSegmentsDataSource, KafkaSegmentsReader


def source_of(**options: str) -> KafkaSegmentsDataSource:
    """The source with these options."""
    return KafkaSegmentsDataSource(CaseInsensitiveDict(options))


def reader_of(**options: str) -> KafkaSegmentsReader:
    """Its reader, of the whole schema."""
    source = source_of(**options)
    return source.reader(source.schema())


def batches_of(
    reader: KafkaSegmentsReader, then: Callable[[], Any] | None = None
) -> Iterator[pa.RecordBatch]:
    """What its tasks read; something may happen between planning and reading."""
    remote, tasks = pickle.loads(pickle.dumps((reader, reader.partitions() or [InputPartition(None)])))
    if then is not None:
        then()
    for task in tasks:
        yield from remote.read(task)


def rows_of(reader: KafkaSegmentsReader, then: Callable[[], Any] | None = None) -> list[dict[str, Any]]:
    """Their rows as they are."""
    return [row for batch in batches_of(reader, then) for row in batch.to_pylist()]
