"""The same queries of our source: `spark.read.format("kafka-segments")` on the recorded directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.connector.queries import EXTREME, Query
from tests.connector.served import METADATA, partitions
from tests.recording.sets import RECORDED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def read(spark: SparkSession, query: Query) -> pa.Table:
    """Ask ours, in the order of topic, partition and offset.

    `kafka.bootstrap.servers` is left in as users leave it in.
    """
    options = {"kafka.bootstrap.servers": "broker:9092", "includeHeaders": "true"} | dict(query.options)
    frame = spark.read.format("kafka-segments").options(**options).load(str(RECORDED / query.set_name))
    return frame.toArrow().sort_by([(name, "ascending") for name in ("topic", "partition", "offset")])


def read_all(spark: SparkSession, name: str) -> pa.Table:
    """All of a set; internal topics by name, but the metadata log, which the source cannot read."""
    options = {"includeHeaders": "true", "subscribe": ",".join(partitions(name))}
    frame = spark.read.format("kafka-segments").options(**options).load(str(RECORDED / name))
    found = frame.toArrow()
    return found.sort_by([(name, "ascending") for name in ("topic", "partition", "offset")])


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
