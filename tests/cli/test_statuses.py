"""Exit statuses of the commands: 0 clean, 1 findings, 2 not opened, 3 not written, 130 interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import work
from tests.made.build import patched
from tests.python import environment

from kafka_segments.cli import console
from kafka_segments.cli.main import main

CLEAN = Path(__file__).parents[1] / "vectors/recorded/kafka-4.3/clean"
FIRST = f"{0:020}.log"
VERBS = ("dump", "aborted", "plan", "convert", "find", "cat")


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Decoders and encoders are compiled once a machine, which standard error has a line about."""
    for verb in VERBS:
        arguments = asked(verb, str(CLEAN / "multi-0"))
        if verb == "convert":
            arguments[-1] = str(tmp_path_factory.mktemp("compiled") / "made.log")
        assert main(arguments) == 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory `logs` with one sound partition."""
    shutil.copytree(CLEAN / "multi-0", tmp_path / "logs" / "multi-0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(verb: str, source: str = "logs/multi-0") -> list[str]:
    """What a verb is called with to read a partition, or (convert) its first segment."""
    if verb == "convert":
        source = f"{source}/{FIRST}" if os.path.isdir(source) else source
        return [verb, "--to-magic", "2", source, "made.log"]
    return [verb, "--offsets", "0:", source] if verb == "find" else [verb, source]


@pytest.mark.parametrize("verb", VERBS)
def test_clean(folder: Path, verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(asked(verb)) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("verb", ["dump", "aborted", "convert", "find", "cat"])
def test_damage(folder: Path, verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = folder / "logs" / "multi-0" / FIRST
    path.write_bytes(patched(path.read_bytes(), 70, b"\xff\xfe\xfd"))
    assert main(asked(verb)) == 1
    out, err = capfd.readouterr()
    assert "ChecksumMismatchError" in out or "the checksum of the batch is wrong" in out + err


@pytest.mark.parametrize("verb", VERBS)
def test_what_cannot_be_opened(folder: Path, verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(asked(verb, "none")) == 2
    out, err = capfd.readouterr()
    assert "none" in err
    assert out == ""
    assert not Path("made.log").exists()


def test_the_rest_is_done(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "none", "logs", "--format", "jsonl"]) == 2
    assert capfd.readouterr().out.count('"type":"record"') == 206


@contextlib.contextmanager
def started(*arguments: str, stdout: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "kafka_segments", *arguments]
    with subprocess.Popen(command, env=environment(), stdout=stdout, stderr=subprocess.PIPE) as process:
        yield process


@pytest.mark.parametrize("verb", VERBS)
def test_an_output_that_takes_nothing(folder: Path, verb: str) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with started(*asked(verb), stdout=full) as process:
        _out, err = process.communicate(timeout=work.HANGS)
    os.close(full)
    assert process.returncode == 3
    assert err == b"kafka-segments: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_pipe_ends_quietly(folder: Path, verb: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with started(*asked(verb), stdout=writing) as process:
        os.close(writing)
        _out, err = process.communicate(timeout=work.HANGS)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt(
    folder: Path, verb: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(console, "writing", interrupted)
    assert main(asked(verb)) == 130
    assert capfd.readouterr().err == "kafka-segments: interrupted\n"


def test_convert_counts_what_it_copies(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*asked("convert"), "--report", "jsonl"]) == 0
    assert Path("made.log").read_bytes() == Path("logs/multi-0", FIRST).read_bytes()
    report = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert (report["num_records"], report["num_records_copied"]) == (0, 125)
    Path("made.log").unlink()
    assert main(asked("convert")) == 0
    assert "records copied: 125, rewritten: 0; bytes written: " in capfd.readouterr().out


@pytest.mark.parametrize("name", [FIRST, "noise", f"{0:020}.index"])
def test_convert_of_what_is_no_log_writes_nothing(
    folder: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(random.Random(1).randbytes(100_000))
    before = sorted(os.listdir())
    assert main(asked("convert", name)) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert (name in err and "nothing was written" in err) or "an offset index" in err
    assert sorted(os.listdir()) == before


def test_convert_of_nothing_makes_an_empty_file(folder: Path) -> None:
    Path("empty.log").write_bytes(b"")
    assert main(asked("convert", "empty.log")) == 0
    assert Path("made.log").read_bytes() == b""
