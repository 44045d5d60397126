"""Runs into a store that are killed at each point of their work: the next one finishes or repeats it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random

import pytest
from tests.forms import pick
from tests.ingest import killed
from tests.ingest.ingested import Run
from tests.ingest.killed import run_killed
from tests.ingest.stored import BUCKET, Bucket, partition_rows
from tests.made.directories import append, data, run_of

pytest.importorskip("obstore")
pytestmark = pytest.mark.s3

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
    check(ingest, audit, logs, bucket, table, kind)


@pytest.mark.parametrize("seed", range(pick(1, 20)))
@pytest.mark.long
def test_a_kill_at_some_moment(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, seed: int
) -> None:
    out, dice = f"s3a://{BUCKET}/{table}", Random(seed)
    assert ingest(*bucket.plain_words, logs, out)[0] == 0
    grow(logs)
    for _ in range(2):
        words = ["ingest", "--engine", "local", *bucket.plain_words, logs, out]
        assert run_killed(f"{dice.uniform(0.0, 0.8):.3f}", *words) in (0, -signal.SIGKILL)
    check(ingest, audit, logs, bucket, table, "parquet")


def check(ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, kind: str) -> None:
    """Readers have seen no row twice, and the next run leaves the table as if nothing had happened."""
    out, words = f"s3a://{BUCKET}/{table}", [*bucket.plain_words, "--table", kind]
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
