"""Partitions of keys as a column, by which Spark can shuffle before it writes."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StructField, StructType

from kafka_segments.errors import OptionError
from kafka_segments.spark.writing.write_rows import with_partition
from kafka_segments.write.batch_options import MAX_INT, is_integer, shown

__all__ = ["partition_by_key"]


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
            yield with_partition(batch, num_partitions)

    return frame.mapInArrow(add, StructType([*frame.schema, StructField("partition", IntegerType())]))
