"""Runs that are killed at each point of their work: the next one finishes or repeats it, and all adds up."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random

import pytest
from tests.forms import pick
from tests.ingest import killed
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.ingest.killed import run_killed
from tests.made.directories import append, run_of

SHORT = ("a file is half written", "the commit is made", "some files are published", "in the sweep")
NUM_RANDOM = 20


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(4):
        append(tmp_path / "logs" / f"t-{number}", *run_of(0, 30))
    return tmp_path / "logs"


def grow(logs: Path, start: int = 30, end: int = 45) -> None:
    for number in range(4):
        append(logs / f"t-{number}", *run_of(start, end + number * (end == 45)))


def check(ingest: Run, audit: Run, logs: Path, out: Path) -> None:
    """The next run leaves the table as if nothing had happened."""
    status, _, err = ingest(logs, out)
    assert status == 0, err
    status, table, err = audit(out, logs)
    assert status == 0, err
    assert table["total", -1]["records"] == str(sum(45 + number for number in range(4)))
    fresh = out.with_name("fresh")
    assert ingest(logs, fresh)[0] == 0
    assert parquet_rows(out) == parquet_rows(fresh)
    assert [name for name in os.listdir(out / "_kafka_segments") if name != "runs"] == []
    assert all(name.startswith("topic=") for name in data_files(out))


@pytest.mark.parametrize("point", pick(SHORT, tuple(killed.POINTS)))
@pytest.mark.long
def test_a_kill_at_a_point(ingest: Run, audit: Run, logs: Path, tmp_path: Path, point: str) -> None:
    assert ingest(logs, tmp_path / "out")[0] == 0
    grow(logs)
    words = ["ingest", "--engine", "local", logs, tmp_path / "out"]
    assert run_killed(point, *words) == -signal.SIGKILL
    check(ingest, audit, logs, tmp_path / "out")


@pytest.mark.parametrize("point", pick(("before the commit",), tuple(killed.POINTS)))
@pytest.mark.long
def test_a_kill_of_the_first_run(ingest: Run, audit: Run, logs: Path, tmp_path: Path, point: str) -> None:
    grow(logs)
    words = ["ingest", "--engine", "local", logs, tmp_path / "out"]
    assert run_killed(point, *words) == -signal.SIGKILL
    check(ingest, audit, logs, tmp_path / "out")


# Its tasks are in processes of their own, which test_engines.py kills.
@pytest.mark.parametrize("point", pick(("some files are published",), tuple(killed.POINTS)[2:]))
@pytest.mark.long
def test_a_kill_of_compact(ingest: Run, audit: Run, logs: Path, tmp_path: Path, point: str) -> None:
    assert ingest(logs, tmp_path / "out")[0] == 0
    grow(logs, 30, 36)
    assert ingest(logs, tmp_path / "out")[0] == 0
    grow(logs, 36)
    assert run_killed(point, "compact", "--engine", "local", tmp_path / "out") == -signal.SIGKILL
    check(ingest, audit, logs, tmp_path / "out")


@pytest.mark.parametrize("seed", range(pick(2, NUM_RANDOM)))
@pytest.mark.long
def test_a_kill_at_some_moment(ingest: Run, audit: Run, logs: Path, tmp_path: Path, seed: int) -> None:
    assert ingest(logs, tmp_path / "out")[0] == 0
    grow(logs)
    dice = Random(seed)
    for _ in range(3):
        words = ["ingest", "--engine", "local", logs, tmp_path / "out"]
        assert run_killed(f"{dice.uniform(0.0, 0.6):.3f}", *words) in (0, -signal.SIGKILL)
    check(ingest, audit, logs, tmp_path / "out")
