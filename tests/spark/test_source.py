"""The data source as users meet it: through Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.made import build
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


def test_columns_asked_for(spark: SparkSession) -> None:
    reader = spark.read.format("kafka-segments").schema("offset bigint, Topic string")
    frame = reader.load(str(CLEAN / "multi-0"))
    assert frame.columns == ["offset", "Topic"]
    assert frame.first().asDict() == {"offset": 0, "Topic": "multi"}
    wrong = spark.read.format("kafka-segments").schema("offset bigint, nonsense int").load(str(CLEAN))
    assert "OptionError: the view records has no column nonsense" in error_of(wrong)


def num_tasks(frame: DataFrame) -> int:
    """Of its reading: one row for each, even if it reads none."""

    def one(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"one": [1]})

    return frame.select("offset").mapInArrow(one, "one bigint").count()


@pytest.fixture(params=["false", "true"], ids=["no pushdown", "pushdown"])
def pushdown(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[bool]:
    from pyspark.sql import datasource

    spark.conf.set("spark.sql.python.filterPushdown.enabled", request.param)
    # Spark 4.0 takes the setting, and hands nothing over.
    yield request.param == "true" and hasattr(datasource, "EqualTo")
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_filters_find_the_same_rows(spark: SparkSession, load: Load, pushdown: bool) -> None:
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
    found = load(CLEAN).filter(query).select("topic", "offset").collect()
    assert [tuple(row) for row in found] == expected
    for used, is_cut in (("never", False), ("once", pushdown)):
        files = load(CLEAN, columns="sourceFile,topic,offset", maxPartitionBytes="32m", pushFilters=used)
        tasks = num_tasks(files.filter("topic = 'multi' AND offset < 3"))
        assert (tasks == 1) == is_cut, "known while planning, if Spark tells it and the frame is used once"
    assert load(CLEAN).filter("topic = 'Multi' OR topic = '123'").count() == 0


def test_columns_on_request(load: Load) -> None:
    wanted = "offset,timestampMs,leaderEpoch,producerId,producerEpoch,sequence,headers,sourceFile"
    path = CLEAN / "transactions-0"
    frame = load(path, columns=wanted, headerKeys="binary")
    assert frame.columns == wanted.split(",")
    lines = [
        json.loads(line)
        for name in sorted((kafka_rows.ORACLE / "kafka-4.3/clean/transactions-0").glob("*.log.jsonl"))
        for line in name.read_text().splitlines()
    ]
    expected, batch = [], {}
    for line in lines:
        batch = line if line["type"] == "batch" else batch
        if line["type"] == "record" and line["control"] is None:
            fields = ("partition_leader_epoch", "producer_id", "producer_epoch")
            kept = [None if batch[name] == -1 else batch[name] for name in fields]
            sequence = None if line["sequence"] == -1 else line["sequence"]
            file = str(path / Path(batch["path"]).name)
            expected.append((line["offset"], line["timestamp"], *kept, sequence, None, file))
    assert [tuple(row) for row in frame.collect()] == expected
    headers = load(CLEAN / "shapes-0", columns="headers", headerKeys="binary").dropna().collect()
    text = load(CLEAN / "shapes-0", columns="headers").dropna().collect()
    assert headers
    assert len(headers) == len(text)
    for binary, decoded in zip(headers, text, strict=True):
        keys = [bytes(pair.key) for pair in binary.headers]
        assert [kafka_rows.BAD_KEYS.get(key) or key.decode() for key in keys] == [
            pair.key for pair in decoded.headers
        ]


def test_views_as_frames(spark: SparkSession, load: Load, tmp_path: Path) -> None:
    rows = [row for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == "transactions"]
    batches_view = load(CLEAN, view="batches", subscribe="transactions")
    counted = batches_view.filter("NOT isControl").agg({"numRecords": "sum"}).first()[0]
    assert counted == len(rows)
    assert load(CLEAN, view="control", subscribe="transactions").filter("type = 'ABORT'").count() > 0
    aborted = load(CLEAN, view="aborted", subscribe="transactions").collect()
    assert {row.state for row in aborted} == {"aborted"}
    committed = load(CLEAN, subscribe="transactions", **{"kafka.isolation.level": "read_committed"})
    assert 0 < committed.count() < len(rows)
    assert load(CLEAN, view="segments").agg({"size": "sum"}).first()[0] == sum(
        path.stat().st_size
        for path in CLEAN.glob("*/*.log")
        if "-delete" not in path.parent.name and not path.parent.name.startswith(kafka_rows.INTERNAL)
    )
    one, two, three = batches(0, 1, 2)
    damaged = segment(tmp_path / "t-4", 0, one, flipped(two), three)
    (found,) = load(damaged, view="damage").collect()
    assert (found.kind, found.firstOffset, found.error) == ("damage", 1, "ChecksumMismatchError")
    told = load(damaged, mode="PERMISSIVE", columns="offset,value,damage").collect()
    assert [(row.offset, row.damage is None) for row in told] == [(0, True), (1, False), (2, True)]


def test_snapshot(spark: SparkSession, load: Load, tmp_path: Path) -> None:
    from kafka_segments.spark import take_snapshot

    logs, pinned = tmp_path / "logs", str(tmp_path / "now.snapshot")
    shutil.copytree(CLEAN, logs)
    take_snapshot(spark, str(logs), pinned, subscribe="transactions,multi")
    before = [row for row in kafka_rows.rows("kafka-4.3/clean") if row.topic in ("transactions", "multi")]
    newest = sorted((logs / "multi-0").glob("*.log"))[-1]
    with newest.open("ab") as file:
        file.write(build.batch(1 << 20))

    def read(**options: str) -> DataFrame:
        return spark.read.format("kafka-segments").options(snapshot=pinned, **options).load()

    assert [(row.topic, row.offset) for row in read().select("topic", "offset").collect()] == [
        (row.topic, row.offset) for row in before
    ]
    assert load(logs, subscribe="multi").agg({"offset": "max"}).first()[0] == 1 << 20
    level = {"isolationLevel": "read_committed"}
    expected = load(CLEAN, subscribe="transactions,multi", **level).select("topic", "partition", "offset")
    found = read(**level).select("topic", "partition", "offset")
    assert found.collect() == expected.collect()
    first = min((logs / "multi-0").glob("*.log"))
    first.unlink()
    assert "the file is gone since the snapshot was taken" in error_of(read())
    left = read(failOnDataLoss="false").filter("topic = 'multi'")
    multi = [row.offset for row in before if row.topic == "multi"]
    assert offsets(left) == [offset for offset in multi if offset >= int(newest.stem)]


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
    null, clamped = (
        [row[0] for row in load(root, timestampOverflow=how).selectExpr("unix_micros(timestamp)").collect()]
        for how in ("null", "clamp")
    )
    limit = (2**63 - 1) // 1000 * 1000
    times = [row.timestamp for row in rows]
    assert null == [None if abs(time) > limit else time for time in times]
    assert clamped == [max(-limit, min(limit, time)) for time in times]
    millis = load(root, columns="timestampMs").collect()
    assert [row.timestampMs * 1000 for row in millis] == times
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
        load(directory, startingOffset="earliest").count()  # Connect says it now, not before
