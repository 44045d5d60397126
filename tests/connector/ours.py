"""The same queries of our source: `spark.read.format("kafka-segments")` on the recorded directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.connector.queries import Query
from tests.connector.served import METADATA
from tests.recording.sets import RECORDED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# Options of the source that ours does not take yet; when it does, the tests that wait for it fail until their
# name is taken out here.
NOT_YET = frozenset(
    {
        "assign",
        "subscribe",
        "subscribePattern",
        "startingOffsets",
        "endingOffsets",
        "startingTimestamp",
        "endingTimestamp",
        "startingOffsetsByTimestamp",
        "endingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "minPartitions",
        "maxRecordsPerPartition",
        "failOnDataLoss",
        "kafka.isolation.level",
    }
)


def waits_for(query: Query) -> list[str]:
    """The options of a query that ours does not take yet."""
    return sorted(NOT_YET & set(query.options))


def read(spark: SparkSession, query: Query) -> pa.Table:
    """Ask ours, in the order of topic, partition and offset.

    `kafka.bootstrap.servers` is left in as users leave it in.
    """
    options = {"kafka.bootstrap.servers": "broker:9092", "includeHeaders": "true"} | dict(query.options)
    frame = spark.read.format("kafka-segments").options(**options).load(str(RECORDED / query.set_name))
    return frame.toArrow().sort_by([(name, "ascending") for name in ("topic", "partition", "offset")])


def read_all(spark: SparkSession, name: str) -> pa.Table:
    """All of a set, asked for without an option; but the metadata log, which the source cannot read."""
    frame = spark.read.format("kafka-segments").option("includeHeaders", "true").load(str(RECORDED / name))
    found = frame.filter(f"topic != '{METADATA}'").toArrow()
    return found.sort_by([(name, "ascending") for name in ("topic", "partition", "offset")])
