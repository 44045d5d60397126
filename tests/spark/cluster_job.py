"""Run by test_cluster: reads, writes, ingests and runs tests with executors that are processes of their own.

Arguments: the source, a directory for what was found, then pytest's, which runs last in the same session.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.spark.flaky import FlakyDataSource, FlakyTask

from kafka_segments.cli.main import main
from kafka_segments.ingest import job, splits
from kafka_segments.spark import task_engine
from kafka_segments.spark.task_engine import open_session

MASTER = "local-cluster[2,1,1024]"


def run(source: str, found: Path, tests: list[str]) -> int:
    with open_session(MASTER) as spark:
        frame = spark.read.format("kafka-segments").option("includeHeaders", "true").load(source)
        pq.write_table(frame.toArrow(), found / "read.parquet")
        spark.dataSource.register(FlakyDataSource)
        writable = frame.filter("timestamp >= timestamp_millis(-1)").repartition(4, "topic", "partition")
        in_order = writable.sortWithinPartitions("topic", "partition", "offset")
        in_order.write.format("flaky-segments").mode("append").save(str(found / "written"))
        pids = spark.sparkContext.parallelize(range(8), 8).map(lambda _: os.getppid()).distinct().collect()
        (found / "pids.json").write_text(json.dumps([os.getpid(), *pids]))

        @contextmanager
        def shared(_master: str) -> Iterator[SparkSession]:
            yield spark

        task_engine.open_session = shared  # type: ignore[assignment]
        job.WriteTask = FlakyTask  # type: ignore[misc]
        splits._TASK_BYTES = 16 << 20  # several tasks
        with (found / "table.txt").open("w") as table, redirect_stdout(table):
            status = main(["ingest", source, str(found / "ingested"), "--master", MASTER])
        (found / "status.json").write_text(json.dumps(status))
        # The fixture `spark` of the tests gets the session that is there.
        return status or pytest.main(tests)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
