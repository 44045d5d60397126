"""Our source gives the rows that Spark's own `kafka` source gave, for the same queries of the same data.

In the short form the source's reader in this process reads whole sets but the richest; Spark reads all else.
In the full form the source is asked again, of a broker on a copy of the richest set.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.connector import connector, ours, queries, served
from tests.connector.queries import EXTREME, MAIN, Query
from tests.forms import IS_FULL
from tests.spark import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = queries.whole_sets()
SELECTIONS = queries.selections()
SETS = [name for name in served.served_sets() if name != EXTREME]


# Spark's timestamps are microseconds in 64 bits.
LARGEST_MILLIS = (2**63 - 1) // 1000


def names(query: Query) -> str:
    """What a test is called."""
    return f"{query.set_name}-{query.name}"


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_all_of_a_set_without_an_option(name: str, spark: SparkSession) -> None:
    theirs = []
    for query in queries.whole_sets([name]):
        if query.name.endswith("read_uncommitted"):
            answer = connector.recorded(query)
            assert not isinstance(answer, str)
            theirs += kafka_rows.of_arrow(answer)
    assert theirs
    found = ours.read_all(spark if IS_FULL or name == MAIN else None, name)
    assert kafka_rows.of_arrow(found) == sorted(theirs, key=lambda row: row[2:5])


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("query", WHOLE, ids=names)
def test_the_same_query_for_a_set_gives_the_same_rows(query: Query, spark: SparkSession) -> None:
    check_same(query, spark if IS_FULL or query.set_name == MAIN else None)


@pytest.mark.spark
@pytest.mark.parametrize("query", SELECTIONS, ids=names)
def test_the_same_query_gives_the_same_rows(query: Query, spark: SparkSession) -> None:
    check_same(query, spark)


def check_same(query: Query, spark: SparkSession | None) -> None:
    """Both sources have the same rows, or an error; without Spark, the reader has them."""
    theirs = connector.recorded(query)
    if isinstance(theirs, str):
        with pytest.raises(Exception, match=r"\w+Error: ") as caught:
            ours.read(spark, query)
        assert "unknown option" not in str(caught.value)
        return
    found = ours.read(spark, query)
    assert found.schema.names == theirs.schema.names
    assert kafka_rows.of_arrow(found) == kafka_rows.of_arrow(theirs)


@pytest.mark.spark
def test_timestamps_that_spark_cannot_hold(spark: SparkSession) -> None:
    """The connector fails at these records alone; ours has all of them as numbers."""
    found = ours.read_extremes(spark)
    queried = queries.one_by_one()
    assert len(found) == len(queried) > 10
    failed = 0
    for query, row in zip(queried, found, strict=True):
        theirs = connector.recorded(query)
        if isinstance(theirs, str):
            failed += 1
            assert "long overflow" in theirs
            assert row["timestamp"] is None
            assert abs(row["timestampMs"]) > LARGEST_MILLIS
        else:
            (expected,) = ours.plain(theirs)
            assert {name: row[name] for name in expected} == expected
            assert row["timestamp"] == row["timestampMs"] * 1000
    assert 0 < failed < len(found)
    oracle = [line["timestamp"] for line in served.records(EXTREME)]
    assert [row["timestampMs"] for row in found] == oracle


@pytest.mark.spark
@pytest.mark.broker
@pytest.mark.connector
@pytest.mark.long(short=False)
def test_the_answers_are_those_of_today(tmp_path: Path) -> None:
    asked = queries.whole_sets([MAIN])
    for query, answer in zip(asked, connector.ask(asked, tmp_path / "broker"), strict=True):
        assert not isinstance(answer, str), answer
        recorded = connector.recorded(query)
        assert not isinstance(recorded, str)
        assert kafka_rows.of_arrow(answer) == kafka_rows.of_arrow(recorded), query.name
