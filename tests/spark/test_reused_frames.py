"""A frame or view that several queries use: right counts whatever Spark pushes, and what is listed anew.

Spark 4.1 to 4.3 keep the tasks of a frame's last plan (docs/upstream/spark-python-filter-pushdown.md).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from tests.spark import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MULTI = kafka_rows.RECORDED / "kafka-4.3/clean/multi-0"
NUM_ALL, NUM_ABOVE_150, NUM_BELOW_50 = 206, 55, 50
SWITCH = "spark.sql.python.filterPushdown.enabled"
PLANS_EACH_QUERY = pyspark.__version__.startswith("4.0.")


@pytest.fixture(
    params=[pytest.param("false", marks=pytest.mark.long(short=False)), "true"],
    ids=["switch off", "switch on"],
)
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with Spark's pushing of filters off and on."""
    spark.conf.set(SWITCH, request.param)
    yield spark
    spark.conf.unset(SWITCH)


def load(spark: SparkSession, path: Path = MULTI, **options: str) -> DataFrame:
    return spark.read.format("kafka-segments").options(**options).load(str(path))


def test_the_recorded_log_has_the_counts() -> None:
    found = [row.offset for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == "multi"]
    assert found == list(range(NUM_ALL))


def test_filters_of_one_query_do_not_reach_the_next(session: SparkSession) -> None:
    frame = load(session)
    counts = [frame.count()]
    counts += [frame.where("offset > 150").count(), frame.count()]
    counts += [frame.where("offset < 50").count(), frame.where("offset > 150").count(), frame.count()]
    assert counts == [NUM_ALL, NUM_ABOVE_150, NUM_ALL, NUM_BELOW_50, NUM_ABOVE_150, NUM_ALL]


def test_explained_filters_do_not_reach_the_next_query(
    session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = load(session)
    frame.where("offset > 150").explain()
    assert "BatchScan kafka-segments" in capsys.readouterr().out
    assert frame.count() == NUM_ALL


def test_unions_of_filters_of_one_frame(session: SparkSession) -> None:
    frame = load(session)
    below, above = frame.where("offset < 141"), frame.where("offset >= 141")
    for both in (below.union(above), above.union(below), frame.union(above).union(below)):
        assert both.distinct().count() == NUM_ALL
    assert above.union(below).count() == NUM_ALL


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_joins_of_a_frame_with_itself(session: SparkSession, how: str) -> None:
    frame = load(session).select("offset")
    above = frame.where("offset > 150")
    assert above.join(frame, "offset", how).count() == (NUM_ABOVE_150 if how == "left" else NUM_ALL)
    assert frame.join(above, "offset", how).count() == (NUM_ABOVE_150 if how == "right" else NUM_ALL)


def view_of_frame(spark: SparkSession) -> None:
    load(spark).createOrReplaceTempView("multi")


def view_of_options(spark: SparkSession) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW multi USING `kafka-segments` OPTIONS (path '{MULTI}')")


@pytest.mark.parametrize("make", [view_of_frame, view_of_options])
def test_filters_of_a_view(session: SparkSession, make: Any) -> None:
    make(session)

    def count(query: str) -> int:
        return int(session.sql(f"SELECT count(*) FROM {query}").collect()[0][0])

    counts = [count("multi WHERE offset > 150"), count("multi"), count("multi WHERE offset < 50")]
    assert counts == [NUM_ABOVE_150, NUM_ALL, NUM_BELOW_50]
    subquery = "multi WHERE `offset` NOT IN (SELECT `offset` FROM multi WHERE `offset` > 150)"
    assert count(subquery) == NUM_ALL - NUM_ABOVE_150


def copied(tmp_path: Path, *names: str) -> Path:
    """The recorded partition with some of its segments."""
    target = tmp_path / "multi-0"
    target.mkdir(exist_ok=True)
    for name in names:
        for ending in (".log", ".index", ".timeindex"):
            shutil.copy(MULTI / (name + ending), target)
    return target


FIRST, SECOND = f"{0:020}", f"{125:020}"


def test_what_is_appended_is_seen_by_a_new_load(session: SparkSession, tmp_path: Path) -> None:
    path = copied(tmp_path, FIRST)
    frame = load(session, path)
    assert frame.count() == 125
    copied(tmp_path, SECOND)
    assert frame.count() == (NUM_ALL if PLANS_EACH_QUERY else 125)
    assert load(session, path).count() == NUM_ALL


def test_a_table_is_listed_anew_by_each_query(session: SparkSession, tmp_path: Path) -> None:
    path = copied(tmp_path, FIRST)

    def count(options: str) -> int:
        return int(session.sql(f"SELECT count(*) FROM growing {options}").collect()[0][0])

    session.sql("DROP TABLE IF EXISTS growing")
    session.sql(f"CREATE TABLE growing (offset BIGINT) USING `kafka-segments` OPTIONS (path '{path}')")
    with pytest.raises(Exception, match=r"no path.*Spark forgets the options of CREATE TABLE"):
        count("")
    assert count(f"WITH (path = '{path}')") == 125
    copied(tmp_path, SECOND)
    assert count(f"WITH (path = '{path}')") == NUM_ALL
    session.sql("DROP TABLE growing")


def test_what_retention_removed_is_an_error_until_a_new_load(session: SparkSession, tmp_path: Path) -> None:
    path = copied(tmp_path, FIRST, SECOND)
    frame = load(session, path)
    assert frame.count() == NUM_ALL
    for file in path.glob(f"{FIRST}.*"):
        file.unlink()
    if PLANS_EACH_QUERY:
        assert frame.count() == NUM_ALL - 125
    else:
        with pytest.raises(Exception, match=r"DataLossError: .*call load again") as caught:
            frame.count()
        assert "Spark 4.1" in str(caught.value)
    assert load(session, path).count() == NUM_ALL - 125
