"""The same queries of our source: `spark.read.format("kafka-segments")` on the recorded directories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.connector.queries import EXTREME, Query
from tests.connector.served import METADATA, partitions
from tests.recording.sets import RECORDED
from tests.spark.planned import batches_of, reader_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def load(spark: SparkSession | None, name: str, options: Mapping[str, str]) -> pa.Table:
    """The rows of a set in the order of topic, partition and offset.

    Args:
        spark: what reads; None for the source's reader in this process, pickled on the way to its tasks.
        name: of the set.
        options: of the source.
    """
    path = str(RECORDED / name)
    if spark is None:
        found = pa.Table.from_batches(batches_of(reader_of(path=path, **options)))
    else:
        found = spark.read.format("kafka-segments").options(**options).load(path).toArrow()
    return found.sort_by([(column, "ascending") for column in ("topic", "partition", "offset")])


def read(spark: SparkSession | None, query: Query) -> pa.Table:
    """Ask ours; `kafka.bootstrap.servers` is left in as users leave it in."""
    options = {"kafka.bootstrap.servers": "broker:9092", "includeHeaders": "true"} | dict(query.options)
    return load(spark, query.set_name, options)


def read_all(spark: SparkSession | None, name: str) -> pa.Table:
    """All of a set; internal topics by name, but the metadata log, which the source cannot read."""
    options = {"includeHeaders": "true", "subscribe": ",".join(partitions(name))}
    return load(spark, name, options)


def read_extremes(spark: SparkSession) -> list[dict[str, Any]]:
    """The set whose timestamps Spark cannot hold, which are null then; as numbers in timestampMs too."""
    columns = "key,value,topic,partition,offset,timestamp,timestampType,headers,timestampMs"
    options = {"columns": columns, "timestampOverflow": "null"}
    frame = spark.read.format("kafka-segments").options(**options).load(str(RECORDED / EXTREME))
    found = frame.filter(f"topic != '{METADATA}'").toArrow()
    return plain(found.sort_by([(name, "ascending") for name in ("topic", "partition", "offset")]))


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with timestamps in microseconds: Python's datetime ends with the year 9999."""
    position = table.schema.get_field_index("timestamp")
    return table.set_column(position, "timestamp", table["timestamp"].cast("int64")).to_pylist()
