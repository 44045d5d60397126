"""The parts of `ingest` one by one, without Spark: names, tasks, reports, files, publishing."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest
from tests.spark.ingested import parquet_rows
from tests.spark.test_ingest import files_below
from tests.spark.test_reader import batches, segment

from kafka_segments.errors import OptionError, OutputError, TimestampRangeError
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import Split, StoredFile, StoredSegment
from kafka_segments.spark import ingest as job
from kafka_segments.spark.parquet import ParquetFile
from kafka_segments.spark.publish import check_destination, is_surely_text, partition_path, publish
from kafka_segments.spark.report import PartitionReport, merge
from kafka_segments.spark.sink import ParquetWriter, row_of_task
from kafka_segments.spark.splits import pack
from kafka_segments.spark.work import WorkDirectory, data_path


@pytest.mark.parametrize("name", ["orders", "__consumer_offsets", "a1", "T-5", "nano", "_x"])
def test_names_that_are_text(name: str) -> None:
    assert is_surely_text(name)


@pytest.mark.parametrize(
    "name",
    [
        "0",
        "007",
        "-1",
        "1.5",
        "1e5",
        ".5",
        "2024-01-01",
        "NaN",
        "inf",
        "Infinity",
        "TRUE",
        "0x1F",
        "_",
        "1_000",
        "1d",
    ],
)
def test_names_that_may_not_be(name: str) -> None:
    assert not is_surely_text(name)


def test_null_topic_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be told from null"):
        partition_path("__HIVE_DEFAULT_PARTITION__", 0)


def split_of(path: str, partition: int, size: int) -> Split:
    return Split("t", partition, 0, None, StoredSegment(StoredFile(path, size, ""), 0, is_newest=True))


def split(partition: int, size: int) -> Split:
    return split_of("/x", partition, size)


def test_tasks() -> None:
    mebi = 1 << 20
    assert pack([]) == []
    splits = [split(number, size) for number, size in enumerate((5 * mebi, 0, 200 * mebi, 0, 0, 62 * mebi))]
    tasks = pack(splits)
    assert [entry for task in tasks for entry in task] == splits
    assert [[entry.partition for entry in task] for task in tasks] == [[0, 1], [2], [3, 4], [5]]
    assert [len(task) for task in pack([split(0, 0)] * 40, at_least=8)] == [5] * 8
    assert [len(task) for task in pack([split(0, 0)] * 3, at_least=8)] == [1] * 3


def test_reports_add_up_and_come_back() -> None:
    damage = Finding(Kind.DAMAGE, "t", 0, "somewhere \udc80")
    first = PartitionReport("t", 0, 2, 10, 100, 50, 5, 14, (damage,))
    second = PartitionReport("t", 0, 1, 1, 10, 5, 3, 3, (Finding(Kind.PENDING, "t", 0, "there"),))
    other, empty = PartitionReport("s", 1), PartitionReport("t", 0)
    merged = merge([first, other, second, empty])
    assert merged == [other, PartitionReport("t", 0, 3, 11, 110, 55, 3, 14, (damage, *second.findings))]
    assert merged[1].num_damaged == 1
    assert [PartitionReport.from_json(report.to_json()) for report in merged] == merged
    assert first.batches == 2


def write_task(work: Path, *splits: Split) -> Any:
    writer = ParquetWriter(str(work), str(work.parent / "out"), check_crc=True, max_decompressed=1 << 20)
    rows = pa.record_batch([pa.array([row_of_task(splits)])], names=["task"])
    return writer, writer.write(iter([rows]))


def test_an_attempt_that_does_not_count_leaves_nothing(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-0", 0, *batches(0, 1)) / f"{0:020}.log"
    one = split_of(str(path), 0, path.stat().st_size)
    with WorkDirectory(str(tmp_path / "out")) as work:
        write_task(Path(work.path), one)
        writer, result = write_task(Path(work.path), one)
        stray = Path(data_path(work.path)) / "topic=t" / "partition=9"
        stray.mkdir()
        (stray / "part-unfinished.parquet").touch()
        writer.commit([result])
        (report,) = work.reports()
        assert (report.records, report.batches) == (2, 2)
    assert files_below(tmp_path / "out") == result.files
    assert not (tmp_path / "out" / "topic=t" / "partition=9").exists()
    assert len(parquet_rows(tmp_path / "out")) == 2
    assert sorted(os.listdir(tmp_path)) == ["out", "t-0"]


def test_abort_removes_what_was_written(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-0", 0, *batches(0)) / f"{0:020}.log"
    with WorkDirectory(str(tmp_path / "out")) as work:
        writer, result = write_task(Path(work.path), split_of(str(path), 0, 1))
        writer.abort([result, None])
        assert os.listdir(work.path) == ["lock"]
    assert os.listdir(tmp_path) == ["t-0"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = segment(tmp_path / "t-0", 0, *batches(0)) / f"{0:020}.log"
    one = split_of(str(path), 0, 1)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with WorkDirectory(str(tmp_path / "out")) as work, pytest.raises(OutputError, match="No space left"):
        write_task(Path(work.path), one)
    monkeypatch.undo()
    with WorkDirectory(str(tmp_path / "out")) as work:
        writer, result = write_task(Path(work.path), one)
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="No space left"):
            writer.commit([result])
    assert os.listdir(tmp_path) == ["t-0"]


def test_parquet_files_are_cut_into_row_groups(tmp_path: Path) -> None:
    schema = pa.schema([("value", pa.binary())])
    path = tmp_path / "deep" / "x.parquet"
    with ParquetFile(str(path), schema) as file:
        assert file.size == 0
        for _ in range(5):
            file.write(pa.record_batch([pa.array([b"x" * (12 << 20)])], schema=schema))
    found = pyarrow.parquet.ParquetFile(path)
    assert [found.metadata.row_group(group).num_rows for group in range(found.num_row_groups)] == [3, 2]
    assert found.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.size == path.stat().st_size


def test_destination_through_a_link(tmp_path: Path) -> None:
    for name in ("real", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check_destination(str(tmp_path / "link"), [str(tmp_path / "logs")]) == str(tmp_path / "real")


def test_publishing_without_a_rename_leaves_no_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "rename", fail)
    with (
        WorkDirectory(str(tmp_path / "out")) as work,
        pytest.raises(OutputError, match="Permission denied"),
    ):
        publish(work.path, str(tmp_path / "out"), [], [])
    assert os.listdir(tmp_path) == []


def test_errors_come_home_as_they_were() -> None:
    text = (
        'An error occurred while calling o1.save.\n  File "x.py"\nkafka_segments.errors.ReadError: inner\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        "kafka_segments.errors.TimestampRangeError: /a/b.log: offset 3: too far\n\n\tat org.apache.spark\n"
    )
    found = job._our_error(Exception(text))
    assert type(found) is TimestampRangeError
    assert str(found) == "/a/b.log: offset 3: too far"
    other = job._our_error(Exception("Job aborted\njava.lang.OutOfMemoryError: Java heap space\n\tat x"))
    assert type(other) is OutputError
    assert "java.lang.OutOfMemoryError" in str(other)
