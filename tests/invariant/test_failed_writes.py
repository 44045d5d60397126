"""Writes that fail or are interrupted leave nothing that looks complete, and the command says why."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.folders import files_in
from tests.forms import pick
from tests.in_process import run_main
from tests.invariant.calls import CALLS, WRITERS, Call, Places, in_short, make_places, make_table
from tests.invariant.watch import watching

from kafka_segments.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = ("unshare", "--mount", "--map-root-user")
FAILURES: dict[str, Callable[[], BaseException]] = {
    "EIO": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "ENOSPC": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "Ctrl-C": KeyboardInterrupt,
}
NEW = [call for call in WRITERS if call.writes != "in place"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_table(tmp_path_factory.mktemp("table"))


def contents(path: Path) -> dict[str, bytes]:
    """The files at a path, by name."""
    return {"": path.read_bytes()} if path.is_file() else files_in(path)


def run_failing(
    places: Places, call: Call, at: int, make: Callable[[], BaseException]
) -> tuple[int, str, int]:
    """Run a call of which one change of a file fails; its status, what it said, the number of changes."""
    num = 0

    def fail(event: str, path: str) -> None:
        nonlocal num
        num += 1
        if num == at:
            raise make()

    with watching(places.out.parent, fail):
        status, _, error = run_main(places.words(call))
    return status, error, num


@pytest.mark.long
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("call", in_short(NEW, slow=False))
def test_a_failure_at_any_change(call: Call, kind: str, tmp_path: Path, table: Path) -> None:
    """Each time Python makes, opens for writing or renames something at the destination, that fails once."""
    places = make_places(tmp_path, table if "TABLE" in call.words else None)
    _, error, num = run_failing(places, call, 0, FAILURES[kind])
    whole = contents(places.out)
    assert whole, error
    for at in pick(sorted({1, (num + 1) // 2, num}), range(1, num + 1)):
        shutil.rmtree(places.out.parent)
        places.out.parent.mkdir()
        status, error, _ = run_failing(places, call, at, FAILURES[kind])
        left = contents(places.out) if places.out.exists() else {}
        if status in (0, 1):  # it was a courtesy, as the removal of what is not needed any more
            assert set(left) == set(whole) or call.writes == "table", error
            continue
        assert status == (130 if kind == "Ctrl-C" else 3), (at, error)
        assert error, at
        assert not left or set(left) == set(whole) or call.writes == "table", (at, sorted(left))
        if call.writes == "table":
            status, _, error = run_main(places.words(call))
            assert status == 0, error
            assert run_main(["audit", str(places.out), str(places.source)])[0] == 0


@pytest.fixture(scope="module")
def on_disks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """A function that calls all writers on such a disk, once."""
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace can be made here")
    known: dict[str, dict[str, Any]] = {}

    def run(kind: str) -> dict[str, Any]:
        if kind not in known:
            command = [*NAMESPACE, sys.executable, "-m", "tests.invariant.full_disk", kind]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            known[kind] = json.loads(done.stdout.splitlines()[-1])
        return known[kind]

    return run


@pytest.mark.parametrize("kind", ["full", pytest.param("read-only", marks=pytest.mark.long(short=False))])
def test_a_disk_that_takes_nothing(kind: str, on_disks: Callable[[str], dict[str, Any]]) -> None:
    found = on_disks(kind)
    assert found.keys() == {call.name for call in NEW}
    writes = {call.name: call.writes for call in NEW}
    for name, said in found.items():
        if kind == "full" and said["status"] == 0:  # it is short enough
            assert said["left"] != [], name
            continue
        assert said["status"] == 3, (name, said)
        reason = os.strerror(errno.ENOSPC if kind == "full" else errno.EROFS)
        assert reason in said["error"], (name, said)
        if writes[name] != "table":
            assert said["left"] == [], (name, said)
        else:  # a run that nothing was committed of
            assert not any(path.endswith(".parquet") and "/." not in path for path in said["left"]), said


@pytest.mark.parametrize("call", in_short(CALLS, slow=False))
def test_a_closed_pipe_ends_quietly(call: Call, tmp_path: Path, table: Path) -> None:
    """Its reader is gone before the first line, as with `| true`."""
    places = make_places(tmp_path, table if "TABLE" in call.words else None)
    reader, writer = os.pipe()
    os.close(reader)
    error = io.StringIO()
    with (
        open(writer, "w", encoding="utf-8") as out,
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", error),
    ):
        status = main(places.words(call))
    assert status in (0, 1), error.getvalue()
    assert "Traceback" not in error.getvalue() and "Broken pipe" not in error.getvalue()
    if call.writes and call.writes != "in place":
        assert contents(places.out)
