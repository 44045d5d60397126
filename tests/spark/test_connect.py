"""The same rows through Spark Connect: a client without a JVM; a server that finds, lists, writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.connect, pytest.mark.long(short=False)]

NAME = "kafka-4.3/clean"


def test_rows_through_connect(connect: SparkSession) -> None:
    assert type(connect).__module__.startswith("pyspark.sql.connect."), "not a session of Spark Connect"
    reader = connect.read.format("kafka-segments").option("includeHeaders", "true")
    frame = reader.load(str(kafka_rows.RECORDED / NAME))
    assert kafka_rows.of_arrow(frame.toArrow()) == kafka_rows.source_rows(NAME)


def test_filters_and_views_through_connect(connect: SparkSession) -> None:
    path = kafka_rows.RECORDED / NAME / "multi-0"
    expected = [
        row.offset for row in kafka_rows.rows(NAME) if row.topic == "multi" and 3 <= row.offset <= 130
    ]
    assert expected
    for pushdown in ("false", "true"):
        connect.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
        frame = connect.read.format("kafka-segments").load(str(path))
        frame.createOrReplaceTempView("multi")
        found = connect.sql("SELECT offset FROM multi WHERE offset BETWEEN 3 AND 130 ORDER BY offset")
        assert [row.offset for row in found.collect()] == expected


def test_errors_through_connect(connect: SparkSession) -> None:
    frame = connect.read.format("kafka-segments").load("/nowhere/at/all")
    with pytest.raises(Exception, match="ReadError: /nowhere/at/all: No such file"):
        frame.collect()


CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
FORMAT = "kafka-segments"


def test_snapshot_and_views_through_connect(connect: SparkSession, tmp_path: Path) -> None:
    from kafka_segments.spark import take_snapshot

    expected = kafka_rows.source_rows("kafka-4.3/clean")
    view = f"CREATE TEMPORARY VIEW heads USING `{FORMAT}` OPTIONS (path '{CLEAN}', view 'batches')"
    connect.sql(view)
    counted = connect.sql("SELECT sum(numRecords) FROM heads WHERE NOT isControl").first()
    assert counted is not None
    assert counted[0] == len(expected)
    pinned = str(tmp_path / "now.snapshot")
    take_snapshot(connect, str(CLEAN), pinned)
    reader = connect.read.format(FORMAT)
    committed = reader.options(snapshot=pinned, isolationLevel="read_committed").load()
    assert 0 < committed.count() < len(expected)
    with pytest.raises(
        Exception, match=r"OptionError: unknown option startingoffset; did you mean startingOffsets\?"
    ):
        connect.read.format(FORMAT).option("startingOffset", "earliest").load(str(CLEAN)).count()
