"""Spark on top: the data source `kafka-segments`, and the engine of ingest's tasks.

Users need no import: `spark.read.format("kafka-segments").load(directory)` finds the format by itself,
through the module `pyspark_kafka_segments`.

`take_snapshot` pins what is to be read in a file, for `.option("snapshot", ...)`; `partition_by_key` gives
rows that are to be written the partitions that Kafka would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_segments.errors import MissingExtraError

try:
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    message = f"this needs pyspark ({error}): pip install 'kafka-segments[spark]'"
    raise MissingExtraError(message, extra="spark") from error

if TYPE_CHECKING:
    from kafka_segments.spark.snapshots import take_snapshot
    from kafka_segments.spark.writing.write_rows import partition_by_key

__all__ = ["partition_by_key", "take_snapshot"]


def __getattr__(name: str) -> Any:
    """Import on first use: Spark must find the data source quickly, and without the extras."""
    if name == "take_snapshot":
        from kafka_segments.spark.snapshots import take_snapshot

        return take_snapshot
    if name == "partition_by_key":
        from kafka_segments.spark.writing.write_rows import partition_by_key

        return partition_by_key
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
