"""Disks that fail, pipes that close, interrupts: nothing half-made is left, and no source is touched."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.folders import state_of
from tests.python import run_python
from tests.salvage.accounts import Account, check, salvaged
from tests.salvage.made import batches_of, copy_of, hurt, segment

from kafka_segments.cli import console
from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.salvage import partition_job, slicing
from kafka_segments.salvage.partition_plan import PartitionPlan, make_plan
from kafka_segments.salvage.salvaging import salvage

VERBS: dict[str, Sequence[str]] = {
    "salvage": ("salvage", "source", "made"),
    "slice": ("slice", "source/multi-0", "made", "--offsets", "3:150"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory `source` with one damaged partition, in the current directory."""
    hurt(copy_of("clean/multi-0", tmp_path / "source"), 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "silence_stdout", lambda: None)  # pytest reads what it captures
    return tmp_path


@pytest.fixture(params=VERBS)
def command(request: pytest.FixtureRequest) -> list[str]:
    """The arguments of each verb."""
    return list(VERBS[request.param])


def run(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a verb in a process of its own."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment}
    return subprocess.Popen([sys.executable, "-m", "kafka_segments", *command], **(pipes | options))


def test_sources_stay_as_they_are(folder: Path, command: list[str]) -> None:
    before = state_of(folder / "source")
    assert main(command) == 1
    assert state_of(folder / "source") == before


def test_no_write_below_a_source_is_tried(folder: Path, command: list[str]) -> None:
    code = (
        "import os, sys\n"
        "def hook(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[0], str) and '/source/' in arguments[0]:\n"
        "        assert arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) == 0, arguments\n"
        "    if event in ('os.rename', 'os.remove', 'os.mkdir', 'os.link', 'os.chmod', 'os.truncate'):\n"
        "        assert 'source/' not in str(arguments), (event, arguments)\n"
        "sys.addaudithook(hook)\n"
        "from kafka_segments.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    run_python("-c", code, *command, status=1)


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "mkdir"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_full_disk_leaves_nothing(
    folder: Path, command: list[str], call: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, true_call = 0, getattr(os, call)
    number = 1 if call in ("rename", "mkdir") else number

    def failing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return true_call(*arguments, **options)

    monkeypatch.setattr(os, call, failing)
    assert main(command) == 3
    assert sorted(path.name for path in folder.iterdir()) == ["source"]


def test_a_read_only_destination(folder: Path, command: list[str]) -> None:
    """A directory that the kernel refuses to write into, for any user."""
    command[2] = "/proc/made"
    assert main(command) == 3


@pytest.mark.parametrize("name", ["source/made", "source/multi-0/made", "link/made", "source"])
def test_a_destination_in_a_source_is_refused(folder: Path, command: list[str], name: str) -> None:
    (folder / "link").symlink_to("source")
    (folder / "source" / "meta.properties").write_text("")
    before = state_of(folder / "source")
    command[2] = name
    assert main(command) == 2
    assert state_of(folder / "source") == before


def failing(monkeypatch: pytest.MonkeyPatch, path: Path, is_bad: Callable[[int, int], bool]) -> None:
    """Make reads of a file fail for which a function of position and end says so."""
    inode = path.stat().st_ino

    def replaced(true_call: Callable[..., Any], size_of: Callable[[Any], int]) -> Callable[..., Any]:
        def call(descriptor: int, what: Any, position: int, *flags: int) -> Any:
            if os.fstat(descriptor).st_ino == inode and is_bad(position, position + size_of(what)):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return true_call(descriptor, what, position, *flags)

        return call

    monkeypatch.setattr(os, "pread", replaced(os.pread, int))
    monkeypatch.setattr(os, "preadv", replaced(os.preadv, lambda views: sum(map(len, views))))


def unreadable(monkeypatch: pytest.MonkeyPatch, path: Path, start: int, end: int) -> None:
    """Make each read of a file fail that touches some bytes, as those of a bad sector."""
    failing(monkeypatch, path, lambda begin, stop: begin < end and stop > start)


def failing_after_surveys(
    monkeypatch: pytest.MonkeyPatch, path: Path, place: int, *, is_read_again: bool
) -> None:
    """Make reads of a place fail once a file was surveyed; it may be readable in the next survey again."""
    is_failing, true_plan = False, make_plan

    def planned(*arguments: Any, **options: Any) -> PartitionPlan:
        nonlocal is_failing
        is_failing = is_failing and not is_read_again
        plan = true_plan(*arguments, **options)
        is_failing = True
        return plan

    failing(monkeypatch, path, lambda begin, stop: is_failing and begin <= place < stop)
    for module in (partition_job, slicing):
        monkeypatch.setattr(module, "make_plan", planned)


def test_an_unreadable_place_is_named_and_the_rest_is_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(folder / "source/multi-0")
    sound = batches_of(folder / "source/multi-0")
    with monkeypatch.context() as patch:
        unreadable(patch, path, 5000, 5001)
        salvage(["source"], "made", places=Places(keep_cache=True))
    account = Account(folder / "made", json.loads((folder / "made/manifest.json").read_text()))
    check(account)
    file = account.only()["files"][0]
    assert file["sha256"] is None
    bad = [one for one in file["ranges"] if one["status"] == "unreadable"]
    assert [(one["position"], one["end_position"]) for one in bad] == [(4096, 8192)]
    assert "EIO" in bad[0]["reason"]
    hurt_offsets = {one.base_offset for one in sound if one.position < 8192 and one.end > 4096}
    missing = {
        offset
        for one in account.only()["missing"]
        for offset in range(one["first_offset"], one["last_offset"])
    }
    assert hurt_offsets <= missing


def test_an_unreadable_place_is_taken_from_another_copy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of("clean/multi-0", folder / "replica")
    with monkeypatch.context() as patch:
        unreadable(patch, segment(folder / "source/multi-0"), 5000, 5001)
        account = salvaged([Path("source"), Path("replica")], folder / "made")
    assert account.only()["missing"] == []


def test_a_place_that_can_be_read_only_once_counts_as_unreadable(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(folder / "source/multi-0")
    with monkeypatch.context() as patch:
        failing_after_surveys(patch, path, 5000, is_read_again=False)
        assert main(command) == 1
    copied = b"".join(one.read_bytes() for one in (folder / "made").rglob(path.name))
    assert path.read_bytes()[2000:3800] in copied
    assert path.read_bytes()[4096:6000] not in copied
    if command[0] == "salvage":
        account = Account(folder / "made", json.loads((folder / "made/manifest.json").read_text()))
        check(account)
        (bad,) = [one for one in account.only()["files"][0]["ranges"] if one["status"] == "unreadable"]
        assert bad["position"] <= 5000 < bad["end_position"]


def test_a_batch_that_changes_after_its_survey_is_not_copied(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is damaged in the next survey."""
    source, changed, true_plan = folder / "source/multi-0", list[bytes](), make_plan

    def planned(*arguments: Any, **options: Any) -> PartitionPlan:
        plan = true_plan(*arguments, **options)
        if not changed:
            batch = hurt(source, 4)
            changed.append(segment(source).read_bytes()[batch.position : batch.end])
        return plan

    for module in (partition_job, slicing):
        monkeypatch.setattr(module, "make_plan", planned)
    assert main(command) == 1
    (log,) = (folder / "made").rglob(segment(source).name)
    assert changed[0] not in log.read_bytes()
    assert sum(one.end - one.position for one in batches_of(log.parent)) == log.stat().st_size
    if command[0] == "salvage":
        check(Account(folder / "made", json.loads((folder / "made/manifest.json").read_text())))


def test_a_source_that_fails_at_the_second_read_each_time_leaves_no_partition(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other partitions are salvaged all the same, and nothing of the failed one looks like a log."""
    copy_of("clean/idempotent-0", folder / "source")
    with monkeypatch.context() as patch:
        path = segment(folder / "source/multi-0")
        failing_after_surveys(patch, path, 5000, is_read_again=True)
        assert main(VERBS["salvage"]) == 2
    made = folder / "made"
    assert {path.name for path in made.iterdir()} == {"log", "manifest.json"}
    assert {path.name for path in (made / "log").glob("*-0")} == {"idempotent-0"}
    assert "multi" not in (made / "log/recovery-point-offset-checkpoint").read_text()
    failed, done = json.loads((made / "manifest.json").read_text())["partitions"][::-1]
    assert (failed["topic"], failed["files"]) == ("multi", []) and "EIO" in failed["error"]
    assert done["topic"] == "idempotent" and done["log_end_offset"] == 10


def test_a_closed_pipe_ends_quietly(folder: Path, command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with run(command, stdout=write, cwd=folder) as process:
        os.close(write)
        _out, err = process.communicate(timeout=100)
    assert process.returncode == 1
    assert b"Traceback" not in err and b"BrokenPipe" not in err
    assert (folder / "made").is_dir()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing(
    folder: Path, command: list[str], number: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes while the first file is being synced; a job in the background would ignore Ctrl-C."""
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def interrupted(_descriptor: int) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr(os, "fsync", interrupted)
    try:
        assert main(command) == status
    finally:
        signal.signal(number, before)
    assert sorted(path.name for path in folder.iterdir()) == ["source"]


def test_a_destination_that_is_not_empty(folder: Path) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "kept").touch()
    with pytest.raises(OptionError, match="files are never overwritten"):
        salvage(["source"], "made", places=Places())


def test_a_destination_in_no_directory_is_refused(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """None is made: it may be where a disk is not mounted."""
    command[2] = "none/made"
    assert main(command) == 3
    assert "none/made: the directory to write it into does not exist" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["source"]
