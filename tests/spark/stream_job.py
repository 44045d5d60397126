"""A streaming query into Parquet or Delta, as test_streams runs it: here, or in a process that is killed.

Arguments: the sink, the logs, a folder for the checkpoint and what is written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from kafka_segments.spark.task_engine import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "topic,partition,offset,key,value,timestamp"
NUM_OFFSETS = 20
"""Of a batch."""


def into_delta(path: str) -> Callable[[DataFrame, int], None]:
    """Write each batch once: the table has the number of the last one, as application transaction."""

    def write(batch: DataFrame, number: int) -> None:
        last = DeltaTable(path).transaction_version("query") if DeltaTable.is_deltatable(path) else None
        if last is not None and last >= number:
            return
        properties = CommitProperties(app_transactions=[Transaction("query", number)])
        write_deltalake(path, batch.toArrow(), mode="append", commit_properties=properties)

    return write


def run(spark: SparkSession, sink: str, logs: Path, folder: Path) -> list[int]:
    """Take what there is; returns the numbers of rows of the batches."""
    options = {"columns": COLUMNS, "maxOffsetsPerTrigger": str(NUM_OFFSETS)}
    frame = spark.readStream.format("kafka-segments").options(**options).load(str(logs))
    writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    if sink == "delta":
        writer = writer.foreachBatch(into_delta(str(folder / "out")))
    else:
        writer = writer.format("parquet").option("path", str(folder / "out"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [progress.numInputRows for progress in query.recentProgress]


if __name__ == "__main__":
    with open_session("local[2]") as session:
        run(session, sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
