"""Rows to segments by tasks and the driver, without Spark: what is read again, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.forms import pick
from tests.spark import kafka_rows
from tests.spark.test_reader import read
from tests.spark.written_frames import Rows, batch, recorded_batches, write

import kafka_segments as ks
from kafka_segments.errors import EncodeError, OptionError, OutputError
from kafka_segments.spark.writing import write_tasks

T0 = 1_700_000_000_000_000  # microseconds
LONG_AGO = -1000


def rows(count: int, first: int = 0, **more: Any) -> Rows:
    return [
        {"topic": "orders", "partition": 3, "offset": first + at, "key": b"k", "value": b"v%d" % at, **more}
        for at in range(count)
    ]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_rows_are_read_again(tmp_path: Path, codec: str) -> None:
    given = recorded_batches("kafka-4.3/clean", topics=pick("multi|shapes|codec-lz4|append-time", ".*"))
    write(tmp_path / "to", given, compression=codec, batchSize="4k")
    found = read(tmp_path / "to", includeHeaders="true")
    expected = [row for one in given for row in plain(one)]
    assert len(found) > 300
    assert sorted(found, key=place) == sorted(expected, key=place)
    with ks.open_partition(tmp_path / "to" / "multi-0") as log:
        assert {one.compression for one in log.iter_events() if isinstance(one, ks.Batch)} == {codec}


def plain(given: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as `read` gives them: times as numbers; none is CreateTime, in magic 2."""
    times = given["timestamp"].cast("int64").to_pylist()
    columns = given.drop_columns(["timestamp"]).to_pydict() | {"timestamp": times}
    columns["timestampType"] = [max(0, kind) for kind in columns["timestampType"]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def test_what_a_row_may_lack(tmp_path: Path) -> None:
    """Without topic, partition, offset, times and headers; text for bytes; names in any case."""
    given = pa.RecordBatch.from_pydict({"Value": ["a", None, ""], "KEY": pa.array([None, "", "k"])})
    write(tmp_path / "to", [given, given.slice(0, 1)], topic="orders")
    assert names(tmp_path / "to") == ["orders-0"]
    found = read(tmp_path / "to", includeHeaders="true")
    assert [(row["offset"], row["key"], row["value"]) for row in found] == [
        (0, None, b"a"),
        (1, b"", None),
        (2, b"k", b""),
        (3, None, b"a"),
    ]
    assert {(row["timestamp"], row["timestampType"], row["headers"]) for row in found} == {
        (LONG_AGO, 0, None)
    }


def test_partitions_of_keys(tmp_path: Path) -> None:
    """As Kafka's partitioner, where a row has no partition of its own."""
    given = [{"key": b"foobar", "partition": None}, {"key": b"foobar", "partition": 0}, {"key": b"abc"}]
    one = batch([row | {"value": b"", "topic": None} for row in given], "key", "value", "partition", "topic")
    write(tmp_path / "to", [one], topic="t", numPartitions="5")
    # -790332482 & 0x7fffffff = 1357151166, 479470107 (UtilsTest.testMurmur2)
    assert names(tmp_path / "to") == ["t-0", "t-1", "t-2"]
    for key in ({"key": None, "value": b""}, {"value": b""}):
        with pytest.raises(EncodeError, match="neither partition nor key"):
            write(tmp_path / "other", [batch([key])], topic="t", numPartitions="5")


def test_times(tmp_path: Path) -> None:
    """Milliseconds in either form, null for none; runs of LogAppendTime are batches of one time each."""
    kinds = [0, 1, 1, 1, None, -1]
    times = [T0, T0 + 1000, T0 + 1000, T0 + 2000, None, LONG_AGO]
    given = [
        row | {"timestamp": time, "timestampType": kind}
        for row, time, kind in zip(rows(6), times, kinds, strict=True)
    ]
    write(tmp_path / "to", [batch(given)])
    found = read(tmp_path / "to")
    assert [row["timestampType"] for row in found] == [0, 1, 1, 1, 0, 0]
    assert [row["timestamp"] for row in found] == [*times[:4], LONG_AGO, LONG_AGO]
    millis = [{"value": b"", "timestampMs": 2**62}, {"value": b"", "timestampMs": None}]
    write(tmp_path / "ms", [batch(millis)], topic="t")
    assert read(tmp_path / "ms", columns="timestampMs") == [{"timestampMs": 2**62}, {"timestampMs": -1}]


def test_tasks_share_a_partition_whose_offsets_do_not_overlap(tmp_path: Path) -> None:
    write(tmp_path / "to", [batch(rows(5, 1000))], [batch(rows(10))], topicId="fwkWwJEoQPCcRdzgt2QjPQ")
    assert names(tmp_path / "to" / "orders-3") == [
        *(f"{0:020}{suffix}" for suffix in (".index", ".log", ".timeindex")),
        *(f"{1000:020}{suffix}" for suffix in (".index", ".log", ".timeindex")),
        f"{1005:020}.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert [row["offset"] for row in read(tmp_path / "to", failOnDataLoss="false")] == [
        *range(10),
        *range(1000, 1005),
    ]


def test_many_partitions_with_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions in turns: a writer that is closed for another goes on in a segment of its own."""
    monkeypatch.setattr(write_tasks, "_MAX_OPEN", 2)
    monkeypatch.setattr(write_tasks, "_MAX_PENDING_BYTES", 1)
    given = [batch([{"topic": t, "value": b"%d" % n} for t in "abc"]) for n in range(4)]
    write(tmp_path / "to", given)
    for topic in "abc":
        found = [(row["offset"], row["value"]) for row in read(tmp_path / "to", subscribe=topic)]
        assert found == [(n, b"%d" % n) for n in range(4)]
        assert len(list((tmp_path / "to" / f"{topic}-0").glob("*.log"))) == 4


def test_segments_roll(tmp_path: Path) -> None:
    write(tmp_path / "to", [batch(rows(400))], segmentBytes="2k", batchSize="300", indexIntervalBytes="0")
    logs = sorted((tmp_path / "to" / "orders-3").glob("*.log"))
    assert len(logs) == 3
    assert all(path.stat().st_size <= 2048 for path in logs)
    assert all(path.with_suffix(".index").stat().st_size > 8 for path in logs[:-1])
    assert len(read(tmp_path / "to")) == 400


WRONG: dict[str, tuple[Sequence[dict[str, Any]], str]] = {
    "offsets fall": (
        [*rows(3), *rows(1, 1)],
        r"offset 1 comes after 2: \.repartition\('topic', 'partition'\)",
    ),
    "an offset twice": ([*rows(3), *rows(1, 2)], "offset 2 comes after 2"),
    "an offset below 0": (rows(1, -5), "offset -5; offsets count from 0"),
    "an offset is null": ([*rows(1), rows(1)[0] | {"offset": None}], "no offset: give all rows one"),
    "no topic": ([rows(1)[0] | {"topic": None}], "its column topic is null"),
    "no topic's name": ([rows(1)[0] | {"topic": "a/b"}], "topic 'a/b'; a topic's name is"),
    "a partition below 0": ([rows(1)[0] | {"partition": -1}], "partition -1; partitions count from 0"),
    "microseconds": (rows(1, timestamp=T0 + 1), r"date_trunc\('MILLISECOND', timestamp\)"),
    "before 1970": (rows(1, timestamp=-5000), r"timestamp -5 .* \(partition orders-3\)"),
    "a type of timestamp": (rows(1, timestampType=7), "timestampType 7"),
    "a null header": (rows(1, headers=[None]), r"a header that is null .* \(partition orders-3\)"),
    "a large record": ([*rows(1), rows(1, 1)[0] | {"value": b"x" * 2_000_000}], "max.message.bytes"),
}


@pytest.mark.parametrize("what", WRONG)
def test_rows_that_are_refused(tmp_path: Path, what: str) -> None:
    given, message = WRONG[what]
    with pytest.raises(EncodeError, match=message):
        write(tmp_path / "to", [batch(list(given))])
    assert names(tmp_path) == []


COLUMNS = {
    "producerId": pa.int64(),
    "offset": pa.int32(),
    "partition": pa.int64(),
    "timestamp": pa.timestamp("us"),
    "headers": pa.map_(pa.string(), pa.binary()),
    "VALUE": pa.binary(),
    "timestampMs": pa.int64(),
    "topic": pa.binary(),
}
SAID = {
    "producerId": "column producerId cannot be written: drop it",
    "offset": "column offset is int; cast it to bigint",
    "partition": "column partition is bigint; cast it to int",
    "timestamp": "column timestamp is timestamp_ntz; cast it to timestamp",
    "headers": r"column headers is map<string,binary>; cast it to array<struct<key:string,value:binary>>",
    "VALUE": "there are two columns value",
    "timestampMs": "timestamp and timestampMs are the same time",
    "topic": "column topic is binary; cast it to string",
}


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_that_are_refused(tmp_path: Path, column: str) -> None:
    fields = {
        "value": pa.binary(),
        **({"timestamp": pa.timestamp("us", "UTC")} if column == "timestampMs" else {}),
    }
    schema = pa.schema({**fields, column: COLUMNS[column]})
    with pytest.raises(OptionError, match=SAID[column]):
        write(tmp_path / "to", [pa.RecordBatch.from_pylist([], schema)], topic="t")


def test_what_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no column value"):
        write(tmp_path / "to", [batch([{"key": b""}])], topic="t")
    with pytest.raises(OptionError, match="no column topic: add one, or name one"):
        write(tmp_path / "to", [batch([{"value": b""}])])


def test_two_tasks_for_one_partition(tmp_path: Path) -> None:
    without = batch(rows(3), "topic", "partition", "value")
    with pytest.raises(EncodeError, match=r"two tasks wrote rows of partition orders-3.*\.repartition\("):
        write(tmp_path / "to", [without], [without])
    with pytest.raises(EncodeError, match=r"overlap, 0 to 9 and 5 to 14: \.repartition\("):
        write(tmp_path / "to", [batch(rows(10))], [batch(rows(10, 5))])
    assert names(tmp_path) == []


def test_what_a_task_left_is_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an executor writes to a disk of its own."""
    done = write_tasks.write_task

    def lost(*arguments: Any) -> Any:
        found = done(*arguments)
        Path(found.pieces[0].directory).rename(tmp_path / "elsewhere")
        return found

    monkeypatch.setattr("kafka_segments.spark.writing.segments_writer.write_task", lost)
    with pytest.raises(OutputError, match="executors on other machines must write to a file system that"):
        write(tmp_path / "to", [batch(rows(1))])
    assert names(tmp_path) == ["elsewhere"]


def test_recorded_files_beside_segments_are_built_alike() -> None:
    """Byte by byte what brokers wrote."""
    from kafka_segments.core.formats.building import build_leader_epochs, build_partition_metadata
    from kafka_segments.core.segment.beside.index_files import read_leader_epochs, read_partition_metadata

    counts = [0, 0]
    for path in kafka_rows.RECORDED.glob("kafka-4.3/*/*/partition.metadata"):
        assert build_partition_metadata(read_partition_metadata(path).topic_id) == path.read_bytes()
        counts[0] += 1
    for path in kafka_rows.RECORDED.glob("kafka-4.3/*/*/leader-epoch-checkpoint"):
        epochs = [(one.epoch, one.start_offset) for one in read_leader_epochs(path)]
        assert build_leader_epochs(epochs) == path.read_bytes() or not path.read_bytes()
        counts[1] += bool(epochs)
    assert min(counts) > 20
