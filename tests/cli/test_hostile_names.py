"""Names and bytes that terminals obey: none reaches standard output (as text), standard error, or a log."""

from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.made.build import batch, control, patched, record

from kafka_segments import open_partition, open_segment
from kafka_segments.cli import console
from kafka_segments.cli.main import main
from kafka_segments.core.io import stores
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, ReadError
from kafka_segments.errors.escaping import escape, mask_secrets

CLEAN = Path(__file__).parents[1] / "vectors/recorded/kafka-4.3/clean"
NAME = f"{0:020}.log"
# Clears the screen, sets the title, forges a line; C1's CSI; turns writing round; ends a line in other ways;
# a byte that is no UTF-8.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\nforged: all is well\x9b31m\u202eelif\u2028\x85\x7f\udcff\u2066"
FORGED = "forged:"
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"


def check_shown(text: str) -> None:
    """Nothing that is obeyed, and no line that a name has begun."""
    assert [one for one in text if one != "\n" and not one.isprintable()] == []
    assert not any(line.startswith(FORGED) for line in text.splitlines())


class Run:
    """Runs the command in this process, and looks at everything that it says."""

    def __init__(self, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
        self._capfd, self._caplog = capfd, caplog

    def __call__(self, *arguments: str | Path) -> tuple[int, str]:
        status = main([os.fspath(one) for one in arguments])
        out, err = self._capfd.readouterr()
        logged = [record.getMessage() for record in self._caplog.records]
        for text in (out, err, *logged):
            check_shown(text)
            assert SECRET not in text
        if "jsonl" in arguments:
            for line in out.splitlines():
                json.loads(line)
        return status, "\n".join([out, err, *logged])


@pytest.fixture
def run(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Run:
    monkeypatch.setattr(console, "silence_stdout", lambda: None)  # standard output is pytest's too
    caplog.set_level(logging.INFO)
    return Run(capfd, caplog)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with a hostile name, and such names in it."""
    folder = tmp_path / HOSTILE
    partition = Path(shutil.copytree(CLEAN / "transactions-0", folder / "transactions-0"))
    for suffix in (".log", ".swap", ""):
        (partition / f"{HOSTILE}{suffix}").write_bytes(b"\x1b[2J")
    (partition / "partition.metadata").write_text(HOSTILE, encoding="utf-8", errors="surrogateescape")
    shutil.copytree(CLEAN / "multi-0", folder / f"{HOSTILE}-0")
    (folder / "broken-0").mkdir()
    (folder / "broken-0" / NAME).symlink_to(HOSTILE)
    for checkpoint in ("replication-offset-checkpoint", "log-start-offset-checkpoint", "meta.properties"):
        text = f"0\n1\n{HOSTILE} 0 {HOSTILE}\n"
        (folder / checkpoint).write_text(text, encoding="utf-8", errors="surrogateescape")
    return folder


@pytest.fixture
def damaged(logs: Path) -> Path:
    """The same, with damage in a segment and in an index."""
    segment = logs / "transactions-0" / NAME
    segment.write_bytes(patched(segment.read_bytes(), 70, b"\xff\xfe"))
    for index in (logs / "transactions-0").glob("*.*index"):
        index.write_bytes(b"\x1b" * 31)
    return logs


FORMATS = ("text", "jsonl")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("verb", ["aborted", "plan"])
def test_verbs_that_are_given_a_directory(damaged: Path, run: Run, verb: str, form: str) -> None:
    assert run(verb, "--format", form, damaged)[0] in (0, 1, 2)
    assert FORGED in run(verb, "--format", form, damaged / "transactions-0")[1]
    assert run(verb, "--format", form, damaged / f"{HOSTILE}-0")[0] == 2
    assert run(verb, "--format", form, damaged / HOSTILE)[0] == 2
    assert run(verb, "--format", form, damaged / "broken-0")[0] in (0, 2)


@pytest.mark.parametrize("form", [*FORMATS, "csv"])
@pytest.mark.parametrize("level", [[], ["-l"]])
def test_ls(damaged: Path, run: Run, level: list[str], form: str) -> None:
    status, said = run("ls", *level, "--format", form, damaged)
    assert status in (0, 1, 2)
    assert FORGED in said


def test_what_a_terminal_shows_meanwhile(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_SECONDS_BEFORE", 0.0)
    line = console._WaitingLine(f"reading {HOSTILE}")
    while not (text := capfd.readouterr().err):
        pass
    line.end()
    check_shown(text.removeprefix(console._CLEAR_LINE))
    assert FORGED in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", [[], ["--isolation", "read_committed"], ["--headers-only"]])
def test_dump(damaged: Path, run: Run, options: list[str], form: str) -> None:
    files = [damaged / "transactions-0" / name for name in (NAME, f"{HOSTILE}.log", HOSTILE, "none")]
    status, said = run("dump", "--format", form, *options, *files)
    assert status == 2
    assert FORGED in said


def test_convert(damaged: Path, tmp_path: Path, run: Run) -> None:
    source = damaged / "transactions-0" / NAME
    assert run("convert", "--to-magic", "1", source, tmp_path / f"{HOSTILE}-out")[0] == 1
    assert run("convert", "--to-magic", "1", source, tmp_path / f"{HOSTILE}-out")[0] in (2, 3)
    assert run("convert", "--to-magic", "1", source, damaged / HOSTILE / "below")[0] in (2, 3)
    assert run("convert", "--to-magic", "1", source, damaged / "x")[0] == 2
    assert run("convert", "--to-magic", "1", tmp_path / HOSTILE / HOSTILE, tmp_path / "y")[0] == 2


def test_ingest_refuses(damaged: Path, tmp_path: Path, run: Run) -> None:
    pytest.importorskip("pyspark")
    assert run("ingest", tmp_path / HOSTILE / HOSTILE, tmp_path / "to")[0] == 2
    assert run("ingest", damaged, damaged / HOSTILE)[0] in (2, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        ["dump", f"--{HOSTILE}"],
        ["dump", "x", "--offsets", HOSTILE],
        ["dump", "x", "--format", HOSTILE],
        ["dump", "x", "--isolation", HOSTILE],
        ["aborted", "--format", HOSTILE, "x"],
        ["convert", "--to-magic", HOSTILE, "a", "b"],
        ["convert", "--to-magic", "2", "a", "b", HOSTILE, f"s3a://KEY:{SECRET}@bucket/x"],
        ["ingest", "a", "b", f"--{HOSTILE}"],
        ["plan", "x", "-o", HOSTILE],
        ["plan", "x", "-o", f"{HOSTILE}=1"],
        ["plan", "x", "-o", f"fs.s3a.secret.key:{SECRET}"],
        ["plan", "x", "-o", f"startingOffsets={HOSTILE}"],
        ["plan", "x", "-w", HOSTILE],
        ["plan", "x", "-w", f"topic {HOSTILE} 1"],
        ["plan", "--snapshot", HOSTILE],
        ["plan", f"{HOSTILE}*"],
        ["plan", f"{HOSTILE}://bucket/x"],
    ],
)
def test_usage(arguments: list[str], run: Run) -> None:
    assert run(*arguments)[0] == 2


def test_what_is_in_records(tmp_path: Path, run: Run) -> None:
    data = HOSTILE.encode("utf-8", "surrogateescape")
    path = tmp_path / NAME
    records = [record(0, data, data, ((data, data),)), record(1, None, b"<&>")]
    version = b"\0\0\0\x01"  # a control record whose value is of no known version
    path.write_bytes(batch(0, records) + control(2, (version, data), (b"\0\0\0\x06", data), (data, data)))
    for form in FORMATS:
        assert run("dump", "--format", form, path)[0] == 0
    text = run("dump", path)[1]
    assert '"<&>"' in text
    assert escape(HOSTILE) in text


def test_errors_as_text(damaged: Path) -> None:
    with pytest.raises(KafkaFormatError) as raised:
        open_segment(damaged / HOSTILE)
    check_shown(str(raised.value))
    check_shown(str(pickle.loads(pickle.dumps(raised.value))))
    assert raised.value.path == str(damaged / HOSTILE)


def test_library_users_logs(damaged: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with open_partition(damaged / "transactions-0", outcomes_from="indexes") as partition:
        errors = partition.check_indexes()
    messages = [one.getMessage() for one in caplog.records] + [str(error) for error in errors]
    assert any(FORGED in message for message in messages)
    for message in messages:
        check_shown(message)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A store in memory, with hostile names of objects: without control characters, which it refuses."""
    obstore = pytest.importorskip("obstore")
    system = obstore.store.MemoryStore()
    hostile = "".join(one for one in HOSTILE if one >= " " and one not in "\x7f\udcff")
    assert not hostile.isascii()
    for name in (f"{hostile}-0/{NAME}", f"sound-0/{NAME}"):
        obstore.put(system, f"logs/{name}", (CLEAN / "multi-0" / NAME).read_bytes())
    monkeypatch.setattr(stores, "_opened", lambda _config, _for_reading: system)
    return system


@pytest.mark.parametrize("form", FORMATS)
def test_names_in_a_store(store: object, run: Run, form: str) -> None:
    status, said = run("plan", "--format", form, "s3a://bucket/logs")
    assert status in (0, 1)
    assert "sound" in said


@pytest.mark.parametrize("form", FORMATS)
def test_words_of_a_store(store: object, run: Run, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_asked: object, **_named: object) -> None:
        raise obstore.exceptions.GenericError(
            f"denied {HOSTILE} at https://u:{SECRET}@host/?X-Amz-Signature={SECRET}"
        )

    obstore = pytest.importorskip("obstore")
    for name in ("head_async", "list_with_delimiter_async"):
        monkeypatch.setattr(obstore, name, failing)
    status, said = run("plan", "--format", form, "s3a://bucket/logs")
    assert status == 2
    assert "denied" in said


@pytest.mark.parametrize(
    "address",
    [
        f"s3a://KEY:{SECRET}@bucket/logs",
        f"s3://KEY:{SECRET[:9]}/{SECRET}@bucket/logs",
        f"S3A://KEY:{SECRET}",
        f"s3a:/KEY:{SECRET}@bucket/logs",
        f"gs://{SECRET}@bucket/logs/*",
        f"abfss://container:{SECRET}@account.dfs.core.windows.net/logs",
        f"hdfs://user:{SECRET}@host:8020/logs",
        f"https://user:{SECRET}@host/logs",
        f"https://host/logs?sv=1&sig={SECRET}",
        f"file://user:{SECRET}@host/logs",
    ],
)
def test_keys_in_addresses(address: str, run: Run, tmp_path: Path) -> None:
    for arguments in (
        ["plan", address],
        ["plan", "--format", "jsonl", address],
        ["plan", "--snapshot", address],
        ["plan", CLEAN / "multi-0", "--take-snapshot", address],
        ["dump", address],
        ["dump", "--isolation", "read_committed", address],
        ["aborted", address],
        ["convert", "--to-magic", "2", address, tmp_path / "to"],
    ):
        assert run(*arguments)[0] in (2, 3), arguments
    with pytest.raises(KafkaFormatError) as raised:
        Places().entries(address)
    for error in (ReadError(f"cannot read {address}: gone", path=address), raised.value):
        assert SECRET not in f"{error} {error!r} {error.path} {vars(error)}"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("s3a://bucket/a@b:c/x", "s3a://bucket/a@b:c/x"),
        ("abfss://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("hdfs://host:8020/a@b", "hdfs://host:8020/a@b"),
        ("hdfs://host:8020: it failed", "hdfs://host:8020: it failed"),
        ("http://[::1]:9000/a", "http://[::1]:9000/a"),
        ("/home/a:b@c/x", "/home/a:b@c/x"),
        ("file:///a:b@c?x=y", "file:///a:b@c?x=y"),
        ("see s3://K:S@b/c, and s3a://K:S@b", "see s3://***@b/c, and s3a://***@b"),
        ("s3://b/part-?/x", "s3://b/part-?/x"),
    ],
)
def test_what_is_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


def test_loggers_escape_for_everybody() -> None:
    """Every module's logger comes from `kafka_segments.core.io.loggers`, which escapes."""
    runtime = Path(__file__).parents[2] / "runtime"
    users = {path.name for path in runtime.rglob("*.py") if "getLogger" in path.read_text(encoding="utf-8")}
    assert users == {"loggers.py"}
