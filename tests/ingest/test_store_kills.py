"""Runs into a store that are killed at each point of their work: the next one finishes or repeats it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.builders.directories import append, data, run_of
from tests.forms import pick
from tests.ingest import killed
from tests.ingest.ingested import Run, parquet_rows
from tests.ingest.stored import BUCKET, Bucket

from kafka_segments.io.object_store import object_store_options

pytest.importorskip("obstore")
pytestmark = pytest.mark.s3

ROOT = Path(__file__).resolve().parents[2]
SHORT = ("in an upload", "the commit is made", "some files are copied")
DELTA = ("the commit is made", "all files are copied", "all copies are removed")
NUM_PARTITIONS = 3


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(NUM_PARTITIONS):
        append(tmp_path / "logs" / f"t-{number}", *run_of(0, 30))
    return tmp_path / "logs"


def grow(logs: Path) -> None:
    """New records, the first partition's of so many bytes that its file is uploaded in parts."""
    large = [os.urandom(1 << 20) for _ in range(10)]
    batches = [data(30 + at, value) for at, value in enumerate(large)]
    append(logs / "t-0", *batches)
    for number in range(1, NUM_PARTITIONS):
        append(logs / f"t-{number}", *run_of(30, 40))


def run_killed(point: str, *words: object) -> int:
    command = [sys.executable, "-m", "tests.ingest.killed", point, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(command, capture_output=True, timeout=120, env=environment, check=False).returncode


def partition_rows(bucket: Bucket, table: str, kind: str) -> list[tuple[int, int]]:
    """Partition and offset of all rows that readers of the table see."""
    if kind == "parquet":
        return [(row.partition, row.offset) for row in parquet_rows(bucket.folder / table)]
    deltalake = pytest.importorskip("deltalake")
    options = object_store_options("s3", BUCKET, bucket.settings)
    found = deltalake.DeltaTable(f"s3://{BUCKET}/{table}", storage_options=options).to_pyarrow_table()
    return sorted(zip(*(found[name].to_pylist() for name in ("partition", "offset")), strict=True))


@pytest.mark.parametrize(
    ("kind", "point"),
    [
        *(("parquet", point) for point in pick(SHORT, tuple(killed.STORE_POINTS))),
        *(("delta", point) for point in pick(DELTA[:1], DELTA)),
    ],
)
@pytest.mark.long
def test_a_kill_at_a_point(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, kind: str, point: str
) -> None:
    out, words = f"s3a://{BUCKET}/{table}", [*bucket.plain_words, "--table", kind]
    assert ingest(*words, logs, out)[0] == 0
    grow(logs)
    if point == "in the sweep of the store":  # there has to be something to sweep
        assert run_killed("before the commit", "ingest", "--engine", "local", *words, logs, out) < 0
    assert run_killed(point, "ingest", "--engine", "local", *words, logs, out) == -signal.SIGKILL
    seen = partition_rows(bucket, table, kind)
    assert len(seen) == len(set(seen)), "a reader sees no row twice, whenever the run was killed"
    status, _, err = ingest(*words, logs, out)
    assert status == 0, err
    assert partition_rows(bucket, table, kind) == [
        (part, offset) for part in range(NUM_PARTITIONS) for offset in range(40)
    ]
    status, rows, err = audit(*bucket.words, out, logs)
    assert (status, rows["total", -1]["records"]) == (0, str(40 * NUM_PARTITIONS)), err
    append(logs / "t-1", *run_of(40, 41))
    assert ingest(*words, logs, out)[0] == 0
    assert bucket.state_of(table) == ["runs"], "the next run but one has removed what was left"
