"""The source's reader as Spark uses it, pickled on the way to its tasks, but without a JVM: fast."""

from __future__ import annotations

import dataclasses
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructField, StructType
from tests.made import build
from tests.spark import kafka_rows
from tests.spark.planned import batches_of, reader_of, source_of

from kafka_segments.errors import (
    ChecksumMismatchError,
    DecompressionError,
    KafkaFormatError,
    RecordTooLargeError,
    TimestampRangeError,
    TruncatedError,
)
from kafka_segments.query.read import split_reader
from kafka_segments.spark import reading as spark_reading
from kafka_segments.spark.schema import VIEW_SCHEMAS

VECTORS = kafka_rows.VECTORS
FIRST = f"{0:020}.log"


def read(
    path: Path | str | list[str], schema: StructType | None = None, **options: str
) -> list[dict[str, Any]]:
    """Rows as dictionaries, by the same steps as Spark takes; timestamps as numbers."""
    where = {"paths": json.dumps(path)} if isinstance(path, list) else {"path": str(path)}
    source = source_of(**where, **options)
    wanted = source.schema() if schema is None else schema
    rows = []
    for batch in batches_of(source.reader(wanted)):
        assert batch.schema.names == wanted.names
        numbers = [
            column.cast("int64") if field.name == "timestamp" else column
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        values = [column.to_pylist() for column in numbers]
        rows += [dict(zip(wanted.names, row, strict=True)) for row in zip(*values, strict=True)]
    return rows


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
