"""The same results with executors in processes of their own, some of whose attempts are lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from tests.ingest.ingested import data_files, parquet_rows, table_of
from tests.spark import cluster_job, conftest, kafka_rows
from tests.spark.test_reader import read

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.long(short=False)]

NAME = "kafka-4.3/clean"

SUITE = ("doors/test_doors.py", "spark/test_source.py")


class Run(NamedTuple):
    """A run of `cluster_job`: its folder and its process, whose output is pytest's."""

    found: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def cluster(workers_path: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two executors, which read, ingest, and then run the suite."""
    found = tmp_path_factory.mktemp("cluster")
    command = ["-m", "tests.spark.cluster_job", str(kafka_rows.RECORDED / NAME), str(found)]
    # Its executors' work directories and logs would appear where it runs.
    return Run(found, run_suite(command, found, cluster_job.MASTER))


def run_suite(program: list[str], folder: Path, master: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this Python with pytest's arguments for the suite."""
    tests = [str(conftest.ROOT / "tests" / name) for name in SUITE]
    options = ["-q", "-m", "spark", "-p", "no:cacheprovider", f"--rootdir={conftest.ROOT}"]
    return subprocess.run(
        [sys.executable, *program, *options, "-c", str(conftest.ROOT / "pyproject.toml"), *tests],
        capture_output=True,
        text=True,
        timeout=900,  # alone on two cores it takes one or two minutes
        cwd=folder,
        env={**os.environ, conftest.MASTER: master},
    )


def counts_of(done: subprocess.CompletedProcess[str]) -> str:
    """The closing line of a suite in which every test passed."""
    assert done.returncode == 0, done.stdout + done.stderr
    *_, counts = done.stdout.splitlines()
    assert re.search(r"\b[1-9]\d* passed", counts)
    return counts


def test_local_cluster(cluster: Run) -> None:
    ended = cluster.found / "status.json"
    assert ended.exists(), cluster.done.stderr
    assert json.loads(ended.read_text()) == 0, cluster.done.stderr
    driver, *executors = json.loads((cluster.found / "pids.json").read_text())
    assert driver not in executors
    assert len(executors) == 2, "two executors, each with a Python daemon of its own"

    assert len(list(cluster.found.glob("ingested.lost-*"))) >= 2

    expected = kafka_rows.source_rows(NAME)
    assert kafka_rows.of_arrow(pq.read_table(cluster.found / "read.parquet")) == expected
    assert parquet_rows(cluster.found / "ingested") == expected
    table = table_of((cluster.found / "table.txt").read_text())
    assert table["total", -1]["records"] == str(len(expected))
    with_rows = {(row.topic, row.partition) for row in expected}
    files = data_files(cluster.found / "ingested")
    assert all(name.startswith("topic=") for name in files)
    size = sum((cluster.found / "ingested" / name).stat().st_size for name in files)
    assert table["total", -1]["bytes out"] == str(size), "no file of a lost attempt is there"
    assert {
        kafka_rows.split_name(unquote(Path(n).parts[0][6:]) + "-" + Path(n).parts[1][10:]) for n in files
    } == with_rows
    assert os.listdir(cluster.found / "ingested" / "_kafka_segments") == ["runs"]


def test_writing_in_a_cluster(cluster: Run) -> None:
    """Attempts that wrote everything and failed leave nothing, and double nothing."""
    assert (cluster.found / "status.json").exists(), cluster.done.stderr
    assert len(list(cluster.found.glob("written.lost-*"))) == 2
    expected = {
        (row.topic, row.partition, row.offset, row.key, row.value)
        for row in kafka_rows.source_rows(NAME)
        if row.timestamp >= -1000
    }
    rows = read(cluster.found / "written")
    found = [tuple(row[name] for name in ("topic", "partition", "offset", "key", "value")) for row in rows]
    assert len(found) == len(expected)
    assert set(found) == expected
    assert [name for name in os.listdir(cluster.found) if name.startswith(".written")] == []


def test_the_suite_in_a_cluster(cluster: Run, print_at_end: Callable[[str, list[str]], None]) -> None:
    """What is true with threads of one process is true with executors in processes of their own too."""
    print_at_end("the Spark tests elsewhere", [f"{cluster_job.MASTER}: {counts_of(cluster.done)}"])


@pytest.mark.connect
def test_the_suite_through_connect(
    connect_address: str, tmp_path: Path, print_at_end: Callable[[str, list[str]], None]
) -> None:
    done = run_suite(["-m", "pytest"], tmp_path, connect_address)
    print_at_end("the Spark tests elsewhere", [f"connect: {counts_of(done)}"])
