"""Streaming queries through Spark: rows, checkpoints, triggers; and queries that are killed."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.forms import pick
from tests.house.test_docs import code_blocks
from tests.made.directories import append, run_of
from tests.python import environment
from tests.spark import conftest, kafka_rows

pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2 or newer")

from tests.spark import stream_job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Offsets = list[tuple[str, int, int]]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(3):
        append(tmp_path / "logs" / f"t-{number}", *run_of(0, 15 + number))
    return tmp_path / "logs"


def stream(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.readStream.format("kafka-segments").options(**options).load(str(path))


def rows_of(spark: SparkSession, sink: str, folder: Path) -> list[tuple[object, ...]]:
    """The rows that a query wrote, in order."""
    if sink == "delta":
        from deltalake import DeltaTable

        table = DeltaTable(str(folder / "out")).to_pyarrow_table()
    else:
        table = spark.read.parquet(str(folder / "out")).toArrow()
    return _ordered(table.select(stream_job.COLUMNS.split(",")))


def rows_at(spark: SparkSession, logs: Path) -> list[tuple[object, ...]]:
    """The rows that the batch source has of the logs, in order."""
    frame = spark.read.format("kafka-segments").option("columns", stream_job.COLUMNS).load(str(logs))
    return _ordered(frame.toArrow())


def _ordered(table: object) -> list[tuple[object, ...]]:
    columns = table.to_pydict()  # type: ignore[attr-defined]
    return sorted(zip(*columns.values(), strict=True), key=lambda row: row[:3])


@pytest.mark.long
@pytest.mark.parametrize("name", pick(("kafka-2.8/clean",), kafka_rows.SETS))
def test_rows_of_recorded_logs(spark: SparkSession, tmp_path: Path, name: str) -> None:
    expected = kafka_rows.source_rows(name)
    topics = ",".join(sorted({row.topic for row in expected}))
    frame = stream(spark, kafka_rows.RECORDED / name, includeHeaders="true", subscribe=topics)
    writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True).start()
    query.awaitTermination()
    rows = kafka_rows.of_arrow(spark.read.parquet(str(tmp_path / "out")).toArrow())
    assert sorted(rows, key=lambda row: row[2:5]) == sorted(expected, key=lambda row: row[2:5])


def test_a_query_goes_on_with_its_checkpoint(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    assert stream_job.run(spark, "parquet", logs, tmp_path) == [19, 18, 11]
    append(logs / "t-0", *run_of(15, 18))
    append(logs / "t-3", *run_of(0, 3))
    assert sum(stream_job.run(spark, "parquet", logs, tmp_path)) == 6
    assert rows_of(spark, "parquet", tmp_path) == rows_at(spark, logs)
    # What docs/streaming.md has to begin another query there.
    _, into_delta, starting_offsets = code_blocks(conftest.ROOT / "docs" / "streaming.md", "python")
    assert into_delta == inspect.getsource(stream_job.into_delta)
    page: dict[str, Any] = {"SparkSession": object}
    exec(starting_offsets, page)
    found = json.loads(page["starting_offsets"](spark, str(tmp_path / "checkpoint")))
    assert found.pop("#logs").keys() == {"t"}
    assert found == {"t": {"0": 18, "1": 16, "2": 17, "3": 3}}


def test_a_trigger_by_time_and_the_lag(spark: SparkSession, logs: Path) -> None:
    frame = stream(spark, logs, maxOffsetsPerTrigger="6", columns="partition,offset")
    query = (
        frame.writeStream.format("memory")
        .queryName("rows_by_time")
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        query.processAllAvailable()
        append(logs / "t-1", *run_of(16, 22))
        query.processAllAvailable()
        rows = spark.sql("SELECT partition, offset FROM rows_by_time ORDER BY 1, 2").collect()
        source = query.lastProgress.sources[0]
    finally:
        query.stop()
    ends = {0: 15, 1: 22, 2: 17}
    assert [tuple(row) for row in rows] == [(at, offset) for at, end in ends.items() for offset in range(end)]
    assert source.latestOffset == '{"t": {"0": 15, "1": 22, "2": 17}}'
    assert source.endOffset.startswith('{"t": {"0": 15, "1": 22, "2": 17}, "#logs": ')


@pytest.mark.long(short=False)
def test_an_error_names_what_to_do(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    stream_job.run(spark, "parquet", logs, tmp_path)
    (logs / "t-0" / f"{0:020}.log").write_bytes(b"".join(run_of(0, 3)))
    with pytest.raises(Exception, match=r"TruncatedLogError: t-0 was read .* with another checkpoint"):
        stream_job.run(spark, "parquet", logs, tmp_path)


POINTS = {
    "a batch is planned": ("checkpoint/offsets/1",),
    "a batch is written": ("out/_spark_metadata/1", f"out/_delta_log/{1:020}.json"),
    "a batch is committed": ("checkpoint/commits/1",),
}
ALL = [(sink, point) for sink in ("parquet", "delta") for point in POINTS]


def kill_at(sink: str, logs: Path, folder: Path, point: str, seconds: float = 0.0) -> int:
    """Run the query, and kill its processes so long after one of the point's files has appeared.

    Returns how it ended: 0 if it was too late.
    """
    command = [sys.executable, "-m", "tests.spark.stream_job", sink, str(logs), str(folder)]
    with subprocess.Popen(
        command, env=environment(), start_new_session=True, stderr=subprocess.DEVNULL
    ) as job:
        while job.poll() is None and not any((folder / name).exists() for name in POINTS[point]):
            time.sleep(0.002)
        try:
            job.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
        return job.wait()


def check_rerun(spark: SparkSession, sink: str, logs: Path, folder: Path) -> None:
    """Another run of the query ends with the rows of a read, each once."""
    append(logs / "t-0", *run_of(15, 18))
    stream_job.run(spark, sink, logs, folder)
    assert rows_of(spark, sink, folder) == rows_at(spark, logs)


@pytest.mark.long(short=False)
@pytest.mark.parametrize(("sink", "point"), ALL)
def test_a_query_that_is_killed(
    spark: SparkSession, logs: Path, tmp_path: Path, sink: str, point: str
) -> None:
    assert kill_at(sink, logs, tmp_path, point) == -signal.SIGKILL
    check_rerun(spark, sink, logs, tmp_path)


@pytest.mark.long(short=False)
@pytest.mark.parametrize("seed", range(20))
def test_a_query_that_is_killed_at_some_moment(
    spark: SparkSession, logs: Path, tmp_path: Path, seed: int
) -> None:
    sink = ("parquet", "delta")[seed % 2]
    status = kill_at(sink, logs, tmp_path, "a batch is planned", Random(seed).uniform(0.0, 4.0))
    assert status in (0, -signal.SIGKILL)
    check_rerun(spark, sink, logs, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("sink", pick(("delta",), ("parquet", "delta")))
def test_a_batch_whose_commit_was_not_noted(
    spark: SparkSession, logs: Path, tmp_path: Path, sink: str
) -> None:
    stream_job.run(spark, sink, logs, tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    shutil.move(commits / "2", tmp_path / "2")
    (commits / ".2.crc").unlink(missing_ok=True)
    check_rerun(spark, sink, logs, tmp_path)
