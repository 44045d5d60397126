"""Attempts of tasks that nobody counts on any more; segments that go or change while a run plans or works."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, parquet_rows, request_of
from tests.ingest.stored import BUCKET, Bucket
from tests.made.directories import append, log_start, run_of, segment_path
from tests.python import locked

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import ReadError
from kafka_segments.ingest import run_plan
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.job import Ingest, ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query import Query

NUM_ROWS = 12


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return append(tmp_path / "logs" / "t-0", *run_of(0, NUM_ROWS)).parent


@pytest.fixture(params=["directory", pytest.param("store", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str], Path]:
    """A destination, its settings, and where its files are."""
    if request.param == "directory":
        return str(tmp_path / "out"), {}, tmp_path / "out"
    pytest.importorskip("obstore")
    bucket: Bucket = request.getfixturevalue("bucket")
    name = request.getfixturevalue("table")
    return f"s3a://{BUCKET}/{name}", bucket.settings, bucket.folder / name


def run_into(logs: Path, out: str, settings: dict[str, str], engine: Any) -> Ingest:
    request = request_of((str(logs),), out, Query(), tuple(SCHEMA.names), store_settings=settings)
    return ingest(plan_ingest(request), engine)


class Stopped:
    """An engine whose first attempt stops in the middle of its file; another one is run in its place."""

    start_seconds = 0.0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_stopped, self.may_go_on = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        real = ParquetFile.write

        def write(file: ParquetFile, batch: Any) -> None:
            real(file, batch)
            if threading.current_thread() in self.threads:
                self.has_stopped.set()
                assert self.may_go_on.wait(60)

        monkeypatch.setattr(ParquetFile, "write", write)

    def run(self, tasks: Sequence[Any], show: Any = None) -> list[Any]:
        first = threading.Thread(target=LocalEngine(1).run, args=(tasks,))
        self.threads.append(first)
        first.start()
        assert self.has_stopped.wait(60)
        return LocalEngine(1).run(tasks, show)

    def go_on(self) -> None:
        self.may_go_on.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def test_an_attempt_that_goes_on_after_the_commit(
    audit: Run,
    logs: Path,
    place: tuple[str, dict[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As under Spark's speculation, or when an executor was taken for dead."""
    out, settings, folder = place
    words = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    engine = Stopped(monkeypatch)
    run_into(logs, out, settings, engine)
    engine.go_on()
    left = list((folder / "_kafka_segments" / "staging").rglob("*.parquet"))
    assert len(left) == bool(settings), "in a directory the open file was removed with what held it"
    for end in (NUM_ROWS, NUM_ROWS + 3, NUM_ROWS + 6):
        assert [row.offset for row in parquet_rows(folder)] == list(range(end))
        status, _, err = audit(*words, out, logs)
        assert status == 0, err
        append(logs / "t-0", *run_of(end, end + 3))
        run_into(logs, out, settings, LocalEngine(1))
    assert not any(one.exists() for one in left), "it was swept"


class Before:
    """An engine that lets something happen before its tasks."""

    start_seconds = 0.0

    def __init__(self, then: Callable[[], Any]) -> None:
        self._then = then

    def run(self, tasks: Sequence[Any], show: Any = None) -> list[Any]:
        self._then()
        return LocalEngine(1).run(tasks, show)


def test_a_segment_that_is_rolled_in_mid_run(audit: Run, logs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")

    def roll() -> None:
        append(logs / "t-0", *run_of(NUM_ROWS, NUM_ROWS + 3))
        append(logs / "t-0", *run_of(NUM_ROWS + 3, NUM_ROWS + 9), base_offset=NUM_ROWS + 3)

    run_into(logs, out, {}, Before(roll))
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(NUM_ROWS))
    assert run_into(logs, out, {}, LocalEngine(1)).run.accounts[0].records == 9
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(NUM_ROWS + 9))
    assert audit(out, logs)[0] == 0


def test_a_segment_that_is_deleted_in_mid_run(audit: Run, logs: Path, tmp_path: Path) -> None:
    """By retention, after it was planned: its offsets are lost, and told so."""
    out = str(tmp_path / "out")
    append(logs / "t-0", *run_of(NUM_ROWS, NUM_ROWS + 6), base_offset=NUM_ROWS)
    done = run_into(logs, out, {}, Before(segment_path(logs / "t-0", 0).unlink))
    (account,) = done.run.accounts
    assert (account.records, account.lost, account.end_offset) == (6, NUM_ROWS, NUM_ROWS + 6)
    assert any("00000000000000000000.log" in str(one) for one in done.partitions[0].findings)
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(NUM_ROWS, NUM_ROWS + 6))
    append(logs / "t-0", *run_of(NUM_ROWS + 6, NUM_ROWS + 9))
    run_into(logs, out, {}, LocalEngine(1))
    status, _, err = audit(out, logs)
    assert (status, f"t-0: {NUM_ROWS} offsets were lost" in err) == (1, True), err


def test_retention_while_a_run_plans(
    ingest: Run, audit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    append(logs / "t-0", *run_of(0, 9))
    ingest(logs, out)
    append(logs / "t-0", *run_of(9, 12), base_offset=9)
    first, real = segment_path(logs / "t-0", 0), Places.open

    def retaining(self: Places, path: str, *arguments: Any, **more: Any) -> Any:
        if path == str(first) and first.exists():
            first.unlink()
            log_start(logs, "t", 0, 9)
        return real(self, path, *arguments, **more)

    monkeypatch.setattr(Places, "open", retaining)
    status, table, err = ingest(logs, out)
    assert (status, table["t", 0]["records"], table["t", 0]["lost"]) == (0, "3", "0"), err
    assert not first.exists()
    assert [row.offset for row in parquet_rows(out)] == list(range(12))
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("is_live", [False, True])
def test_a_cleaner_that_merges_segments_before_they_are_read(
    ingest: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_live: bool
) -> None:
    """What a running broker does lawfully does not change the exit status; it is said."""
    logs, lock = tmp_path / "logs", tmp_path / "logs" / ".lock"
    append(logs / "t-0", *run_of(0, 9))
    append(logs / "t-0", *run_of(9, 12), base_offset=9)
    lock.touch()
    real = LocalEngine.run

    def merging(self: LocalEngine, *arguments: Any) -> Any:
        second = segment_path(logs / "t-0", 9)
        segment_path(logs / "t-0", 0).write_bytes(b"".join(run_of(0, 12)))
        second.unlink()
        return real(self, *arguments)

    monkeypatch.setattr(LocalEngine, "run", merging)
    with locked(lock) if is_live else nullcontext():
        status, _, err = ingest(logs, tmp_path / "out", "-o", "endingOffsets=log-end")
    assert (status, "searched by offset" in err) == (0 if is_live else 1, True)
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(12))


@pytest.mark.parametrize(("number", "count"), [(errno.ENOENT, 5), (errno.EACCES, 1)])
def test_what_stays_away_is_an_error(
    ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, count: int
) -> None:
    tries = []

    def lists(_places: Places, paths: list[str], *_arguments: Any, **_more: Any) -> None:
        tries.append(paths)
        raise ReadError("no", errno=number, path=paths[0])

    monkeypatch.setattr(run_plan, "logs_asked_for", lists)
    assert (ingest(logs, tmp_path / "out")[0], len(tries)) == (2, count)
