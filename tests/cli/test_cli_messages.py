"""What the command says: of files that are no logs, of several files, of wrong usage, for people's eyes."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.made.build import batch, control, patched, record
from tests.python import environment, run_python

from kafka_segments.cli.main import main

CLEAN = Path(__file__).parents[1] / "vectors/recorded/kafka-4.3/clean"
MULTI = CLEAN / "multi-0"
FIRST, SECOND = (f"{offset:020}.log" for offset in (0, 125))
DATA = batch(0, [record(0), record(1)]) + batch(2, [record(0), record(1)])


class Run:
    """Runs the command in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.out = self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        status = main([os.fspath(one) for one in arguments])
        self.out, self.err = self._capfd.readouterr()
        return status


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return Run(capfd)


def test_headers_only_says_once_that_checksums_are_not_verified(run: Run, tmp_path: Path) -> None:
    path = tmp_path / FIRST
    path.write_bytes(patched(DATA, 70, b"\xff"))
    assert run("dump", "--headers-only", "--format", "jsonl", path, path) == 0
    assert run.err.count("does not verify checksums") == 1
    assert {json.loads(line)["crc_valid"] for line in run.out.splitlines()} == {None}
    assert run("dump", "--headers-only", "--no-crc", path) == 0
    assert run.err == ""


def test_record_lines_have_the_path_behind_the_type(run: Run) -> None:
    assert run("dump", "--format", "jsonl", MULTI / FIRST, MULTI / SECOND) == 0
    lines = [json.loads(line) for line in run.out.splitlines()]
    records = [line for line in lines if line["type"] == "record"]
    assert {tuple(line)[:3] for line in records} == {("type", "path", "position")}
    assert [line["path"] for line in records] == [str(MULTI / FIRST)] * 125 + [str(MULTI / SECOND)] * 81


def test_text_names_the_file_where_there_are_several(run: Run) -> None:
    assert run("dump", MULTI / FIRST) == 0
    assert FIRST not in run.out
    assert run("dump", MULTI / SECOND, MULTI / FIRST) == 0
    named = [line for line in run.out.splitlines() if line.startswith("file ")]
    assert named == [f"file {MULTI / SECOND}", f"file {MULTI / FIRST}"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"{0:020}.index", "an offset index"),
        (f"{0:020}.timeindex", "a time index"),
        (f"{0:020}.txnindex", "a transaction index"),
        (f"{125:020}.snapshot", "a snapshot of producers"),
        ("partition.metadata", "the topic's id"),
        ("leader-epoch-checkpoint", "a checkpoint of leader epochs"),
        ("replication-offset-checkpoint", "a checkpoint of offsets"),
        ("meta.properties", "properties"),
        (f"{0:020}.log.gz", "compressed by gzip"),
        ("notes.txt", "not a log of Kafka"),
        ("noise", "not a log of Kafka"),
    ],
)
@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_a_file_that_is_no_log(run: Run, tmp_path: Path, name: str, said: str, form: str) -> None:
    path = tmp_path / name
    content = {
        "gz": gzip.compress(DATA),
        "txt": b"What is written here is a text, and no log.\n" * 9,
        "noise": bytes(range(7, 250)) * 9,
    }
    path.write_bytes(content.get(name.rpartition(".")[2], (MULTI / f"{0:020}.index").read_bytes()))
    assert run("dump", "--format", form, path) == 2
    assert said in run.err
    assert str(path) in run.err
    assert run.out == ""


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (DATA, ["batch", "record", "record", "batch", "record", "record"]),
        (patched(DATA, 70, b"\xff"), ["batch", "error", "batch", "record", "record"]),
        (DATA[: len(DATA) // 2 - 3], ["error"]),
        (b"\xff" * 30 + DATA, ["error", "batch", "record", "record", "batch", "record", "record"]),
        (bytes(5000), ["padding"]),
        (b"", []),
    ],
)
def test_damaged_logs_are_read_by_any_name(run: Run, tmp_path: Path, data: bytes, events: list[str]) -> None:
    for name in (FIRST, "copy", f"{FIRST}.deleted", "copy.log"):
        (tmp_path / name).write_bytes(data)
        status = run("dump", "--format", "jsonl", tmp_path / name)
        assert [json.loads(line)["type"] for line in run.out.splitlines()] == events, name
        assert status == (1 if "error" in events else 0)


def test_a_segments_name_is_always_read_as_a_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / FIRST).write_bytes(gzip.compress(DATA))
    assert run("dump", tmp_path / FIRST) == 1
    assert "does not look like a Kafka segment" in run.err


def test_addresses(run: Run) -> None:
    for verb in ("dump", "aborted"):
        assert run(verb, "gopher://host/t-0/00000000000000000000.log") == 2
        assert "no file system is known for gopher" in run.err


def test_directories_and_patterns(run: Run, tmp_path: Path) -> None:
    for name in ("multi-0", "transactions-0", "codec-none-0"):
        shutil.copytree(CLEAN / name, tmp_path / name)
    logs = [
        path for name in ("codec-none-0", "multi-0", "transactions-0") for path in log_files(tmp_path / name)
    ]
    for given in ([tmp_path], [tmp_path / "*-0"]):
        assert run("dump", *given) == 0
        assert [line[5:] for line in run.out.splitlines() if line.startswith("file ")] == logs
    assert run("dump", tmp_path / "multi-0" / "*.log") == 0
    assert run.out.count("file ") == 2
    assert run("dump", tmp_path / "none*") == 2
    assert "no file matches" in run.err
    assert run("aborted", tmp_path / "*-0") == 0
    assert run.out.count("last stable offset") == 3
    (tmp_path / "empty").mkdir()
    assert run("dump", tmp_path / "empty", tmp_path / "multi-0") == 2
    assert "no segments here" in run.err
    assert run.out.count("batch at") > 9


def log_files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("*.log"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dump", "--files", "a.log", "--print-data-log"], "give the files as arguments"),
        (["--files", "a.log"], "kafka-segments dump FILE"),
        (["dump", "--deep-iteration", "a.log"], "compressed batches are always decompressed"),
        (["dump", "--print-data-log", "a.log"], "records are always printed"),
        (["dump", "--value-decoder-class=x", "a.log"], "base64"),
        (["dump", "--head", "a.log"], "unrecognized arguments: --head"),
        (["dump", "--header-only", "a.log"], "did you mean --headers-only?"),
        (["dmup", "a.log"], "did you mean dump?"),
        (["dump", "--format", "json", "a.log"], "did you mean jsonl?"),
        (["dump", ""], "an argument is empty"),
        (["aborted", ""], "an argument is empty"),
        (["plan", ""], "an argument is empty"),
        (["convert", "--to-magic", "2", "", "x"], "an argument is empty"),
        (["plan", "x", "-w", "timestamp >= soon"], "2026-01-31T12:00:00Z"),
        (["plan", "x", "-w", "offset >= 2026-01-31"], "offset takes a number"),
        ([str(MULTI / FIRST)], "write a command before it"),
    ],
)
def test_wrong_usage_is_told_what_to_write(run: Run, arguments: list[str], said: str) -> None:
    assert run(*arguments) == 2
    assert said in run.err
    assert run.out == ""


@pytest.mark.parametrize(
    ("when", "first"),
    [
        ("2023-11-14T22:13:25Z", 1700000005000),
        ("2023-11-14 23:13:25+01:00", 1700000005000),
        ("1700000005000", 1700000005000),
    ],
)
def test_a_time_as_condition(run: Run, when: str, first: int) -> None:
    # What a first plan reads is kept in this process, and a remark names the source of what it says.
    assert run("plan", MULTI, "-w", f"timestamp >= {first}") == 0
    assert run("plan", MULTI, "-w", f"timestamp >= {first}") == 0
    wanted = run.out
    assert run("plan", MULTI, "-w", f"timestamp >= {when}") == 0
    assert run.out == wanted


def test_one_is_singular(run: Run) -> None:
    assert run("plan", CLEAN / "codec-none-0") == 0
    assert "1 split in 1 task," in run.out
    assert "1 task, 1 split, " in run.out
    assert run("dump", CLEAN / "compact-horizon-0" / FIRST) == 0
    assert "1 records" not in run.out


def test_offsets_beyond_the_end_are_told(run: Run) -> None:
    assert run("dump", "--offsets", "1000:", MULTI / FIRST, MULTI / SECOND) == 0
    assert "--offsets 1000: selects none of the files' offsets 0 to 205" in run.err
    assert run("dump", "--offsets", "200:", MULTI / FIRST, MULTI / SECOND) == 0
    assert run.err == ""


def test_a_long_value_is_shortened_in_text_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / FIRST).write_bytes(batch(0, [record(0, b"k" * 5000, b"\xc3\xbc" * (1 << 19))]))
    assert run("dump", tmp_path / FIRST) == 0
    assert len(run.out) < 3000
    assert "(1,048,576 bytes; --format jsonl has all)" in run.out
    assert run("dump", "--format", "jsonl", tmp_path / FIRST) == 0
    assert len(run.out) > 1 << 20


def test_control_records_are_json_in_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / FIRST).write_bytes(control(0, (b"\0\0\0\1", b"\0\0\0\0\0\7"), (b"\0\0\0\6", None)))
    assert run("dump", tmp_path / FIRST) == 0
    assert 'COMMIT {"coordinator_epoch": 7}' in run.out
    assert "'" not in run.out


def on_terminal(*arguments: str, **variables: str) -> str:
    """What a terminal shows of the command."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "kafka_segments", *arguments]
    settings = environment()
    settings.pop("NO_COLOR", None)
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=settings | variables
    ):
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            shown += part
    os.close(leader)
    return shown.decode()


def test_damage_is_told_once_on_a_terminal_and_in_colour(tmp_path: Path) -> None:
    path = tmp_path / FIRST
    path.write_bytes(patched(DATA, 70, b"\xff"))
    shown = on_terminal("dump", str(path), TERM="xterm")
    assert shown.count("the checksum of the batch is wrong") == 1
    assert "take these offsets from a replica" in shown
    assert shown.count("\x1b[31m") == shown.count("\x1b[0m") == 1
    for plain in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_terminal("dump", str(path), **plain)


def test_damage_is_told_twice_where_output_is_not_seen(run: Run, tmp_path: Path) -> None:
    (tmp_path / FIRST).write_bytes(patched(DATA, 70, b"\xff"))
    assert run("dump", tmp_path / FIRST) == 1
    assert "the checksum of the batch is wrong" in run.out
    assert "the checksum of the batch is wrong" in run.err
    assert "\x1b" not in run.out


def test_the_package_is_a_command() -> None:
    assert run_python("-m", "kafka_segments", "--version").stdout.startswith("kafka-segments ")


def test_swapped_segments_are_compared_not_taken_from_a_replica(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "multi-0"
    folder.mkdir()
    shutil.copy(MULTI / FIRST, folder / SECOND)
    shutil.copy(MULTI / SECOND, folder / FIRST)
    assert run("aborted", folder) == 1
    told = [line for line in run.out.splitlines() if "files were swapped or renamed" in line]
    assert len(told) == 2
    for line in told:
        assert "compare the names and first offsets of the files with those of a replica" in line
        assert "take these offsets" not in line
