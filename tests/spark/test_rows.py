"""Every row that Spark gives equals what Kafka's own reader found, for every recorded topic of magic 2."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from tests.spark import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def by_topic(rows: list[kafka_rows.Row]) -> dict[str, list[kafka_rows.Row]]:
    return {topic: list(group) for topic, group in groupby(rows, key=lambda row: row.topic)}


def test_every_recorded_set_is_compared() -> None:
    recorded = {
        path.parent.relative_to(kafka_rows.RECORDED).as_posix()
        for path in kafka_rows.RECORDED.rglob("meta.properties")
    }
    assert recorded == {*kafka_rows.SETS, kafka_rows.EXTREME}


@pytest.mark.parametrize("name", kafka_rows.SETS)
def test_rows_of_a_set(spark: SparkSession, name: str) -> None:
    root = kafka_rows.RECORDED / name
    expected = by_topic(kafka_rows.source_rows(name))
    assert expected
    table = spark.read.format("kafka-segments").option("includeHeaders", "true").load(str(root)).toArrow()
    actual = by_topic(kafka_rows.of_arrow(table))
    assert list(actual) == list(expected)
    for topic, rows in expected.items():
        assert len(actual[topic]) == len(rows), topic
        assert [row.offset for row in actual[topic]] == [row.offset for row in rows], topic
        assert actual[topic] == rows, topic


def test_counts_and_offsets_by_sql(spark: SparkSession) -> None:
    spark.read.format("kafka-segments").load(
        str(kafka_rows.RECORDED / "kafka-4.3/clean")
    ).createOrReplaceTempView("t")
    found = spark.sql(
        "SELECT topic, partition, count(*), min(offset), max(offset) FROM t GROUP BY topic, partition"
    ).collect()
    expected = {}
    for row in kafka_rows.source_rows("kafka-4.3/clean"):
        count, first, last = expected.get((row.topic, row.partition), (0, row.offset, row.offset))
        expected[row.topic, row.partition] = count + 1, min(first, row.offset), max(last, row.offset)
    assert {(row[0], row[1]): tuple(row[2:]) for row in found} == expected
