"""The same results with executors in processes of their own, some of whose attempts are lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from tests.forms import pick
from tests.spark import cluster_job, conftest, kafka_rows
from tests.spark.test_ingest import files_below, parquet_rows, table_of

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

NAME = "kafka-4.3/clean"


def test_local_cluster(workers_path: None, tmp_path: Path) -> None:
    source = str(kafka_rows.RECORDED / NAME)
    command = [sys.executable, "-m", "tests.spark.cluster_job", source, str(tmp_path)]
    # Its executors' work directories and logs would appear where it runs.
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    driver, *executors = json.loads((tmp_path / "pids.json").read_text())
    assert driver not in executors
    assert len(executors) == 2, "two executors, each with a Python daemon of its own"

    assert len(list(tmp_path.glob("ingested.lost-*"))) >= 2

    expected = kafka_rows.source_rows(NAME)
    assert kafka_rows.of_arrow(pq.read_table(tmp_path / "read.parquet")) == expected
    assert parquet_rows(tmp_path / "ingested") == expected
    table = table_of(done.stdout)
    assert table["total", -1]["records"] == str(len(expected))
    with_rows = {(row.topic, row.partition) for row in expected}
    files = files_below(tmp_path / "ingested")
    assert all(name.startswith("topic=") for name in files)
    size = sum((tmp_path / "ingested" / name).stat().st_size for name in files)
    assert table["total", -1]["bytes out"] == str(size), "no file of a lost attempt is there"
    assert {
        kafka_rows.split_name(unquote(Path(n).parts[0][6:]) + "-" + Path(n).parts[1][10:]) for n in files
    } == with_rows
    assert not list(tmp_path.glob(".ingested*"))


SUITE = pick(
    (
        f"test_rows.py::test_rows_of_a_set[{NAME}]",
        "test_rows.py::test_counts_and_offsets_by_sql",
        "test_source.py",
    ),
    ("test_rows.py", "test_source.py"),
)
"""In the short form the rows of one set, in the full one those of all."""


@pytest.mark.long
@pytest.mark.parametrize(
    "master",
    [
        pytest.param(cluster_job.MASTER, id="executors in processes of their own"),
        pytest.param(conftest.REMOTE, id="connect", marks=pytest.mark.connect),
    ],
)
def test_the_suite_elsewhere(
    workers_path: None, tmp_path: Path, master: str, print_at_end: Callable[[str, list[str]], None]
) -> None:
    """What is true with threads of one process is true with other processes too."""
    tests = [str(conftest.ROOT / "tests" / "spark" / name) for name in SUITE]
    options = ["-q", "-m", "spark", "-p", "no:cacheprovider", f"--rootdir={conftest.ROOT}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", str(conftest.ROOT / "pyproject.toml"), *tests],
        capture_output=True,
        text=True,
        timeout=900,  # alone on two cores it takes one or two minutes
        cwd=tmp_path,
        env={**os.environ, conftest.MASTER: master},
    )
    assert done.returncode == 0, done.stdout
    *_, counts = done.stdout.splitlines()
    assert re.search(r"\b[1-9]\d* passed", counts)
    print_at_end("the Spark tests elsewhere", [f"{master}: {counts}"])
