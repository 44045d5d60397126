"""The commit of a run in a directory: one run gets each number, and what was committed is never removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.made.directories import append, run_of

from kafka_segments.core.io import outputs
from kafka_segments.errors import OutputError, UndecidedRunError
from kafka_segments.ingest.runs import local_table_files
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles


def failing(error: BaseException) -> Any:
    def fail(*_arguments: Any) -> None:
        raise error

    return fail


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", failing(OSError(errno.EPERM, os.strerror(errno.EPERM))))


def in_the_sync(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let an error come when the names of the runs' directory are to be made durable."""
    real = outputs.sync_directory

    def sync(path: str) -> None:
        if os.path.basename(path) == "runs":
            raise error
        real(path)

    for module in (outputs, local_table_files):
        monkeypatch.setattr(module, "sync_directory", sync)


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OSError(errno.EIO, "a bad disk"), 3, "unknown whether this run was committed"),
        (SystemExit(143), 143, "terminated"),
    ],
)
def test_what_was_committed_stays(
    ingest: Run,
    audit: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    words: str,
) -> None:
    logs, out = append(tmp_path / "logs" / "t-0", *run_of(0, 9)).parent, tmp_path / "out"
    with monkeypatch.context() as patched:
        in_the_sync(patched, error)
        found, _, err = ingest(logs, out)
    assert (found, words in err) == (status, True), err
    assert os.listdir(out / "_kafka_segments" / "runs") == [f"{1:020}.json"]
    assert ingest(logs, out)[0] == 0
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert audit(out, logs)[0] == 0


def test_two_runs_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalTableFiles(str(tmp_path))
    path, real = str(tmp_path / "1.json"), os.rename
    refused = []

    def rename(source: str, target: str) -> None:
        """The other run looks, and finds no file, just before this one gives it its name."""
        monkeypatch.setattr(os, "rename", real)
        with pytest.raises(OutputError, match="another run is being committed") as caught:
            files.create(path, b"other")
        refused.append(caught.value.path)
        real(source, target)

    without_links(monkeypatch)
    monkeypatch.setattr(os, "rename", rename)
    assert files.create(path, b"one")
    assert refused == [f"{path}.lock"]
    assert not files.create(path, b"third")
    assert os.listdir(tmp_path) == ["1.json"]
    assert files.read(path) == b"one"


def test_a_lock_that_a_kill_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalTableFiles(str(tmp_path))
    path = str(tmp_path / "1.json")
    lock = tmp_path / "1.json.lock"
    lock.touch()
    without_links(monkeypatch)
    with pytest.raises(OutputError, match="remove this file"):
        files.create(path, b"one")
    lock.unlink()
    assert files.create(path, b"one")
    lock.touch()
    assert not files.create(path, b"other")


def test_what_cannot_be_known_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalTableFiles(str(tmp_path))
    path = str(tmp_path / "1.json")
    monkeypatch.setattr(os, "link", failing(OSError(errno.EIO, "a bad disk")))
    with pytest.raises(UndecidedRunError, match="a bad disk"):
        files.create(path, b"one")
    monkeypatch.setattr(os, "link", failing(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OutputError, match="full") as caught:
        files.create(path, b"one")
    assert not isinstance(caught.value, UndecidedRunError)
    without_links(monkeypatch)
    monkeypatch.setattr(os, "open", failing(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OutputError, match="full"):
        local_table_files._rename_locked(path, path)
    assert os.listdir(tmp_path) == []
