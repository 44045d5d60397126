"""Two runs at once, and the commit of each: one is committed, nothing comes twice, nothing goes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, parquet_rows, request_of
from tests.made.directories import append, run_of

from kafka_segments.cli.main import main
from kafka_segments.core.io import outputs
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import ConflictError, OutputError, UndecidedRunError
from kafka_segments.ingest.compact import compact
from kafka_segments.ingest.destination import check_destination
from kafka_segments.ingest.job import ingest
from kafka_segments.ingest.rewind import rewind
from kafka_segments.ingest.run_plan import IngestPlan, plan_ingest
from kafka_segments.ingest.runs import local_table_files
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles
from kafka_segments.ingest.tables import open_table
from kafka_segments.query.query import Query


def planned(logs: Path, out: Path) -> IngestPlan:
    return plan_ingest(request_of((str(logs),), str(out), Query(), tuple(SCHEMA.names)))


class Meanwhile:
    """An engine that lets something happen before or after its tasks."""

    start_seconds = 0.0

    def __init__(self, then: Callable[[], Any], *, is_before: bool = False) -> None:
        self._then, self._is_before = then, is_before

    def run(self, tasks: Sequence[Any], show: Any = None) -> list[Any]:
        if self._is_before:
            self._then()
        found = LocalEngine(1).run(tasks, show)
        if not self._is_before:
            self._then()
        return found


@pytest.mark.parametrize("is_before", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_the_second_of_two_runs_is_refused(
    audit: Run, logs: Path, tmp_path: Path, is_first: bool, is_before: bool
) -> None:
    out = tmp_path / "out"
    if not is_first:
        ingest(planned(logs, out), LocalEngine(1))
        append(logs / "t-0", *run_of(9, 12))
    slow = planned(logs, out)
    other = Meanwhile(lambda: ingest(planned(logs, out), LocalEngine(1)), is_before=is_before)
    with pytest.raises(ConflictError, match="another run was committed meanwhile"):
        ingest(slow, other)
    assert [row.offset for row in parquet_rows(out)] == list(range(9 if is_first else 12))
    status, _, err = audit(out, logs)
    assert status == 0, err
    assert os.listdir(out / "_kafka_segments") == ["runs"]


def test_a_run_whose_files_were_swept_says_why(logs: Path, tmp_path: Path) -> None:
    """The other run has removed what this one was writing, for it could not be committed any more."""
    out = tmp_path / "out"

    def other() -> None:
        ingest(planned(logs, out), LocalEngine(1))
        raise OutputError("a directory is gone")

    with pytest.raises(ConflictError, match="another run was committed"):
        ingest(planned(logs, out), Meanwhile(other))


def test_compact_and_a_run_at_once(audit: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for end in (9, 12, 15):
        ingest(planned(logs, out), LocalEngine(1))
        append(logs / "t-0", *run_of(end, end + 3))
    table = open_table("parquet", str(out))
    with pytest.raises(ConflictError):
        compact(table, Meanwhile(lambda: ingest(planned(logs, out), LocalEngine(1))), target_bytes=1 << 20)
    append(logs / "t-0", *run_of(18, 21))
    slow = planned(logs, out)
    with pytest.raises(ConflictError):
        ingest(slow, Meanwhile(lambda: compact(table, LocalEngine(1), target_bytes=1 << 20)))
    ingest(planned(logs, out), LocalEngine(1))
    assert [row.offset for row in parquet_rows(out)] == list(range(21))
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("verb", ["compact", "rewind"])
def test_files_that_another_run_removes_before_they_are_read(logs: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "out"
    for end in (9, 12):
        ingest(planned(logs, out), LocalEngine(1))
        append(logs / "t-0", *run_of(end, end + 3))
    table = open_table("parquet", str(out))
    other = Meanwhile(lambda: compact(table, LocalEngine(1), target_bytes=1 << 20), is_before=True)
    with pytest.raises(ConflictError, match="another run was committed meanwhile"):
        if verb == "compact":
            compact(table, other, target_bytes=1 << 20)
        else:
            rewind(table, other, [("t", 0)], 10)
    assert [row.offset for row in parquet_rows(out)] == list(range(12))


def test_a_first_run_beside_one_that_leaves_nothing(audit: Run, logs: Path, tmp_path: Path) -> None:
    """That one removes the directories that it finds empty."""
    out = tmp_path / "out"
    log = open_table("parquet", str(out)).log
    ingest(planned(logs, out), Meanwhile(lambda: log.discard(log.begin(0)), is_before=True))
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert audit(out, logs)[0] == 0


def test_a_file_that_another_process_publishes_and_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finishes the same run, and a later one merges the file, while this process is about to rename it."""
    root, out, real = tmp_path / "staging" / "run", tmp_path / "out", os.rename
    files = LocalTableFiles(str(tmp_path))

    def rename(source: str, target: str) -> None:
        real(source, target)
        os.unlink(target)
        if is_swept:
            root.rmdir()
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    for is_swept in (True, False):
        root.mkdir(parents=True)
        (root / "a").touch()
        if is_swept:
            files.publish(str(root), str(out), ["a"])
        else:
            with pytest.raises(OutputError, match="cannot be published"):
                files.publish(str(root), str(out), ["a"])


@pytest.mark.parametrize(("module", "name"), [(os.path, "isdir"), (os, "listdir")])
def test_a_destination_that_another_run_removes(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    """While it is looked at: a first run that leaves nothing removes the directory."""
    out, real = tmp_path / "out", getattr(module, name)
    out.mkdir()

    def look(path: str) -> Any:
        if path == str(out) and out.exists():
            out.rmdir()
        return real(path)

    monkeypatch.setattr(module, name, look)
    assert check_destination(str(out), [str(logs)], Places()) == str(out)


def test_the_command_says_it_with_the_status_of_output(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, real = tmp_path / "out", LocalEngine.run
    is_other = [True]

    def run(self: LocalEngine, tasks: Sequence[Any], show: Any = None) -> list[Any]:
        if is_other.pop() if is_other else False:
            ingest(planned(logs, out), LocalEngine(1))
        return real(self, tasks, show)

    monkeypatch.setattr(LocalEngine, "run", run)
    assert main(["ingest", "--engine", "local", str(logs), str(out)]) == 3
    assert "run it again to take what is new" in capsys.readouterr().err


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


def test_a_file_that_is_created_while_it_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the journal of a catalog that another process commits to."""
    path, real = tmp_path / "catalog.db-journal", os.stat

    def look(name: str, **options: Any) -> os.stat_result:
        try:
            return real(name, **options)
        finally:
            path.touch()

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", look)
        assert LocalTableFiles(str(tmp_path)).check(str(path)) == str(path)


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
