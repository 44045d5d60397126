"""`kafka-segments ingest`: Parquet that holds what Kafka reads, a table that counts it, nothing half done."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset
import pytest
from tests.builders import build
from tests.spark import kafka_rows
from tests.spark.ingested import Ingest, Table, not_internal, parquet_rows, table_of
from tests.spark.test_reader import VECTORS, batches, flipped, segment

from kafka_segments.cli.main import main
from kafka_segments.spark import ingest as job
from kafka_segments.spark.publish import partition_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


def files_below(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


# --- through Spark ------------------------------------------------------------------------------------------


@pytest.fixture
def ingest(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ingest:
    """The command, in this process and with the session of these tests; gives status, table, messages."""

    @contextmanager
    def shared(_master: str) -> Iterator[SparkSession]:
        yield spark

    def run(*words: Any) -> tuple[int, Table, str]:
        capsys.readouterr()
        status = main(["ingest", *map(str, words)])
        captured = capsys.readouterr()
        return status, table_of(captured.out) if captured.out else {}, captured.err

    monkeypatch.setattr(job, "open_session", shared)
    return run


@pytest.mark.spark
def test_the_command_as_users_run_it(workers_path: None, spark: SparkSession, tmp_path: Path) -> None:
    source, destination = tmp_path / "logs", tmp_path / "new" / "parquet"
    shutil.copytree(CLEAN, source)
    before = {path: os.stat(path) for path in source.rglob("*")}
    command = [sys.executable, "-m", "kafka_segments.cli.main", "ingest", str(source), str(destination)]
    command += ["--master", "local[2]", "--timings", "--progress"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Spark started in \d+\.\d s, its job took \d+\.\d s; whole job \d+\.\d s", done.stderr)
    assert "100%" in done.stderr
    assert not re.search(r"\b(WARN|ERROR)\b|Exception", done.stderr)
    assert sorted(os.listdir(tmp_path)) == ["logs", "new"]
    assert os.listdir(tmp_path / "new") == ["parquet"]
    after = {path: os.stat(path) for path in source.rglob("*")}
    assert {path: (s.st_mtime_ns, s.st_size) for path, s in after.items()} == {
        path: (s.st_mtime_ns, s.st_size) for path, s in before.items()
    }

    expected = not_internal(kafka_rows.rows("kafka-4.3/clean"))
    assert parquet_rows(destination) == expected
    frame = spark.read.parquet(str(destination))
    assert dict(frame.dtypes)["topic"] == "string"
    assert dict(frame.dtypes)["partition"] == "int"
    assert frame.count() == len(expected)
    counts = {(row[0], row[1]): row[2] for row in frame.groupBy("topic", "partition").count().collect()}
    table = table_of(done.stdout)
    check_table(table, destination, expected)
    assert counts == {key: int(row["records"]) for key, row in table.items() if row["records"] != "0"}


def check_table(table: Table, destination: Path, expected: list[kafka_rows.Row]) -> None:
    total = table.pop(("total", -1))
    names = [name for name in kafka_rows.partitions("kafka-4.3/clean") if not name.startswith("__")]
    assert list(table) == sorted(map(kafka_rows.split_name, names))
    for (topic, partition), row in table.items():
        offsets = [row.offset for row in expected if (row.topic, row.partition) == (topic, partition)]
        assert int(row["records"]) == len(offsets)
        assert row["first offset"] == (str(offsets[0]) if offsets else "-")
        assert row["last offset"] == (str(offsets[-1]) if offsets else "-")
        directory = destination / partition_path(topic, partition)
        assert int(row["bytes out"]) == sum(path.stat().st_size for path in directory.glob("*"))
        assert row["damage"] == "0"
    for column in ("batches", "records", "bytes in", "bytes out"):
        assert int(total[column]) == sum(int(row[column]) for row in table.values())
    assert int(table["multi", 0]["bytes in"]) == sum(
        path.stat().st_size for path in (CLEAN / "multi-0").glob("*.log")
    )


@pytest.mark.spark
def test_damage_old_formats_and_what_cannot_be_opened(ingest: Ingest, tmp_path: Path) -> None:
    one, two, three, next_one = batches(0, 1, 2, 4)
    source = tmp_path / "logs"
    segment(source / "hurt-0", 0, one, flipped(two), three)
    segment(source / "hurt-0", 3, *batches(3), next_one[:30])
    segment(source / "old-0", 0, build.message(0), build.message(1, magic=0), *batches(2), build.message(3))
    segment(source / "junk-0", 0, b"this is no segment " * 50)
    destination = tmp_path / "out"
    status, table, err = ingest(source, destination)
    assert status == 1
    counts = {key: (row["batches"], row["records"], row["damage"]) for key, row in table.items()}
    assert counts == {
        ("hurt", 0): ("3", "3", "2"),
        ("junk", 0): ("0", "0", "1"),
        ("old", 0): ("4", "4", "0"),
        ("total", -1): ("7", "7", "3"),
    }
    log = f"{0:020}.log"
    size = len(one)
    assert f"hurt-0: {source}/hurt-0/{log}, position {size} to {2 * size}: ChecksumMismatchError" in err
    assert "offsets lost: 1 to 1" in err
    assert re.search(r"hurt-0: .*/00000000000000000003\.log, .*TruncatedError", err)
    assert re.search(r"junk-0: .*does not look like a Kafka segment", err)
    assert [(row.topic, row.offset) for row in parquet_rows(destination)] == [
        ("hurt", 0), ("hurt", 2), ("hurt", 3), ("old", 0), ("old", 1), ("old", 2), ("old", 3),
    ]  # fmt: skip

    redpanda = (VECTORS / "redpanda_batch_header" / "worked_example.bin").read_bytes()
    segment(source / "panda-0", 0, redpanda)
    status, table, err = ingest(source, tmp_path / "out2")
    assert status == 2
    assert "this is a log of Redpanda" in err
    assert table["panda", 0]["damage"] == "1"
    assert len(parquet_rows(tmp_path / "out2")) == 7, "the rest was done"


@pytest.mark.spark
@pytest.mark.parametrize("topics", [("007", "123"), ("2024-01-01",), ("true", "1e5"), ("007", "text")])
def test_topics_that_look_like_numbers(
    ingest: Ingest, spark: SparkSession, tmp_path: Path, topics: tuple[str, ...]
) -> None:
    for topic in topics:
        segment(tmp_path / "logs" / f"{topic}-3", 0, *batches(0))
    destination = tmp_path / "out"
    status, _, _ = ingest(tmp_path / "logs", destination)
    assert status == 0
    assert [(row.topic, row.partition) for row in parquet_rows(destination)] == [
        (topic, 3) for topic in sorted(topics)
    ]
    frame = spark.read.parquet(str(destination))
    assert frame.select("topic", "partition").dtypes == [("topic", "string"), ("partition", "int")]
    assert sorted(tuple(row) for row in frame.select("topic", "partition").collect()) == [
        (topic, 3) for topic in sorted(topics)
    ]
    directories = pyarrow.dataset.dataset(destination, partitioning="hive").files
    assert len(directories) == len(topics), "and nothing that looks like another topic"
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    types = {"topic": polars.String, "partition": polars.Int32}
    typed = polars.scan_parquet(f"{destination}/", hive_schema=types)
    assert sorted(typed.collect()["topic"]) == sorted(topics)
    glob = f"{destination}/*/*/*.parquet"
    query = f"select topic from read_parquet('{glob}', hive_partitioning=true, hive_types={{topic: VARCHAR}})"
    assert sorted(duckdb.sql(query).fetchall()) == [(topic,) for topic in sorted(topics)]


@pytest.mark.spark
@pytest.mark.parametrize("is_deleted", [False, True])
def test_nothing_to_write(ingest: Ingest, spark: SparkSession, tmp_path: Path, is_deleted: bool) -> None:
    directory = segment(tmp_path / "logs" / "t-0", 0)
    source = tmp_path / "logs"
    if is_deleted:
        source = directory / f"{0:020}.log"
        segment(directory, 9)
        (tmp_path / "logs" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    (tmp_path / "out").mkdir()
    status, table, _ = ingest(source, tmp_path / "out")
    assert status == 0
    assert table["t", 0]["records"] == "0"
    assert table["t", 0]["first offset"] == "-"
    assert files_below(tmp_path / "out") == ["no-rows.parquet"]
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.count() == 0
    assert {
        "topic": "string",
        "partition": "int",
        "headers": "array<struct<key:binary,value:binary>>",
    }.items() <= dict(frame.dtypes).items()


@pytest.mark.spark
def test_several_sources_and_a_log_start(ingest: Ingest, tmp_path: Path) -> None:
    first = segment(tmp_path / "disk1" / "t-0", 0, *batches(0, 1, 2))
    segment(tmp_path / "disk2" / "t-1", 0, *batches(0))
    (tmp_path / "disk1" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    status, table, _ = ingest(first / f"{0:020}.log", tmp_path / "disk2", tmp_path / "out")
    assert status == 0
    assert {key: row["records"] for key, row in table.items()} == {
        ("t", 0): "1",
        ("t", 1): "1",
        ("total", -1): "2",
    }
    assert table["t", 0]["batches"] == "1"


@pytest.mark.spark
def test_extreme_timestamps_write_nothing(ingest: Ingest, tmp_path: Path) -> None:
    status, table, err = ingest(kafka_rows.RECORDED / kafka_rows.EXTREME, tmp_path / "out")
    assert (status, table) == (3, {})
    assert re.search(
        r"offset \d+: the timestamp -?\d+ .*\(topic extreme, partition 0\).*nothing was written", err
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.spark
def test_destination_taken_while_the_job_runs(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment(tmp_path / "logs" / "t-0", 0, *batches(0))
    save = job._Job._save

    def occupy(*arguments: Any) -> None:
        segment(tmp_path / "out", 0, b"mine")
        save(*arguments)

    monkeypatch.setattr(job._Job, "_save", occupy)
    status, table, err = ingest(tmp_path / "logs", tmp_path / "out")
    assert (status, table) == (3, {})
    assert "not empty" in err
    assert files_below(tmp_path / "out") == [f"{0:020}.log"]
    assert sorted(os.listdir(tmp_path)) == ["logs", "out"]


@pytest.mark.spark
@pytest.mark.xdist_group("ingest")
@pytest.mark.long(short=False)  # in every run, test_ingest_ends.py sends another signal
def test_interrupt(workers_path: None, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafka_segments.cli.main", "ingest", str(CLEAN), str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "tasks done" in line)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        status = process.wait(timeout=120)
    assert said.startswith("kafka-segments: 0 of ")
    assert rest == "kafka-segments: interrupted\n"
    assert status == 130
    assert os.listdir(tmp_path) == []


# --- what is refused before Spark starts --------------------------------------------------------------------


def refused(*words: Any) -> int:
    return main(["ingest", *map(str, words)])


def test_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_master: str) -> None:
        raise AssertionError("Spark must not start")

    monkeypatch.setattr(job, "open_session", never)
    source = tmp_path / "logs"
    directory = segment(source / "t-0", 0, *batches(0))
    full = segment(tmp_path / "full", 0)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(source)

    def says(words: str, *arguments: Any, status: int = 2) -> None:
        assert refused(*arguments) == status
        err = capsys.readouterr().err
        assert re.search(words, err), err

    says("not an empty directory", source, full)
    says("not an empty directory", source, tmp_path / "file")
    says("lies in the source", source, source)
    says("lies in the source", source, source / "out")
    says("lies in the source", source, tmp_path / "link" / "out")
    says("lies in the source", tmp_path / "link", source / "out")
    says("lies in the source", directory, directory / "out")
    says("lies in the source", directory / f"{0:020}.log", directory / "out")
    (source / "meta.properties").touch()
    says("lies in the source", directory, source / "out")
    says("check the path", tmp_path / "none", tmp_path / "out")
    says("no segments here", tmp_path / "full" / "..", tmp_path / "full" / ".." / ".." / "out")
    says("cannot write beside it", source, tmp_path / "file" / "out", status=3)
    assert not (tmp_path / "out").exists()


def test_no_java(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    directory = segment(tmp_path / "t-0", 0, *batches(0))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(directory, tmp_path / "out") == 2
    assert re.search(
        r"Spark needs Java 17 or newer, and there is none: .*apt-get install", capsys.readouterr().err
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert refused(directory, tmp_path / "out") == 2
    assert "JAVA_HOME" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["t-0"]


@pytest.mark.parametrize(("missing", "extra"), [("pyspark", "spark"), ("pyarrow", "arrow")])
def test_missing_packages(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    extra: str,
) -> None:
    directory = segment(tmp_path / "t-0", 0, *batches(0))
    late = ("kafka_segments.spark", "kafka_segments.segment.table", "kafka_segments.segment.columnar")
    for name in [name for name in sys.modules if name.startswith(late)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert refused(directory, tmp_path / "out") == 2
    assert f"pip install 'kafka-segments[{extra}]'" in capsys.readouterr().err
