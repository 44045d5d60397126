"""`kafka-segments ingest`: Parquet that holds what Kafka reads, a table that counts it, nothing half done."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset
import pytest
from tests.ingest.ingested import (
    INGEST_TITLES,
    Run,
    Table,
    data_files,
    not_internal,
    parquet_rows,
    table_of,
    verb,
)
from tests.ingest.killed import HEEDING
from tests.made import build
from tests.python import run_python
from tests.spark import kafka_rows
from tests.spark.test_reader import VECTORS, batches, flipped, segment

from kafka_segments.ingest.destination import partition_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


@pytest.fixture
def ingest(shared_session: None, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in this process and with the session of these tests; gives status, table, messages."""
    return verb(capsys, INGEST_TITLES, "ingest", "--engine", "spark")


@pytest.mark.spark
def test_the_command_as_users_run_it(workers_path: None, spark: SparkSession, tmp_path: Path) -> None:
    source, destination = tmp_path / "logs", tmp_path / "new" / "parquet"
    shutil.copytree(CLEAN, source)
    before = {path: os.stat(path) for path in source.rglob("*")}
    words = ["ingest", source, destination, "--master", "local[2]", "--timings", "--progress"]
    done = run_python("-m", "kafka_segments.cli.main", *words, timeout=300, cwd=tmp_path)
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
    keys = sorted(map(kafka_rows.split_name, names))
    assert list(table) == [key for key in keys if key in table]
    assert {(row.topic, row.partition) for row in expected} <= table.keys(), "the others have nothing new"
    for (topic, partition), row in table.items():
        offsets = [row.offset for row in expected if (row.topic, row.partition) == (topic, partition)]
        assert int(row["records"]) == len(offsets)
        parts = [int(row[name]) for name in ("control", "aborted", "absent", "lost")]
        assert int(row["end offset"]) - int(row["first offset"]) == len(offsets) + sum(parts)
        directory = destination / partition_path(topic, partition)
        assert int(row["bytes out"]) == sum(path.stat().st_size for path in directory.glob("*"))
        assert row["damage"] == "0"
    for column in ("batches", "records", "bytes in", "bytes out"):
        assert int(total[column]) == sum(int(row[column]) for row in table.values())
    assert int(table["multi", 0]["bytes in"]) == sum(
        path.stat().st_size for path in (CLEAN / "multi-0").glob("*.log")
    )


@pytest.mark.spark
def test_damage_old_formats_and_what_cannot_be_opened(ingest: Run, tmp_path: Path) -> None:
    one, two, three, next_one = batches(0, 1, 2, 4)
    source = tmp_path / "logs"
    segment(source / "hurt-0", 0, one, flipped(two), three)
    segment(source / "hurt-0", 3, *batches(3), next_one[:30])
    segment(source / "old-0", 0, build.message(0), build.message(1, magic=0), *batches(2), build.message(3))
    segment(source / "junk-0", 0, b"this is not a segment " * 50)
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
    assert (
        f"hurt-0: {source}/hurt-0/{log}, position {size} to {2 * size}: the checksum of the batch is wrong"
        in err
    )
    assert "offsets lost: 1 to 1" in err
    assert re.search(r"hurt-0: .*/00000000000000000003\.log, .*the batch is cut off", err)
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
    ingest: Run, spark: SparkSession, tmp_path: Path, topics: tuple[str, ...]
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
    typed = polars.scan_parquet(f"{destination}/**/*.parquet", hive_schema=types)
    assert sorted(typed.collect()["topic"]) == sorted(topics)
    glob = f"{destination}/*/*/*.parquet"
    query = f"select topic from read_parquet('{glob}', hive_partitioning=true, hive_types={{topic: VARCHAR}})"
    assert sorted(duckdb.sql(query).fetchall()) == [(topic,) for topic in sorted(topics)]


@pytest.mark.spark
@pytest.mark.parametrize("is_deleted", [False, True])
def test_nothing_to_write(ingest: Run, spark: SparkSession, tmp_path: Path, is_deleted: bool) -> None:
    directory = segment(tmp_path / "logs" / "t-0", 0)
    source = tmp_path / "logs"
    if is_deleted:
        source = directory / f"{0:020}.log"
        segment(directory, 9)
        (tmp_path / "logs" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    (tmp_path / "out").mkdir()
    status, table, _ = ingest(source, tmp_path / "out")
    assert status == 0
    assert table["total", -1]["records"] == "0"
    assert data_files(tmp_path / "out") == ["no-rows.parquet"]
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.count() == 0
    assert {
        "topic": "string",
        "partition": "int",
        "headers": "array<struct<key:binary,value:binary>>",
    }.items() <= dict(frame.dtypes).items()


COMMAND = "import sys\nfrom kafka_segments.cli.main import main\nsys.exit(main())"
ENDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "terminated", signal.SIGINT: "interrupted"}


@pytest.mark.spark
@pytest.mark.xdist_group("ingest")
@pytest.mark.long(short=False)  # in every run, tests/ingest/test_ended_runs.py ends runs without Spark
@pytest.mark.parametrize("number", list(ENDS))
def test_a_signal_ends_a_run(workers_path: None, tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", HEEDING + COMMAND, "ingest", str(CLEAN), str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "done" in line)
        process.send_signal(number)
        rest = process.stderr.read()
        status = process.wait(timeout=120)
    assert said.startswith("kafka-segments: 0 bytes of ")
    assert rest == f"kafka-segments: {ENDS[number]}\n"
    assert status == 128 + number
    assert data_files(tmp_path / "out") == []
