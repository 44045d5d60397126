"""How a run of `ingest` ends before its time: full disks, signals, kills; and what the next run cleans up."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from tests.forms import pick
from tests.spark import kafka_rows
from tests.spark.ingested import without_spark
from tests.spark.test_reader import batches, segment

from kafka_segments.errors import OutputError
from kafka_segments.spark import ingest as job
from kafka_segments.spark import work as work_module
from kafka_segments.spark.parquet import ParquetFile
from kafka_segments.spark.work import WorkDirectory

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
DEAD = "0123456789abcdef" * 2


@contextmanager
def no_file_above(num_bytes: int) -> Iterator[None]:
    """Let the system refuse to write larger files, as a full disk does, down to what a buffer holds back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("num_bytes", [0, 1000, 100_000, 299_000])
def test_a_disk_that_is_full_is_told_with_the_file(tmp_path: Path, num_bytes: int) -> None:
    schema = pa.schema([("value", pa.binary())])
    path = tmp_path / "x.parquet"
    with (
        no_file_above(num_bytes),
        pytest.raises(OutputError, match=os.strerror(errno.EFBIG)) as caught,
        ParquetFile(str(path), schema) as file,
    ):
        file.write(pa.record_batch([pa.array([os.urandom(300_000)])], schema=schema))
    assert caught.value.path == str(path)


def test_a_failure_that_is_not_ours_names_its_cause() -> None:
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1, in write\nOSError: [Errno 28] No space left on device\n\n\tat org.apache.x\n'
    )
    assert "[Errno 28] No space left on device" in str(job._our_error(Exception(text)))
    text = "Job aborted.\n\tat a\n\tat b\nCaused by: java.io.IOException: No space left on device\n\tat c\n"
    assert "No space left on device" in str(job._our_error(Exception(text)))


def test_leftovers_of_killed_runs_are_swept(tmp_path: Path) -> None:
    dead, bare, alive = (tmp_path / f".{name}.ingest-{DEAD}" for name in ("dead", "bare", "alive"))
    for path in (dead, bare, alive):
        path.mkdir()
    (dead / "lock").touch()
    (dead / "data").mkdir()
    (dead / "data" / "part.parquet").touch()
    (tmp_path / f".link.ingest-{DEAD}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    others = {".out.ingest-notes", "elsewhere", f".link.ingest-{DEAD}", alive.name}
    (tmp_path / ".out.ingest-notes").mkdir()
    with (alive / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with WorkDirectory(str(tmp_path / "out")) as work:
            assert set(os.listdir(tmp_path)) == {*others, os.path.basename(work.path)}
            assert sorted(work.swept) == sorted([str(bare), str(dead)])
    assert set(os.listdir(tmp_path)) == others


def test_a_directory_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir, swept = os.mkdir, []

    def make(path: str, mode: int = 0o777) -> None:
        mkdir(path, mode)
        if not swept and ".ingest-" in os.path.basename(path):
            swept.extend(work_module._sweep(str(tmp_path)))

    monkeypatch.setattr(os, "mkdir", make)
    with WorkDirectory(str(tmp_path / "out")) as work:
        assert len(swept) == 1
        assert swept != [work.path]
        assert work_module._sweep(str(tmp_path)) == []
        assert sorted(os.listdir(work.path)) == ["data", "lock"]
    assert os.listdir(tmp_path) == []


def test_a_long_name_is_no_obstacle(tmp_path: Path) -> None:
    with WorkDirectory(str(tmp_path / ("\u00e4" * 127))) as work:
        assert os.path.isdir(work.path)
    assert os.listdir(tmp_path) == []


def test_what_was_swept_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    segment(tmp_path / "logs" / "t-0", 0, *batches(0))
    left = tmp_path / f".else.ingest-{DEAD}"
    left.mkdir()
    status, _, err = without_spark(monkeypatch, capsys)(tmp_path / "logs", tmp_path / "out")
    assert status == 0
    assert f"{left}: removed; an ingest that was killed left it" in err
    assert sorted(os.listdir(tmp_path)) == ["logs", "out"]


# What is run under nohup has its children ignore SIGHUP, too.
HEEDING = """
import signal, sys
from kafka_segments.cli.main import main
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.exit(main())
"""


def started(destination: Path) -> subprocess.Popen[str]:
    """The command in a process of its own, at its tasks."""
    command = [sys.executable, "-c", HEEDING, "ingest", str(CLEAN), str(destination)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=destination.parent)
    assert process.stderr is not None
    assert next(line for line in process.stderr if "tasks done" in line).startswith("kafka-segments: 0 of ")
    return process


@pytest.mark.spark
@pytest.mark.xdist_group("ingest")
@pytest.mark.long
@pytest.mark.parametrize("number", pick([signal.SIGTERM], [signal.SIGTERM, signal.SIGHUP]))
def test_a_signal_ends_it_as_an_interrupt_does(
    workers_path: None, tmp_path: Path, number: signal.Signals
) -> None:
    with started(tmp_path / "out") as process:
        assert process.stderr is not None
        process.send_signal(number)
        rest = process.stderr.read()
        status = process.wait(timeout=120)
    assert rest == "kafka-segments: terminated\n"
    assert status == 128 + number
    assert os.listdir(tmp_path) == []


@pytest.mark.spark
@pytest.mark.xdist_group("ingest")
@pytest.mark.long(short=False)  # in every run, the tests above sweep what such a run leaves
def test_what_a_kill_leaves_is_swept_by_the_next_run(
    workers_path: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with started(tmp_path / "out") as process:
        process.kill()
        process.wait(timeout=120)
        (left,) = os.listdir(tmp_path)
        assert left.startswith(".out.ingest-")
        status, _, err = without_spark(monkeypatch, capsys)(CLEAN / "multi-0", tmp_path / "other")
    assert status == 0
    assert left in err
    assert os.listdir(tmp_path) == ["other"]
