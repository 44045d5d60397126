"""Writing as users meet it: through Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.forms import pick
from tests.spark import kafka_rows

from kafka_segments.errors import OptionError
from kafka_segments.spark import partition_by_key
from kafka_segments.write.partitioner import partitions_by_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
# Their clients wrote times before 1970, which Kafka's own writer refuses.
WRITABLE = "timestamp >= timestamp_millis(-1)"


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    reader = spark.read.format("kafka-segments").option("includeHeaders", "true").options(**options)
    return reader.load(str(path))


def save(frame: DataFrame, path: Path, mode: str | None = "append", **options: str) -> None:
    frame.write.format("kafka-segments").mode(mode).options(**options).save(str(path))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


TOPICS = pick("multi|shapes|codec-.*|append-time", ".*")


@pytest.mark.long
def test_what_is_read_is_written(spark: SparkSession, tmp_path: Path) -> None:
    """Several tasks, of which some read parts of one partition; then one task a partition."""
    frame = load(spark, CLEAN, subscribePattern=f"^({TOPICS})$", minPartitions="12").filter(WRITABLE)
    save(frame, tmp_path / "to", compression="lz4")
    expected = [
        row
        for row in kafka_rows.source_rows("kafka-4.3/clean")
        if row.timestamp >= -1000 and re.fullmatch(TOPICS, row.topic)
    ]
    assert len({row.topic for row in expected}) > 5
    written = load(spark, tmp_path / "to")
    assert sorted(kafka_rows.of_arrow(written.toArrow()), key=place) == sorted(expected, key=place)
    assert names(tmp_path) == ["to"]
    spread = written.repartition(3, "topic", "partition").sortWithinPartitions("topic", "partition", "offset")
    save(spread, tmp_path / "to", "overwrite")
    again = load(spark, tmp_path / "to")
    assert sorted(kafka_rows.of_arrow(again.toArrow()), key=place) == sorted(expected, key=place)


def place(row: kafka_rows.Row) -> tuple[str, int, int]:
    return row.topic, row.partition, row.offset


def test_rows_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    """As for Spark's kafka sink: text, a topic by option, and SQL's types."""
    frame = spark.range(3).selectExpr(
        "cast(id as string) as key",
        "concat('v', id) as value",
        "array(struct('trace' as key, cast('t' as binary) as value)) as headers",
        "timestamp '2026-01-31 12:00:00.123' as timestamp",
        "cast(id % 2 as int) as partition",
    )
    sorted_frame = frame.repartition(2, "partition").sortWithinPartitions("key")
    save(sorted_frame, tmp_path / "to", **{"topic": "orders", "kafka.compression.type": "zstd"})
    found = load(spark, tmp_path / "to").orderBy("partition", "offset").collect()
    assert [(row.partition, row.offset, bytes(row.key), bytes(row.value)) for row in found] == [
        (0, 0, b"0", b"v0"),
        (0, 1, b"2", b"v2"),
        (1, 0, b"1", b"v1"),
    ]
    assert {row.timestamp.isoformat() for row in found} == {"2026-01-31T12:00:00.123000"}
    assert [row.headers[0].key for row in found] == ["trace"] * 3
    (codec,) = load_view(spark, tmp_path / "to", "batches").select("compression").distinct().collect()
    assert codec.compression == "zstd"


def load_view(spark: SparkSession, path: Path, view: str) -> DataFrame:
    return spark.read.format("kafka-segments").option("view", view).load(str(path))


def test_partitions_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """By two tasks, whose rows Spark has shuffled by the partitions that Kafka would choose."""
    keys = spark.range(200).selectExpr("cast(id as string) as key", "'v' as value")
    frame = partition_by_key(keys, 5)
    save(frame.repartition(2, "partition"), tmp_path / "to", topic="t")
    found = {(bytes(row.key), row.partition) for row in load(spark, tmp_path / "to").collect()}
    expected = [b"%d" % number for number in range(200)]
    assert found == set(zip(expected, partitions_by_key(pa.array(expected), 5).tolist(), strict=True))
    assert len(list((tmp_path / "to").iterdir())) == 5
    with pytest.raises(Exception, match="a row has neither partition nor key"):
        partition_by_key(keys.selectExpr("cast(null as string) as key", "value"), 5).collect()
    for wrong, number in ((keys.drop("key"), 5), (keys.selectExpr("1 as key"), 5), (frame, 5), (keys, 0)):
        with pytest.raises(OptionError, match=r"there must be a key|num_partitions is 0"):
            partition_by_key(wrong, number)


@pytest.mark.parametrize("mode", [None, "errorifexists", "ignore"])
def test_modes_that_spark_refuses(spark: SparkSession, tmp_path: Path, mode: str | None) -> None:
    with pytest.raises(Exception, match='use either the "Append" or "Overwrite" mode'):
        save(spark.range(1).selectExpr("'v' as value"), tmp_path / "to", mode, topic="t")


def test_errors_name_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(6).selectExpr("'t' as topic", "'v' as value")
    cases: list[tuple[DataFrame, dict[str, str], str]] = [
        (frame, {"compresion": "zstd"}, "unknown option compresion for writing; did you mean compression"),
        (
            frame,
            {"compression": "brotli"},
            "compression is 'brotli'; it must be none, gzip, snappy, lz4, zstd",
        ),
        (
            frame.withColumnRenamed("value", "values"),
            {},
            "column values cannot be written: drop it; did you mean",
        ),
        (
            frame.repartition(2),
            {},
            r"two tasks wrote rows of partition t-0.*\.repartition\('topic', 'partition'",
        ),
        (frame.selectExpr("cast(null as string) as topic", "value"), {}, "its column topic is null"),
    ]
    for wrong, options, said in cases:
        with pytest.raises(Exception, match=said):
            save(wrong, tmp_path / "to", **options)
        assert names(tmp_path) == []


def test_a_task_that_fails_removes_all(spark: SparkSession, tmp_path: Path) -> None:
    """The other task has written its rows by then, or has not."""
    frame = spark.range(0, 2, 1, 2).selectExpr("if(id = 1, null, 't') as topic", "'v' as value")
    with pytest.raises(Exception, match="its column topic is null"):
        save(frame, tmp_path / "to")
    assert names(tmp_path) == []


def test_streams_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rates = spark.readStream.format("rate").load().selectExpr("cast(value as string) as value")
    query: Any = rates.writeStream.format("kafka-segments").option("topic", "t")
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="writes in batches only: use foreachBatch"):
        query.start(str(tmp_path / "to")).processAllAvailable()


def test_files_beside_segments(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", "v"), ("b", "v")], "topic string, value string").coalesce(1)
    ids = {"a": "fwkWwJEoQPCcRdzgt2QjPQ", "b": "AAAAAAAAAAAAAAAAAAAAMg"}
    save(frame, tmp_path / "to", topicId=json.dumps(ids), leaderEpoch="7")
    for topic, topic_id in ids.items():
        folder = tmp_path / "to" / f"{topic}-0"
        assert (folder / "partition.metadata").read_text() == f"version: 0\ntopic_id: {topic_id}"
        assert (folder / "leader-epoch-checkpoint").read_text() == "0\n1\n7 0\n"
    epochs = load_view(spark, tmp_path / "to", "batches").select("leaderEpoch").distinct().collect()
    assert [row.leaderEpoch for row in epochs] == [7]
    for given, said in (
        (ids["a"], "topicId is one id, but there are the topics a, b"),
        ('{"a": 1}', "is not a topic"),
    ):
        with pytest.raises(Exception, match=said):
            save(frame, tmp_path / "other", topicId=given)
    with pytest.raises(Exception, match="option topicId has no id for topic b"):
        save(frame, tmp_path / "other", topicId=json.dumps({"a": ids["a"]}))
