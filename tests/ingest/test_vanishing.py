"""Segments that a broker deletes while a run plans: it lists again, and what is left is read."""

from __future__ import annotations

import errno
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.log.test_discovery import locked
from tests.made.directories import append, log_start, run_of, segment_path

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.errors import ReadError
from kafka_segments.ingest import run_plan


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
