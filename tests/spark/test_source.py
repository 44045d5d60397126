"""The data source as users meet it: through Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark import kafka_rows
from tests.spark.test_reader import batches, flipped, segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
COLUMNS = (
    "key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int"
)
HEADERS = "headers:array<struct<key:string,value:binary>>"

Load = Callable[..., "DataFrame"]


@pytest.fixture
def load(spark: SparkSession) -> Load:
    def load(*paths: Any, **options: str) -> DataFrame:
        reader = spark.read.format("kafka-segments").options(**options)
        return reader.load(str(paths[0]) if len(paths) == 1 else [str(path) for path in paths])

    return load


def offsets(frame: DataFrame) -> list[int]:
    return [row.offset for row in frame.select("offset").collect()]


def error_of(frame: DataFrame) -> str:
    with pytest.raises(Exception) as caught:  # Spark's own, with ours as text
        frame.collect()
    return str(caught.value)


def test_schema_is_that_of_the_kafka_source(load: Load) -> None:
    for frame, columns in (
        (load(CLEAN), COLUMNS),
        (load(CLEAN, includeHeaders="true"), f"{COLUMNS},{HEADERS}"),
    ):
        assert frame.schema.simpleString() == f"struct<{columns}>"
        assert all(field.nullable for field in frame.schema)


def test_paths(load: Load) -> None:
    directory = CLEAN / "multi-0"
    files = sorted(directory.glob("*.log"))
    expected = [row.offset for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == "multi"]
    first = [offset for offset in expected if offset < int(files[1].stem)]
    assert len(files) == 2
    assert 0 < len(first) < len(expected)
    assert offsets(load(directory)) == expected
    assert offsets(load(*files)) == expected
    assert offsets(load(f"file://{directory}", files[0])) == expected
    assert offsets(load(f"file:{files[0]}")) == first
    topics = {row.topic for row in load(directory, CLEAN / "shapes-0").select("topic").collect()}
    assert topics == {"multi", "shapes"}


def test_deleted_head_and_what_is_put_aside(load: Load) -> None:
    frame = load(CLEAN)
    assert frame.filter("topic = 'deleted-head'").agg({"offset": "min"}).first()[0] == 17
    assert list(CLEAN.glob("doomed-0.*-delete/*.log"))
    assert frame.filter("topic LIKE 'doomed%'").count() == 0


def test_columns_asked_for(spark: SparkSession) -> None:
    reader = spark.read.format("kafka-segments").schema("offset bigint, Topic string")
    frame = reader.load(str(CLEAN / "multi-0"))
    assert frame.columns == ["offset", "Topic"]
    assert frame.first().asDict() == {"offset": 0, "Topic": "multi"}
    wrong = spark.read.format("kafka-segments").schema("offset bigint, nonsense int").load(str(CLEAN))
    assert "OptionError: the view records has no column nonsense" in error_of(wrong)


def test_filters_find_the_same_rows(spark: SparkSession, load: Load) -> None:
    rows = kafka_rows.rows("kafka-4.3/clean")
    query = "topic IN ('multi', 'shapes') AND offset BETWEEN 3 AND 130 AND timestamp > '2020-01-01'"
    expected = [
        (row.topic, row.offset)
        for row in rows
        if row.topic in ("multi", "shapes")
        and 3 <= row.offset <= 130
        and row.timestamp > 1_577_836_800_000_000
    ]
    assert expected
    for pushdown in ("false", "true"):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
        try:
            found = load(CLEAN).filter(query).select("topic", "offset").collect()
        finally:
            spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        assert [tuple(row) for row in found] == expected


def test_sql_view(spark: SparkSession) -> None:
    options = f"OPTIONS (path '{CLEAN}/multi-0', includeHeaders 'true')"
    spark.sql(f"CREATE TEMPORARY VIEW a_view USING `kafka-segments` {options}")
    try:
        count, headers = spark.sql("SELECT count(*), count(headers) FROM a_view").first()
    finally:
        spark.catalog.dropTempView("a_view")
    rows = [row for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == "multi"]
    assert (count, headers) == (len(rows), sum(row.headers is not None for row in rows))


def test_extreme_timestamps(load: Load, spark: SparkSession) -> None:
    root = kafka_rows.RECORDED / kafka_rows.EXTREME
    message = error_of(load(root))
    assert "TimestampRangeError" in message
    rows = kafka_rows.rows(kafka_rows.EXTREME)
    first = next(row for row in rows if abs(row.timestamp) >= 2**63)
    named = f"offset {first.offset}: the timestamp {first.timestamp // 1000} "
    assert named in message
    assert f"topic {first.topic}, partition {first.partition}" in message
    columns = "key binary, value binary, topic string, partition int, offset bigint"
    found = spark.read.format("kafka-segments").schema(columns).load(str(root)).collect()
    assert [tuple(row) for row in found] == [row[:5] for row in rows]


def test_errors_reach_the_user(load: Load, tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    directory = segment(tmp_path / "t-4", 0, one, flipped(two), three)
    message = error_of(load(directory))
    assert f"ChecksumMismatchError: {directory / f'{0:020}.log'}, position {len(one)}: stored" in message
    assert "topic t, partition 4" in message
    assert offsets(load(directory, mode="DROPMALFORMED")) == [0, 2]
    assert f"ReadError: {tmp_path}/none: No such file" in error_of(load(tmp_path / "none"))
    (tmp_path / "bare").mkdir()
    assert "OptionError" in error_of(load(tmp_path / "bare"))
    with pytest.raises(Exception, match="OptionError: unknown option startingoffset; did you mean"):
        load(directory, startingOffset="earliest")


def test_no_rows(load: Load, tmp_path: Path) -> None:
    assert load(segment(tmp_path / "t-0", 0)).count() == 0
