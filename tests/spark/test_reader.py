"""The source's reader as Spark uses it, pickled on the way to its tasks, but without a JVM: fast."""

from __future__ import annotations

import dataclasses
import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructField, StructType
from tests.made import build
from tests.spark import kafka_rows

from kafka_segments.core import codecs
from kafka_segments.errors import (
    ChecksumMismatchError,
    DataLossError,
    DecompressionError,
    KafkaFormatError,
    MissingCodecError,
    OptionError,
    RecordTooLargeError,
    TimestampRangeError,
    TruncatedError,
    UnknownFormatError,
)
from kafka_segments.query.read import split_reader
from kafka_segments.spark import reading as spark_reading
from kafka_segments.spark.schema import VIEW_SCHEMAS
from kafka_segments.spark.source import KafkaSegmentsDataSource, KafkaSegmentsReader

VECTORS = kafka_rows.VECTORS
FIRST = f"{0:020}.log"


def read(
    path: Path | str | list[str], schema: StructType | None = None, **options: str
) -> list[dict[str, Any]]:
    """Rows as dictionaries, by the same steps as Spark takes; timestamps as numbers."""
    where = {"paths": json.dumps(path)} if isinstance(path, list) else {"path": str(path)}
    source = KafkaSegmentsDataSource(CaseInsensitiveDict({**where, **options}))
    wanted = source.schema() if schema is None else schema
    reader = source.reader(wanted)
    remote = pickle.loads(pickle.dumps(reader))
    rows = []
    for task in reader.partitions() or [InputPartition(None)]:
        for batch in remote.read(pickle.loads(pickle.dumps(task))):
            assert batch.schema.names == wanted.names
            numbers = [
                column.cast("int64") if field.name == "timestamp" else column
                for field, column in zip(batch.schema, batch.columns, strict=True)
            ]
            values = [column.to_pylist() for column in numbers]
            rows += [dict(zip(wanted.names, row, strict=True)) for row in zip(*values, strict=True)]
    return rows


def reader_of(**options: str) -> KafkaSegmentsReader:
    """The reader of a source with these options."""
    source = KafkaSegmentsDataSource(CaseInsensitiveDict(options))
    return source.reader(source.schema())


def rows_of(reader: KafkaSegmentsReader, then: Callable[[], Any] | None = None) -> list[dict[str, Any]]:
    """Its rows as they are; something may happen between planning and reading."""
    tasks = reader.partitions()
    if then is not None:
        then()
    return [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]


def columns(*names: str) -> StructType:
    """Columns of the source by name, written as given."""
    known = {field.name.lower(): field for field in VIEW_SCHEMAS["records"]}
    return StructType([StructField(name, known[name.lower()].dataType) for name in names])


def offsets(*arguments: Any, **options: str) -> list[int]:
    return [row["offset"] for row in read(*arguments, **options)]


def segment(directory: Path, base_offset: int, *parts: bytes) -> Path:
    """Write a segment of a partition's directory; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{base_offset:020}.log").write_bytes(b"".join(parts))
    return directory


def batches(*base_offsets: int) -> list[bytes]:
    return [build.batch(offset, [build.record(0, b"k", b"v" * 50)]) for offset in base_offsets]


def flipped(data: bytes) -> bytes:
    """Another bit near the end, so that the checksum is wrong."""
    return data[:-1] + bytes([data[-1] ^ 1])


# --- rows ---------------------------------------------------------------------------------------------------


def test_any_columns_in_any_order_and_case(tmp_path: Path) -> None:
    directory = segment(tmp_path / "t-3", 0, *batches(0, 1))
    assert read(directory, columns("Partition", "OFFSET")) == [
        {"Partition": 3, "OFFSET": 0},
        {"Partition": 3, "OFFSET": 1},
    ]
    assert read(directory, columns("topic")) == [{"topic": "t"}] * 2
    headers = read(directory, columns("headers"))
    assert headers == [{"headers": None}] * 2


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (
            StructField("sequences", IntegerType()),
            "view records has no column sequences; did you mean sequence?",
        ),
        (StructField("zzz", IntegerType()), "view records has no column zzz; there are key, value, topic"),
        (StructField("offset", IntegerType()), "offset is bigint, not int"),
        (StructField("key", StringType()), "key is binary, not string"),
        (StructField("headers", ArrayType(StringType())), "headers is array<struct<key:string"),
        (StructField("value", BinaryType(), nullable=False), "leave out NOT NULL"),
    ],
)
def test_wrong_schemas(tmp_path: Path, field: StructField, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        read(segment(tmp_path / "t-0", 0, *batches(0)), StructType([field]))


def test_what_is_loaded_is_frozen_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(spark_reading.gc, "freeze", lambda: frozen.append(1))  # type: ignore[attr-defined]
    spark_reading._freeze_modules.cache_clear()
    path = segment(tmp_path / "t-0", 0, *batches(0))
    for _ in range(2):
        read(path)
    assert frozen == [1]


def test_nothing_to_read_gives_no_rows(tmp_path: Path) -> None:
    assert read(segment(tmp_path / "t-0", 0)) == []
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    segment(tmp_path / "t-0", 9)
    assert read(tmp_path / "t-0" / FIRST) == []


def test_log_start_offset(tmp_path: Path) -> None:
    many = build.batch(4, [build.record(delta) for delta in range(5)])
    directory = segment(tmp_path / "t-0", 0, *batches(0, 1), flipped(batches(2)[0]), many)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 6\n")
    for path in (tmp_path, directory, directory / FIRST):
        assert offsets(path) == [6, 7, 8], "and damage below the log start is none"


def test_small_segments_share_a_task(tmp_path: Path) -> None:
    for partition in range(20):
        segment(tmp_path / f"t-{partition}", 0, *batches(0))
    assert len(reader_of(path=str(tmp_path)).partitions()) == 1
    assert [row["partition"] for row in read(tmp_path)] == list(range(20))


# --- what is not sound --------------------------------------------------------------------------------------


def test_damage_fails_at_once_and_says_where(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    directory = segment(tmp_path / "t-4", 0, one, flipped(two), three)
    with pytest.raises(ChecksumMismatchError) as caught:
        read(directory)
    assert str(caught.value).startswith(f"{directory / FIRST}, position {len(one)}: stored 0x")
    assert "topic t, partition 4" in str(caught.value)
    assert "DROPMALFORMED" in str(caught.value)


def test_damage_is_dropped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two, three, four = batches(0, 1, 2, 3)
    directory = segment(tmp_path / "t-4", 0, one, flipped(two), three, four[:-20])
    segment(directory, 5, *batches(5))
    with caplog.at_level(logging.WARNING):
        assert offsets(directory, mode="DROPMALFORMED") == [0, 2, 5]
    flip, cut = (record.getMessage() for record in caplog.records)
    where = f"{directory / FIRST}, position {len(one)} to {len(one + two)}"
    assert flip.startswith(f"kafka-segments: t-4: {where}: the checksum of the batch is wrong: stored 0x")
    assert flip.endswith("; offsets lost: 1 to 1")
    assert "the batch is cut off" in cut


@pytest.mark.parametrize("cut", [1, 16, 17, 60, 61, 80, -1])
def test_unfinished_batch_of_the_newest_segment_is_pending(
    tmp_path: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = batches(0, 0x0102030405060708)
    directory = segment(tmp_path / "t-0", 0, one, two[:cut])
    with caplog.at_level(logging.WARNING):
        assert offsets(directory) == [0]
        assert offsets(directory, mode="DROPMALFORMED") == [0]
    assert caplog.records == []
    segment(directory, 2, *batches(2))
    with pytest.raises(TruncatedError):
        read(directory)
    assert offsets(directory / f"{2:020}.log") == [2]


@pytest.mark.parametrize("cut", [8, 12, 16, 17, 40, 61, 80])
def test_unfinished_batch_before_zeros_is_pending_too(tmp_path: Path, cut: int) -> None:
    one, two = batches(0, 0x0102030405060708)
    directory = segment(tmp_path / "t-0", 0, one, two[:cut], bytes(5000))
    assert offsets(directory) == [0]
    segment(directory, 2, *batches(2))
    with pytest.raises(KafkaFormatError):
        read(directory)


@pytest.mark.parametrize(
    "tail",
    [
        b"this is not a segment " * 9,
        build.batch(0)[:-5],
        build.patched(build.batch(2), 16, b"\7")[:-5],
        build.patched(build.batch(2), 8, b"\xff")[:-5],
    ],
    ids=["rubbish", "offset behind", "magic", "length"],
)
def test_what_could_not_follow_is_not_pending(tmp_path: Path, tail: bytes) -> None:
    for padding in (b"", bytes(5000)):
        directory = segment(tmp_path / "t-0", 0, *batches(0), tail, padding)
        with pytest.raises(KafkaFormatError, match="topic t, partition 0"):
            read(directory)


def test_damage_before_a_pending_batch_is_damage(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    directory = segment(tmp_path / "t-0", 0, one, flipped(two), three, one[:30])
    with pytest.raises(ChecksumMismatchError):
        read(directory)
    assert offsets(directory, mode="DROPMALFORMED") == [0, 2]


def test_whole_last_batch_with_a_wrong_checksum_is_damage(tmp_path: Path) -> None:
    one, two = batches(0, 1)
    for tail in (b"", bytes(5000)):
        directory = segment(tmp_path / "t-0", 0, one, flipped(two), tail)
        with pytest.raises(ChecksumMismatchError):
            read(directory)


def test_checksums_need_not_be_checked(tmp_path: Path) -> None:
    one, two = batches(0, 1)
    directory = segment(tmp_path / "t-0", 0, one, build.patched(two, 17, b"\0\0\0\0"))
    assert offsets(directory, checkCrc="false") == [0, 1]


def test_bound_of_a_batch(tmp_path: Path) -> None:
    import gzip

    payload = gzip.compress(b"".join([build.record(0, None, b"x" * 5000)]))
    directory = segment(tmp_path / "t-0", 0, build.batch(0, payload=payload, count=1, attributes=1))
    assert offsets(directory, maxDecompressedBytes="6000") == [0]
    with pytest.raises(DecompressionError):
        read(directory, maxDecompressedBytes="4000")


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_missing_codec_is_no_damage(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def decompress(*_arguments: Any, **_options: Any) -> bytes:
        raise MissingCodecError("lz4 is not installed: pip install lz4", codec="lz4")

    directory = segment(tmp_path / "t-0", 0, build.batch(0, payload=b"xyz", count=1, attributes=3))
    monkeypatch.setattr("kafka_segments.core.segment.records.batch_records.decompress", decompress)
    assert codecs.decompress is not decompress
    with pytest.raises(MissingCodecError, match="pip install"):
        read(directory, mode=mode)


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_other_programs_logs_are_refused_by_name(tmp_path: Path, mode: str) -> None:
    redpanda = (VECTORS / "redpanda_batch_header" / "worked_example.bin").read_bytes()
    with pytest.raises(UnknownFormatError, match="Redpanda"):
        read(segment(tmp_path / "t-0", 0, redpanda), mode=mode)


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_file_that_went_away_since_it_was_listed(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    for loss in ("true", "false"):
        directory = segment(tmp_path / loss / "t-0", 0, *batches(0))
        reader = reader_of(path=str(directory), mode=mode, failOnDataLoss=loss)
        (task,) = reader.partitions()
        (directory / FIRST).unlink()
        if loss == "false":
            assert list(reader.read(task)) == []
            assert "no segment has them now" in caplog.text
        else:
            with pytest.raises(
                DataLossError, match=r"t-0: offsets 0 to 0 are missing: .*failOnDataLoss=false reads"
            ) as caught:
                list(reader.read(task))
            error = caught.value
            assert (error.topic, error.partition, error.first_offset) == ("t", 0, 0)


@pytest.mark.parametrize("timestamp", [9_223_372_036_854_776, -9_223_372_036_854_776, 2**63 - 1, -(2**63)])
def test_timestamps_beyond_microseconds(tmp_path: Path, timestamp: int) -> None:
    data = build.batch(7, [build.record()], base_timestamp=timestamp, max_timestamp=timestamp)
    directory = segment(tmp_path / "t-5", 0, *batches(0), data)
    with pytest.raises(TimestampRangeError, match=rf"offset 7: the timestamp {timestamp} ") as caught:
        read(directory)
    assert "topic t, partition 5" in str(caught.value)
    assert (caught.value.offset, caught.value.timestamp) == (7, timestamp)
    assert offsets(directory, columns("offset", "value")) == [0, 7]


@pytest.mark.parametrize("timestamp", [9_223_372_036_854_775, -9_223_372_036_854_775, -1, 0])
def test_timestamps_that_just_fit(tmp_path: Path, timestamp: int) -> None:
    data = build.batch(0, [build.record()], base_timestamp=timestamp, max_timestamp=timestamp)
    (row,) = read(segment(tmp_path / "t-0", 0, data))
    assert row["timestamp"] == timestamp * 1000


def test_batch_that_does_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = batches(0, 1)
    directory = segment(tmp_path / "t-4", 0, one, two)

    def starved(split: Any, *_more: Any) -> Any:
        yield from split_reader.read_split(dataclasses.replace(split, end=1), *_more)
        raise MemoryError

    monkeypatch.setattr(spark_reading, "read_split", starved)
    with pytest.raises(
        RecordTooLargeError, match="topic t, partition 4, offset 1: not enough memory"
    ) as caught:
        read(directory)
    assert (caught.value.offset, caught.value.size) == (1, len(two))


def test_rows_of_small_segments_of_several_partitions_name_their_own(tmp_path: Path) -> None:
    for number in range(3):
        for base_offset in (0, 2):
            segment(tmp_path / f"t-{number}", base_offset, *batches(base_offset, base_offset + 1))
    rows = read(tmp_path, columns("topic", "sourceFile", "offset", "Partition", "damage"))
    assert [(row["Partition"], row["offset"]) for row in rows] == [(p, o) for p in range(3) for o in range(4)]
    assert {row["topic"] for row in rows} == {"t"} and {row["damage"] for row in rows} == {None}
    assert {(row["Partition"], row["offset"] // 2 * 2, row["sourceFile"]) for row in rows} == {
        (p, o, str(tmp_path / f"t-{p}" / f"{o:020}.log")) for p in range(3) for o in (0, 2)
    }


def test_a_timestamp_out_of_range_names_the_partition_that_has_it(tmp_path: Path) -> None:
    late = {"base_timestamp": 1 << 62, "max_timestamp": 1 << 62}
    segment(tmp_path / "t-0", 0, *batches(0, 1))
    segment(tmp_path / "t-1", 0, build.batch(0, [build.record(0)], **late))
    segment(tmp_path / "t-2", 0, *batches(0))
    with pytest.raises(TimestampRangeError, match=r"\(topic t, partition 1\)") as caught:
        read(tmp_path)
    assert caught.value.path == str(tmp_path / "t-1" / FIRST)
