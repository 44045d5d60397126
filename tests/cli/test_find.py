"""`find`: what it prints in each form, where it writes, and how each misuse is answered."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.folders import state_of
from tests.house.commands import blocks
from tests.made.build import batch, patched, record
from tests.made.samples import RECORDED

from kafka_segments import open_segment
from kafka_segments.cli.main import main
from kafka_segments.core.io import outputs

ROOT = Path(__file__).resolve().parents[2]
CLEAN = RECORDED / "kafka-4.3" / "clean"
FIRST = f"{0:020}.log"
JSON = b'{"id": 9007199254740993, "amount": 10.5}'


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Decoders are compiled once a machine, which standard error has a line about."""
    main(["find", "--text", "none", "--all-crc", str(CLEAN)])


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with two partitions; the first has two segments."""
    monkeypatch.chdir(tmp_path)
    headers = ((b"source", b"shop"),)
    parts = {
        f"orders-0/{FIRST}": [
            batch(0, [record(0, b"a", JSON, headers), record(1, b"b", b"two\nlines")]),
            batch(2, [record(0, b"a", b"third")], producer_id=7, base_timestamp=5, max_timestamp=5),
        ],
        f"orders-0/{3:020}.log": [batch(3, [record(0, b"c", b"fourth")])],
        f"orders-1/{FIRST}": [batch(0, [record(0, b"a", b"other")])],
    }
    for name, batches in parts.items():
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(batches))
    return tmp_path / "logs"


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["find", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def found(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[tuple[str, int]], dict[str, Any]]:
    """Path and offset of each record, and the summary."""
    status, out, err = answer(capsys, "--format", "jsonl", *words)
    assert (status, err) == (0, "")
    *records, summary = map(json.loads, out.splitlines())
    assert {one["type"] for one in records} <= {"record"}
    return [(one["path"], one["offset"]) for one in records], summary


ORDERS = f"logs/orders-0/{FIRST}"
CASES = [
    (("--key", "a"), [(ORDERS, 0), (ORDERS, 2), (f"logs/orders-1/{FIRST}", 0)]),
    (("--text", "two\nlines"), [(ORDERS, 1)]),
    (("--bytes", "74686972 64"), [(ORDERS, 2)]),
    (("--regex", "^fo[a-z]+h$"), [(f"logs/orders-0/{3:020}.log", 3)]),
    (("--regex", "^a$", "--in", "key", "--text", "ird", "--in", "any"), [(ORDERS, 2)]),
    (("--text", "source"), [(ORDERS, 0)]),
    (("--text", "source", "--in", "value"), []),
    (("--header", "source"), [(ORDERS, 0)]),
    (("--header", "source=shop"), [(ORDERS, 0)]),
    (("--header", "source=web"), []),
    (("--json", "$.id = 9007199254740993"), [(ORDERS, 0)]),
    (("--json", "$.id = 9007199254740992"), []),
    (("--json", "$.amount > 10", "--key", "a"), [(ORDERS, 0)]),
    (("--offsets", "1:4", "--key", "a"), [(ORDERS, 2)]),
    (("--until", "1970-01-02"), [(ORDERS, 2)]),
    (("--since", "6", "--until", "2024-01-01T00:00:00+01:00", "--offsets", "1:2"), [(ORDERS, 1)]),
    (("--producer-id", "7"), [(ORDERS, 2)]),
]


@pytest.mark.parametrize(("words", "places"), CASES, ids=lambda one: " ".join(map(str, one))[:40])
def test_records_that_fulfil_all_conditions(logs: Path, capsys, words, places) -> None:
    records, summary = found(capsys, *words, "logs")
    assert records == places
    assert summary["num_records"] == len(places)
    assert (summary["type"], summary["num_files"], summary["num_damages"]) == ("summary", 3, 0)


def test_an_empty_key_is_no_null_key(capsys: pytest.CaptureFixture[str]) -> None:
    records, _ = found(capsys, "--key", "", str(CLEAN / "shapes-0"))
    assert [offset for _, offset in records] == [2, 6]


def test_lines_are_those_of_dump(capsys: pytest.CaptureFixture[str]) -> None:
    for source in (CLEAN / "multi-0", CLEAN / "transactions-0", RECORDED / "kafka-0.9" / "clean"):
        assert main(["dump", "--format", "jsonl", str(source)]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if '"type":"record"' in line]
        data = [line for line in lines if line.endswith('"control":null}')]
        assert main(["find", "--offsets", "0:", "--format", "jsonl", str(source)]) == 0
        assert capsys.readouterr().out.splitlines()[:-1] == data
        assert data


def test_text_has_place_and_record(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = answer(capsys, "--text", "lines", "logs")
    place = f"{ORDERS}: batch at 0: 1 2023-11-14T22:13:20.000Z"
    assert (status, out, err) == (0, f'{place}  key="b"  value="two\\nlines"\n', "")


def test_nothing_found_is_clean(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "--key", "none", "logs") == (0, "", "")


def test_counts(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = answer(capsys, "--key", "a", "--count", "--all-crc", "logs")
    assert (status, err) == (0, "")
    assert out == "3 records in 3 files; checksums of 4 of 4 batches were verified\n"


def test_a_limit_ends_the_search(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for jobs in ("1", "2"):
        status, out, err = answer(capsys, "--key", "a", "--limit", "2", "--jobs", jobs, "logs")
        assert (status, len(out.splitlines())) == (0, 2)
        assert err == "kafka-segments: --limit 2 is reached; the rest was not searched\n"


def test_several_processes_print_what_one_prints(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--regex", "[0-9]", "--format", "jsonl", str(CLEAN))
    alone = answer(capsys, *words)
    assert answer(capsys, *words, "--jobs", "3") == alone
    assert alone[1].count("\n") > 200


def test_damage_is_printed_in_its_place_and_ends_with_1(logs: Path, capsys) -> None:
    path = logs / "orders-0" / FIRST
    data = path.read_bytes()
    path.write_bytes(patched(data, data.index(b"third"), b"thirX"))
    status, out, err = answer(capsys, "--text", "thi", "logs")
    damage, raw = out.splitlines()
    assert status == 1
    assert damage.startswith(f"{ORDERS}: DAMAGE at ") and "offsets lost: 2 and above" in damage
    at = data.index(b"third")
    assert raw == f"{ORDERS}: in damaged bytes at {at} to {at + 3}: bytes 'thi'"
    assert "the checksum of the batch is wrong" in err
    status, out, _err = answer(capsys, "--text", "thi", "--format", "jsonl", "logs")
    error, raw_line, summary = map(json.loads, out.splitlines())
    assert (status, error["type"]) == (1, "error") and error["position"] < at < error["end_position"]
    assert raw_line == {
        "type": "raw",
        "path": ORDERS,
        "position": at,
        "end_position": at + 3,
        "words": "bytes 'thi'",
    }
    assert (summary["num_raw_places"], summary["num_damages"]) == (1, 1)


def test_a_missing_segment_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    names = sorted(path.name for path in (tmp_path / "multi-0").glob("*.log"))
    (tmp_path / "multi-0" / names[1]).unlink()
    status, _out, err = answer(capsys, "--key", "none", str(tmp_path / "multi-0"))
    assert (status, err.count("\n")) == (1, 1)
    assert "offsets 125 to ? are missing: " in err
    status, _out, err = answer(capsys, "--key", "none", "--offsets", "0:1", str(tmp_path / "multi-0"))
    assert (status, err) == (0, "")


def test_standard_input_is_searched(logs: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(logs / "orders-0" / FIRST, "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        records, _summary = found(capsys, "--key", "a", "-")
    assert records == [("-", 0), ("-", 2)]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_records_as_a_table(logs: Path, capsysbinary: pytest.CaptureFixture[bytes], form: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    assert main(["find", "--key", "a", "--format", form, "logs"]) == 0
    data = arrow.BufferReader(capsysbinary.readouterr().out)
    if form == "arrow":
        table = arrow.ipc.open_stream(data).read_all()
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(data)
    assert table.column("path").to_pylist() == [ORDERS, ORDERS, f"logs/orders-1/{FIRST}"]
    assert table.column("offset").to_pylist() == [0, 2, 0]
    assert table.column("position").to_pylist()[0] == 0 < table.column("position").to_pylist()[1]
    assert table.column("value").to_pylist() == [JSON, b"third", b"other"]
    assert table.column("headers").to_pylist()[0] == [{"key": b"source", "value": b"shop"}]


def test_batches_as_segments(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("construct")
    before = state_of(logs)
    status, out, err = answer(capsys, "--text", "th", "--to-segment", "made", "logs")
    assert (status, err) == (0, "")
    made = {path.relative_to("made").as_posix() for path in Path("made").rglob("*")}
    name = f"orders-0/{2:020}"
    assert {f"{name}.log", f"{name}.index", f"{name}.timeindex"} <= made
    source = (logs / "orders-0" / FIRST).read_bytes()
    with open_segment(source) as segment:
        position = [entry.position for entry in segment.iter_entries()][1]  # type: ignore[union-attr]
    second = (logs / "orders-0" / f"{3:020}.log").read_bytes()
    partition = b"".join(path.read_bytes() for path in sorted(Path("made/orders-0").glob("*.log")))
    assert partition == source[position:] + second
    assert (Path("made") / "orders-1" / FIRST).read_bytes() == (logs / "orders-1" / FIRST).read_bytes()
    assert len(out.splitlines()) == 2 and "offsets 2 to 3" in out
    assert state_of(logs) == before


def test_a_full_disk_leaves_nothing(logs: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full at the second partition."""
    pytest.importorskip("construct")
    before, write, written = state_of(logs), os.write, list[str]()

    def full(descriptor: int, data: memoryview) -> int:
        written.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        if "orders-1" in written[-1]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    status, out, err = answer(capsys, "--text", "th", "--to-segment", "made", "logs")
    assert (status, out) == (3, "")
    assert "No space left on device" in err and "made/orders-1" in err and ".writing-" not in err
    assert len(written) > 1
    assert [path.name for path in Path().iterdir()] == ["logs"]
    assert state_of(logs) == before


def test_an_interrupt_leaves_nothing(logs: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("construct")

    def interrupted(*_words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs.OutputFile, "finish", interrupted)
    assert answer(capsys, "--text", "th", "--to-segment", "made", "logs")[0] == 130
    assert [path.name for path in Path().iterdir()] == ["logs"]


def test_a_block_that_cannot_be_read_is_damage(logs: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second batch of the first segment, whose bytes are not there."""
    position = (logs / "orders-0" / FIRST).read_bytes().index(b"third") - 20

    def failing(descriptor: int, buffers: list[memoryview], at: int, _flags: int = 0) -> int:
        return reading(descriptor, sum(map(len, buffers)), at) and -1

    def reading(descriptor: int, size: int, at: int) -> bytes:
        if FIRST in os.readlink(f"/proc/self/fd/{descriptor}") and at <= position < at + size:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return pread(descriptor, size, at)

    pread = os.pread
    monkeypatch.setattr(os, "pread", reading)
    monkeypatch.setattr(os, "preadv", failing)
    status, out, _err = answer(capsys, "--key", "c", "logs/orders-0")
    assert status == 1
    assert "the disk or store cannot read these bytes: [Errno 5] EIO" in out
    assert out.splitlines()[-1].endswith('key="c"  value="fourth"')


def test_copies_of_a_partition_do_not_become_one(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("construct")
    shutil.copytree(logs, "copy")
    status, _out, err = answer(capsys, "--key", "c", "--to-segment", "made", "logs", "copy")
    assert status == 2 and "both have batches of orders-0: give one of them" in err


@pytest.mark.parametrize("source", ["logs", "logs/orders-0", f"logs/orders-0/{FIRST}"])
@pytest.mark.parametrize("destination", ["logs", "logs/new", "logs/orders-0/new", "link/new"])
def test_a_destination_in_a_source_is_refused(logs: Path, capsys, source: str, destination: str) -> None:
    (logs / "meta.properties").write_text("version=1\n")
    before = state_of(logs)
    os.symlink("logs", "link")
    status, out, err = answer(capsys, "--key", "a", "--to-segment", destination, source)
    assert (status, out) == (2, "")
    assert err.endswith("; choose another\n") and ": it lies in the source " in err
    assert state_of(logs) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no condition is given"),
        (("--bytes", "xy"), "two hexadecimal digits"),
        (("--regex", "("), "is not a regular expression"),
        (("--json", "a.b"), "does not begin with $"),
        (("--since", "yesterday"), "--since 'yesterday': give ISO 8601"),
        (("--offsets", "3"), "is not A:B, A: or :B"),
        (("--key", "a", "--limit", "0"), "argument --limit: '0': give a number from 1 on"),
        (("--key", "a", "--jobs", "0"), "argument --jobs: '0': give a number from 1 on"),
        (("--key", "a", "--format", "arrow", "--count"), "without --count"),
        (("--key", "a", "--all-crc", "--no-crc"), "not allowed with"),
        (("--key", "a", "--jobs", "2", "-"), "standard input is read only once"),
        (("--key", "a", "-o", "x=1"), "NAME one of fs.*"),
    ],
)
def test_each_misuse_is_answered(logs: Path, capsys, words: tuple[str, ...], said: str) -> None:
    status, out, err = answer(capsys, *words, "logs")
    assert (status, out) == (2, "")
    assert said in err


def test_the_commands_of_the_page_run(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("construct")
    (text,) = [code for code in blocks(ROOT / "docs" / "find.md") if code.startswith("kafka-segments find")]
    lines = [line for line in text.splitlines() if line.startswith("kafka-segments ")]
    for line in lines:
        assert main(shlex.split(line, comments=True)[1:]) == 0, line
        assert capsys.readouterr().err == ""
    assert len(lines) >= 9
