"""`kafka-segments convert`: what it writes and prints, how it ends, and that nothing is left half done."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from pathlib import Path

import pytest
from tests.cli.test_dump import start
from tests.conversion.compare import stored
from tests.made.build import batch, message, patched, record

from kafka_segments.cli.main import main
from kafka_segments.write.convert import down_convert, up_convert

NEW = batch(0, [record(0, headers=((b"h", None),)), record(1)]) + batch(2)
OLD = message(0, magic=0) + message(1, magic=1) + message(2, magic=1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("new.log").write_bytes(NEW)
    Path("old.log").write_bytes(OLD)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def convert(*arguments: str) -> int:
    return main(["convert", *arguments])


def test_going_down_writes_what_the_function_makes(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    assert convert("--to-magic", "1", "new.log", "made.log", "--report", "jsonl") == 0
    conversion = down_convert(NEW, 1)
    assert Path("made.log").read_bytes() == conversion.to_bytes()
    out, err = capfd.readouterr()
    assert (out, err) == (conversion.report.to_jsonl(), "")
    assert json.loads(out.splitlines()[0])["what"] == "headers"
    assert files(folder) == {"new.log", "old.log", "made.log"}
    assert Path("new.log").read_bytes() == NEW


def test_going_up_has_its_options(capfd: pytest.CaptureFixture[str]) -> None:
    assert convert("--to-magic", "2", "old.log", "made.log", "--leader-epoch", "4", "--batch-size", "0") == 0
    made = Path("made.log").read_bytes()
    assert made == up_convert(OLD, batch_size=0, partition_leader_epoch=4).to_bytes()
    batches = [(entry.batch.magic, entry.batch.partition_leader_epoch) for entry in stored(made)]
    assert batches == [(2, 4), (2, 4), (2, 4)]
    assert capfd.readouterr().out.startswith("3 entries read: 0 copied as they were, 3 rewritten")


def test_records_below_an_offset_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    assert convert("--to-magic", "0", "--first-offset", "1", "new.log", "made.log") == 0
    assert [entry.batch.last_offset for entry in stored(Path("made.log").read_bytes())] == [1, 2]
    assert convert("--to-magic", "2", "--first-offset", "1", "old.log", "made-2.log") == 2
    assert "--first-offset is for conversions to magic 0 or 1" in capfd.readouterr().err


def test_options_for_the_other_direction_are_refused(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    for option, value in (("--batch-size", "5"), ("--leader-epoch", "4")):
        assert convert("--to-magic", "1", option, value, "new.log", "made.log") == 2
        assert f"{option} is for conversions to magic 2" in capfd.readouterr().err
    for option, name in (("--batch-size", "batch_size"), ("--leader-epoch", "partition_leader_epoch")):
        assert convert("--to-magic", "2", option, "-9", "old.log", "made.log") == 2
        assert f"{name} is -9" in capfd.readouterr().err
    assert files(folder) == {"new.log", "old.log"}


def test_damage_is_told_and_what_is_sound_is_converted(capfd: pytest.CaptureFixture[str]) -> None:
    size = len(batch(0))
    damaged = patched(batch(0) + batch(1) + batch(2), 2 * size - 1, b"\xff")
    Path("damaged.log").write_bytes(damaged)
    assert convert("--to-magic", "1", "damaged.log", "made.log", "--report", "jsonl") == 1
    out, err = capfd.readouterr()
    assert f"position {size} to {2 * size}: the checksum of the batch is wrong" in err
    assert "offsets lost: 1 to 1" in err
    assert json.loads(out.splitlines()[-1])["num_damaged"] == 1
    assert [entry.batch.last_offset for entry in stored(Path("made.log").read_bytes())] == [0, 2]


def test_what_the_format_cannot_hold_leaves_nothing(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    before = files(folder)
    Path("new.log").write_bytes(NEW + batch(3, attributes=4, payload=b""))
    assert convert("--to-magic", "1", "new.log", "made.log") == 2
    out, err = capfd.readouterr()
    assert (out, files(folder)) == ("", before)
    assert f"position {len(NEW)}" in err and "zstd" in err


@pytest.mark.parametrize("destination", ["old.log", "new.log", "link.log"])
def test_nothing_is_written_over(capfd: pytest.CaptureFixture[str], folder: Path, destination: str) -> None:
    Path("link.log").symlink_to("new.log")
    assert convert("--to-magic", "1", "new.log", destination) == 2
    assert (Path("old.log").read_bytes(), Path("new.log").read_bytes()) == (OLD, NEW)
    assert destination in capfd.readouterr().err


def test_nothing_is_written_below_a_brokers_log_directory(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    partition = folder / "logs" / "t-0"
    partition.mkdir(parents=True)
    (folder / "logs" / "meta.properties").touch()
    (partition / "00000000000000000000.log").write_bytes(NEW)
    (folder / "way-in").symlink_to(partition)
    before = files(folder)
    for destination in ("logs/made.log", "logs/t-0/made.log", "way-in/made.log"):
        assert convert("--to-magic", "1", "logs/t-0/00000000000000000000.log", destination) == 2
        assert "and nothing is written to sources" in capfd.readouterr().err
    assert files(folder) == before
    assert convert("--to-magic", "1", "logs/t-0/00000000000000000000.log", "made.log") == 0


def test_nothing_is_written_into_a_copied_partition(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    """A partition's directory without a broker's files above it: a new segment would be one of its log."""
    partition = folder / "t-0"
    partition.mkdir()
    source = "t-0/00000000000000000000.log"
    Path(source).write_bytes(OLD)
    Path("way-in").symlink_to(partition)
    Path("t-1").mkdir()
    Path("t-1/00000000000000000000.log").symlink_to(folder / "old.log")
    before = files(folder)
    for given, destination in (
        (source, "t-0/00000000000000000099.log"),
        (source, "way-in/made.log"),
        (source, "t-0/below/made.log"),
        ("way-in/00000000000000000000.log", "t-0/made.log"),
        ("t-1/00000000000000000000.log", "t-1/00000000000000000099.log"),
    ):
        assert convert("--to-magic", "2", given, destination) == 2
        assert "and nothing is written to sources" in capfd.readouterr().err
    assert files(folder) == before
    assert convert("--to-magic", "2", source, "made.log") == 0


def test_a_source_that_is_not_there(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    before = files(folder)
    for absent in ("absent.log", "absent/absent.log", "absent-0/absent.log"):
        assert convert("--to-magic", "1", absent, "made.log") == 2
        assert f"{absent}: cannot open" in capfd.readouterr().err
    assert files(folder) == before


def test_a_disk_that_takes_no_more_leaves_nothing(folder: Path) -> None:
    """A bound on the size of files stands for a full disk."""
    before = files(folder)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW) // 2, len(NEW) // 2))

    command = ["convert", "--to-magic", "1", "new.log", "made.log"]
    # Modules that Python compiles under the bound would be cut off, and kept for whoever imports them.
    environment = {"PYTHONDONTWRITEBYTECODE": "1"}
    with start(*command, preexec_fn=bound, stdout=subprocess.PIPE, environment=environment) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (3, b"")
    assert os.strerror(errno.EFBIG).encode() in err and b"made.log" in err
    assert files(folder) == before


def test_an_interrupt_leaves_nothing(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(folder)

    def fsync(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)
    assert convert("--to-magic", "1", "new.log", "made.log") == 130
    assert files(folder) == before
    assert capfd.readouterr().err == "kafka-segments: interrupted\n"


@pytest.mark.parametrize("arguments", [("new.log", "made.log"), ("--to-magic", "3", "new.log", "made.log")])
def test_wrong_usage(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert convert(*arguments) == 2
    assert "--to-magic" in capfd.readouterr().err
