"""The Python of docs/spark.md and the pages beside it runs as it stands, but for the paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.house.commands import run_page

import kafka_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long(short=False)]

BEGIN = 1750000000000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log of 4 records, half of them of 2024."""
    folder = tmp_path / "logs"
    (folder / "orders-0").mkdir(parents=True)
    times = (1714000000000, 1714000000001, BEGIN, BEGIN + 1)
    with kafka_segments.open_writer(str(folder / "orders-0" / f"{0:020}.log")) as writer:
        writer.write([{"timestamp": time, "key": b"%d" % time, "value": b"v"} for time in times])
    return folder


def test_the_code_of_the_pages_runs(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    found = run_page("spark.md", "history = ", {"/var/lib/kafka/data": logs}, spark=spark)
    assert found["history"].count() == 4
    paths = {"s3a://archive/logs": logs, "/shared/orders.snapshot": tmp_path / "snapshot"}
    assert run_page("spark.md", "take_snapshot", paths, spark=spark)["frame"].count() == 4
    orders = run_page("cookbook/coming-from.md", "orders = ", {'"logs"': f'"{logs}"'}, spark=spark)["orders"]
    assert {"headers", "timestampType"} < set(orders.columns) and orders.count() == 4
    restored = tmp_path / "restored"
    run_page("writing.md", "kept.write", {"/archive": logs, "/restored": restored}, spark=spark)
    read = spark.read.format("kafka-segments").load(str(restored))
    assert sorted(row.offset for row in read.collect()) == [2, 3]
    rows = found["history"].select("key", "value")
    run_page("writing.md", "partition_by_key", {"/restored": tmp_path / "by-key"}, frame=rows)
    assert spark.read.format("kafka-segments").load(str(tmp_path / "by-key")).count() == 4


def test_the_stream_of_the_page_runs(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    if spark.version < "4.2":
        pytest.skip("streams need Spark 4.2")
    lake = {"/lake/orders": tmp_path / "rows", "/lake/checkpoints/orders": tmp_path / "checkpoint"}
    found = run_page("streaming.md", "readStream", {"/var/lib/kafka/data": logs, **lake}, spark=spark)
    found["query"].awaitTermination()
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 4
