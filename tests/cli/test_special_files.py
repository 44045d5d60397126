"""Pipes, sockets and devices where files should be: an error at once, no waiting, no copies without end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import work
from tests.python import run_python

from kafka_segments import open_partition, open_segment
from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.local_files import is_locked
from kafka_segments.core.segment.beside.index_files import read_offset_index
from kafka_segments.errors import ReadError

CLEAN = Path(__file__).parents[1] / "vectors/recorded/kafka-4.3/clean"
FIRST, SECOND = (f"{offset:020}.log" for offset in (0, 125))


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End a test that waits, and one that begins to copy what may have no end."""

    def late(*_arguments: object) -> None:
        pytest.fail("this test waits for something that does not come")

    def copied(*_arguments: object, **_options: object) -> None:
        pytest.fail("a copy in the temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", copied)
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, work.HANGS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listening(path: Path) -> None:
    at, folder = os.getcwd(), path.parent
    os.chdir(folder)  # a socket's path is short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(at)


Maker = Callable[[Path], None]


@pytest.fixture(params=[pipe, zeros, listening], ids=lambda maker: maker.__name__)
def special(request: pytest.FixtureRequest) -> Maker:
    maker: Maker = request.param
    return maker


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition of two segments, in a log directory."""
    return Path(shutil.copytree(CLEAN / "multi-0", tmp_path / "logs" / "multi-0"))


def replaced(path: Path, special: Maker) -> Path:
    path.unlink(missing_ok=True)
    special(path)
    return path


def run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    status = main([str(one) for one in arguments])
    return status, "".join(capfd.readouterr())


@pytest.mark.parametrize("name", [FIRST, SECOND])
@pytest.mark.parametrize(
    "command",
    [
        ("aborted",),
        ("dump", "--isolation", "read_committed"),
        ("plan", "-o", "kafka.isolation.level=read_committed"),
    ],
)
def test_a_segment(
    partition: Path, special: Maker, name: str, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    replaced(partition / name, special)
    asked = partition / FIRST if command[0] == "dump" else partition
    status, err = run(capfd, *command, asked)
    is_asked = command[0] == "aborted" or (command[0] == "dump" and name == FIRST)
    if (
        is_asked or status
    ):  # planning need not open it, nor do the first segment's records depend on the second
        assert status in (1, 2)
        assert name in err


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_segment_of_a_directory_that_is_dumped(
    partition: Path, special: Maker, name: str, is_alone: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    if is_alone:
        (partition / (SECOND if name == FIRST else FIRST)).unlink()
    status, err = run(capfd, "dump", replaced(partition / name, special).parent)
    assert status == 2
    assert f"{name}: this is " in err


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_segment_of_an_opened_partition(partition: Path, special: Maker, name: str) -> None:
    replaced(partition / name, special)
    with open_partition(partition) as opened:
        with pytest.raises(ReadError, match=r"instead of a file"):
            list(opened.iter_events(isolation="read_committed"))
        with pytest.raises(ReadError, match=r"instead of a file"):
            list(opened.iter_events())


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex", "snapshot"])
@pytest.mark.parametrize("command", ["aborted", "plan"])
def test_a_file_beside_a_segment(
    partition: Path, special: Maker, suffix: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    replaced(partition / f"{125:020}.{suffix}", special)
    status, _err = run(capfd, command, partition)
    assert status in (0, 1, 2)


def test_an_index_by_its_path(tmp_path: Path, special: Maker) -> None:
    path = replaced(tmp_path / f"{0:020}.index", special)
    with pytest.raises(ReadError):
        read_offset_index(path)


@pytest.mark.parametrize(
    "name",
    [
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "meta.properties",
        ".lock",
        "multi-0/leader-epoch-checkpoint",
        "multi-0/partition.metadata",
    ],
)
@pytest.mark.parametrize("command", ["aborted", "plan"])
def test_what_a_broker_notes(
    partition: Path, special: Maker, name: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    replaced(partition.parent / name, special)
    status, _err = run(capfd, command, partition.parent)
    assert status in (0, 1, 2)


def test_a_lock_that_is_no_file_counts_as_held(tmp_path: Path, special: Maker) -> None:
    assert is_locked(str(replaced(tmp_path / ".lock", special)))


def test_a_place_that_is_opened(tmp_path: Path, special: Maker) -> None:
    path = replaced(tmp_path / "any", special)
    with pytest.raises(ReadError):
        Places().open(str(path))


def test_a_manifest_of_a_tier(tmp_path: Path, special: Maker, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "topic-AAAAAAAAAAAAAAAAAAAAAQ" / "0"
    folder.mkdir(parents=True)
    replaced(folder / f"{0:020}-AAAAAAAAAAAAAAAAAAAAAg.rsm-manifest", special)
    for suffix in ("log", "indexes"):
        (folder / f"{0:020}-AAAAAAAAAAAAAAAAAAAAAg.{suffix}").write_bytes(b"")
    status, err = run(capfd, "plan", tmp_path)
    assert status == 2
    assert "rsm-manifest" in err


def test_a_snapshot_of_plans(tmp_path: Path, special: Maker, capfd: pytest.CaptureFixture[str]) -> None:
    status, err = run(capfd, "plan", "--snapshot", replaced(tmp_path / "snapshot", special))
    assert status == 2
    assert "snapshot" in err


@pytest.mark.parametrize("command", [("dump",), ("dump", "--isolation", "read_committed")])
def test_a_device_by_its_path(
    tmp_path: Path, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    status, err = run(capfd, *command, replaced(tmp_path / FIRST, zeros))
    assert status == 2
    assert "device" in err


def test_the_null_device_is_empty(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert run(capfd, "dump", "/dev/null")[0] == 0


@pytest.mark.parametrize("options", [[], ["--isolation", "read_committed"]])
def test_a_pipe_by_its_path_is_read(options: list[str]) -> None:
    """As `dump <(cat FILE)` gives it."""
    source = CLEAN / "multi-0" / FIRST
    reading, writing = os.pipe()
    with subprocess.Popen(["cat", source], stdout=writing):
        os.close(writing)
        done = _command("dump", *options, f"/dev/fd/{reading}", pass_fds=[reading])
        os.close(reading)
    assert done.returncode == 0
    assert done.stdout.count(b"batch at") > 3


@pytest.mark.parametrize("options", [[], ["--isolation", "read_committed"]])
def test_standard_input_is_read(options: list[str]) -> None:
    done = _command("dump", *options, "-", input=(CLEAN / "multi-0" / FIRST).read_bytes())
    assert done.returncode == 0
    assert done.stdout.count(b"batch at") > 3


def test_a_named_pipe_is_read_by_whoever_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    path = tmp_path / "pipe"
    os.mkfifo(path)
    source = CLEAN / "multi-0" / FIRST
    with subprocess.Popen(["cp", source, path]), open_segment(path) as segment:
        assert segment.size == source.stat().st_size


def _command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    words = "-m", "kafka_segments.cli.main", *arguments
    return run_python(*words, status=None, timeout=work.HANGS, text=False, **options)
