"""`cat`: what it prints of which records, so that any bytes survive; damage and misuse."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from tests.made.build import batch, patched, record
from tests.made.samples import RECORDED

from kafka_segments.cli.main import main

CLEAN = RECORDED / "kafka-4.3" / "clean"
FIRST = f"{0:020}.log"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A partition with values of every kind."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "orders-3" / FIRST
    path.parent.mkdir()
    values = [b"one", b"two\nlines", None, b"", b"\0\xff", b"null"]
    records = [record(at, b"k%d" % at, value, ((b"h", value),)) for at, value in enumerate(values)]
    old = batch(6, [record(0, None, b"old")], base_timestamp=5, max_timestamp=5)
    path.write_bytes(batch(0, records) + old)
    return path


def printed(capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> bytes:
    assert main(["cat", *words]) == 0
    said = capsysbinary.readouterr()
    assert said.err == b""
    return said.out


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ((), b"one\ntwo\nlines\nnull\n\n\0\xff\nnull\nold\n"),
        (("--print", "key"), b"k0\nk1\nk2\nk3\nk4\nk5\nnull\n"),
        (("--print", "headers", "--limit", "3"), b"h=one\nh=two\nlines\nh=null\n"),
        (("--delimiter", r"\0", "--null", "<>", "--limit", "4"), b"one\0two\nlines\0<>\0\0"),
        (("--base64",), b"b25l\ndHdvCmxpbmVz\n-\n\nAP8=\nbnVsbA==\nb2xk\n"),
        (("--template", "{topic}/{partition}/{offset}={value_size}", "--offsets", "2:5"),
         b"orders/3/2=-1\norders/3/3=0\norders/3/4=2\n"),
        (("--until", "1970-01-02"), b"old\n"),
        (("--since", "1970-01-02", "--offsets", "5:", "--delimiter="), b"null"),
        (("--offsets", "100:"), b""),
    ],
)  # fmt: skip
def test_what_is_printed(log: Path, capsysbinary, words: tuple[str, ...], out: bytes) -> None:
    assert printed(capsysbinary, *words, "orders-3") == out
    assert printed(capsysbinary, *words, f"orders-3/{FIRST}") == out


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_records_are_those_of_dump(capsysbinary: pytest.CaptureFixture[bytes], isolation: str) -> None:
    source = str(CLEAN / "transactions-0")
    assert main(["dump", "--format", "jsonl", "--isolation", isolation, source]) == 0
    records = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    data = [one for one in records if one["type"] == "record" and one["control"] is None]
    lines = printed(
        capsysbinary, "--base64", "--template", "{offset} {key} {value}", "--isolation", isolation, source
    )
    contents = [[one["key"], one["value"]] for one in data]
    fields = [["-" if field is None else field for field in one] for one in contents]
    expected = [[one["offset"], *pair] for one, pair in zip(data, fields, strict=True)]
    assert [line.split(" ") for line in lines.decode().splitlines()] == [[*map(str, one)] for one in expected]
    assert len(data) > 10


def test_aborted_records_are_left_out(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    source = str(CLEAN / "transactions-0")
    all_of_them = printed(capsysbinary, "--template", "{offset}", source)
    committed = printed(capsysbinary, "--template", "{offset}", "--isolation", "read_committed", source)
    assert set(committed.split()) < set(all_of_them.split())


def test_standard_input(log: Path, capsysbinary, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(log, "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        assert printed(capsysbinary, "--limit", "1", "-") == b"one\n"


def test_damage_is_said_and_the_rest_printed(log: Path, capsysbinary) -> None:
    data = log.read_bytes()
    log.write_bytes(patched(data, data.index(b"lines"), b"X") + batch(7, [record(0, b"k", b"after")]))
    assert main(["cat", "orders-3"]) == 1
    said = capsysbinary.readouterr()
    assert said.out == b"old\nafter\n"
    assert b"position 0 to " in said.err and b"the checksum of the batch is wrong" in said.err
    assert b"offsets lost: 0 to 5" in said.err
    assert main(["cat", "--offsets", "6:", "orders-3"]) == 0
    assert capsysbinary.readouterr() == (b"old\nafter\n", b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--template", "{x}"), b"no field 'x'; it has offset"),
        (("--delimiter", r"\q"), b"a backslash needs"),
        (("--limit", "0"), b"argument --limit: '0': give a number from 1 on"),
        (("--since", "now"), b"--since 'now': give ISO 8601"),
        (("--print", "key", "--template", "{key}"), b"not allowed with"),
        (("--print", "keys"), b"did you mean"),
    ],
)
def test_each_misuse_is_answered(log: Path, capsysbinary, words: tuple[str, ...], said: bytes) -> None:
    assert main(["cat", *words, "orders-3"]) == 2
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert said in err


def test_base64_gives_back_any_bytes(log: Path, capsysbinary) -> None:
    lines = printed(capsysbinary, "--base64", "orders-3").split(b"\n")[:-1]
    values = [None if line == b"-" else base64.b64decode(line) for line in lines]
    assert values == [b"one", b"two\nlines", None, b"", b"\0\xff", b"null", b"old"]


def test_what_is_skipped_is_named_once(log: Path, caplog: pytest.LogCaptureFixture) -> None:
    (log.parent / "123.log").write_bytes(b"")
    assert main(["cat", "orders-3"]) == 0
    assert [one.getMessage() for one in caplog.records] == [
        "kafka-segments: orders-3/123.log: not the name of a segment; left out"
    ]
