"""The parts of `ingest` one by one: names of directories, tasks, files, publishing, sweeping."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.ingest.killed import no_file_above
from tests.made.directories import append, run_of

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError, OutputError
from kafka_segments.ingest.destination import check_destination, is_surely_text, partition_path
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import RunState, TableSettings
from kafka_segments.ingest.runs.table_files import table_files
from kafka_segments.ingest.splits import pack
from kafka_segments.ingest.task import WriteSettings, WriteTask
from kafka_segments.log.model import Split, StoredFile, StoredSegment

ID = "0123456789abcdef" * 2
MEBI = 1 << 20
OFFSETS = TableSettings("parquet", ("offset",), "read_uncommitted")


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
    ],
)
def test_names_that_may_not_be(name: str) -> None:
    assert not is_surely_text(name)
    assert partition_path(name, 3, is_typed=True) == f"topic={name}/partition=3"
    assert partition_path(name, 3).startswith("topic=%")


def test_null_topic_is_refused() -> None:
    with pytest.raises(OptionError, match="would be read as null"):
        partition_path("__HIVE_DEFAULT_PARTITION__", 0)


def split_of(path: str, partition: int, size: int) -> Split:
    return Split("t", partition, 0, None, StoredSegment(StoredFile(path, size, ""), 0, is_newest=True))


def test_tasks() -> None:
    assert pack([]) == []
    sizes = (5 * MEBI, 0, 300 * MEBI, 0, 0, 254 * MEBI)
    splits = [split_of("/x", number, size) for number, size in enumerate(sizes)]
    tasks = pack(splits)
    assert [entry for task in tasks for entry in task] == splits
    assert [[entry.partition for entry in task] for task in tasks] == [[0, 1], [2], [3, 4], [5]]


def test_an_attempt_that_does_not_count_leaves_nothing(tmp_path: Path) -> None:
    directory = append(tmp_path / "t-0", *run_of(0, 6))
    path = directory / f"{0:020}.log"
    log = RunLog(str(tmp_path / "out"))
    run_id = log.begin(0)
    root = log.staging_of(run_id)
    assert not os.path.exists(root)
    task = WriteTask(
        (split_of(str(path), 0, path.stat().st_size),),
        frozenset(),
        WriteSettings(root, OFFSETS, log.files),
    )
    lost, kept = task.run(), task.run()
    assert lost.partitions == kept.partitions
    (file,) = kept.files
    assert (file.num_rows, file.first_offset, file.last_offset) == (6, 0, 5)
    log.files.publish(root, log.destination, [file.path])
    log.files.publish(root, log.destination, [file.path])  # again, as a run does after a kill
    assert log.sweep(0) == []
    assert log.sweep(1) == [root]
    found = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert [path.relative_to(tmp_path / "out").as_posix() for path in found] == [file.path]
    log.files.publish(root, log.destination, [lost.files[0].path])  # nothing waits there any more
    assert not log.files.has(f"{log.destination}/{lost.files[0].path}")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = append(tmp_path / "t-0", *run_of(0, 6)) / f"{0:020}.log"
    settings = WriteSettings(str(tmp_path / "out"), OFFSETS, table_files(str(tmp_path / "out")))
    task = WriteTask((split_of(str(path), 0, path.stat().st_size),), frozenset(), settings)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(OutputError, match="No space left"):
        task.run()


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
    assert (file.size, file.num_rows) == (path.stat().st_size, 5)


@pytest.mark.parametrize("num_bytes", [0, 1000, 100_000, 299_000])
def test_a_disk_that_is_full_is_told_with_the_file(tmp_path: Path, num_bytes: int) -> None:
    schema = pa.schema([("value", pa.binary())])
    path = tmp_path / "x.parquet"
    with (
        no_file_above(num_bytes),
        pytest.raises(OutputError, match=os.strerror(errno.EFBIG)) as caught,
        ParquetFile(str(path), schema) as file,
    ):
        file.write(pa.record_batch([pa.array([os.urandom(300_000)])], schema=schema))
    assert caught.value.path == str(path)


def test_destination_through_a_link(tmp_path: Path) -> None:
    for name in ("real", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for source in (str(tmp_path / "logs"), "s3a://bucket/logs"):
        assert check_destination(str(tmp_path / "link"), [source], Places()) == str(tmp_path / "real")


def test_runs_come_back_as_they_were(tmp_path: Path) -> None:
    run = RunState(1, f"{0:020}-{ID}", 5, TableSettings("parquet", ("offset",), "read_committed", "hour"))
    log = RunLog(str(tmp_path))
    assert (log.numbers(), log.newest()) == ([], None)
    os.makedirs(log.directory)
    log.create(run)
    (Path(log.directory) / "notes.txt").touch()
    assert (log.numbers(), log.newest()) == ([1], run)


def test_what_is_left_is_removed_as_far_as_it_is_ours(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    log = RunLog(str(out))
    log.discard(log.begin(0))
    assert not out.exists()
    assert (tmp_path / "deep").exists()
    out.mkdir()
    (out / "mine").touch()
    log.discard(log.begin(0))
    assert os.listdir(out) == ["mine"]
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        RunLog(str(tmp_path / "file" / "out")).begin(0)
