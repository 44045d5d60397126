"""The same rows through Spark Connect: a client without a JVM, a server that finds the format by itself."""

from __future__ import annotations

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
