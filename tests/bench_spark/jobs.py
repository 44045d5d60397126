"""Jobs that write tables, run by `measure`: `ingest`, and a stub whose tasks write prebuilt rows."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.bench_spark.corpus import NUM_VALUES, record_batch, timed
from tests.ingest.ingested import request_of

from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.job import ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query_options import query_of

# Those of Spark's `kafka` source; topic and partition are in the directories' names.
COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value")
# What ours hands over at a time.
ROWS = 30_000


class SessionEngine:
    """Runs tasks of `ingest` as `SparkEngine` does, in a session that is there."""

    start_seconds = 0.0

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def run(self, tasks: Sequence[Any], show: object = None) -> list[Any]:
        """Run all tasks; return their results in order."""
        return self._context.parallelize(tasks, len(tasks)).mapPartitions(_run_all).collect()


def _run_all(tasks: Iterable[Any]) -> Iterable[Any]:
    for task in tasks:
        yield task.run()


def ingest_into(spark: SparkSession, read: dict[str, Any], folder: str) -> None:
    """One run of `ingest`."""
    options = read["options"]
    query = query_of({name: value for name, value in options.items() if name != "destination"})
    request = request_of((read["path"],), options.get("destination", folder), query, COLUMNS)
    ingest(plan_ingest(request), SessionEngine(spark))


@dataclass(frozen=True)
class StubTask:
    """Rows to write, made beforehand: what writing alone costs.

    Attributes:
        path: of the file.
        num_rows: how many.
    """

    path: str
    num_rows: int

    def run(self) -> None:
        """Write them, in batches as ours has them."""
        schema = schema_of(COLUMNS)
        rows = _prebuilt()
        with ParquetFile(self.path, schema) as file:
            while file.num_rows < self.num_rows:
                start = file.num_rows % rows.num_rows
                file.write(rows.slice(start, min(ROWS, self.num_rows - file.num_rows, rows.num_rows - start)))


_MADE: list[pa.RecordBatch] = []


def _prebuilt() -> pa.RecordBatch:
    """Rows as those of the corpora are, made once in a worker."""
    if not _MADE:
        rows = timed(record_batch(NUM_VALUES), 0)
        columns = {
            "offset": pa.array(range(NUM_VALUES), pa.int64()),
            "timestamp": rows["timestamp"].cast(schema_of(COLUMNS).field("timestamp").type),
            "timestamp_type": pa.array([0] * NUM_VALUES, pa.int8()),
            "key": rows["key"],
            "value": rows["value"],
        }
        _MADE.append(pa.record_batch(columns, schema=schema_of(COLUMNS)))
    return _MADE[0]


def stub_into(spark: SparkSession, read: dict[str, Any], folder: str) -> None:
    """Write as many rows as there are, in as many tasks as ours has."""
    tasks, rows = int(read["options"]["tasks"]), int(read["options"]["rows"])
    made = [StubTask(os.path.join(folder, f"{number}.parquet"), rows) for number in range(tasks)]
    SessionEngine(spark).run(made)


def parquet_into(spark: SparkSession, read: dict[str, Any], folder: str) -> None:
    """Spark's own Parquet writer, with the same compression; its level of ZSTD is 3."""
    frame = spark.read.format(read["format"]).options(**read["options"]).load()
    frame.write.mode("overwrite").option("compression", "zstd").parquet(folder)


JOBS: dict[str, Callable[[SparkSession, dict[str, Any], str], None]] = {
    "ingest": ingest_into,
    "stub_files": stub_into,
    "zstd_files": parquet_into,
}


def run(spark: SparkSession, read: dict[str, Any]) -> int:
    """Run a job into a new directory; return the bytes of its files."""
    folder = tempfile.mkdtemp(dir=Path.cwd())
    try:
        JOBS[read["query"]](spark, read, folder)
        return sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
    finally:
        shutil.rmtree(folder)
