"""Damaged copies of recorded segments: error and padding lines as `cases.toml` has them, written by hand.

Three judgements a case: the error and padding lines, word for word; the exit status; and every line of a
batch that the damage does not touch, as Kafka printed it for the undamaged file. Batches that it does touch
are listed by position with what may be left of them (`contract: batch line, records`).
"""

from __future__ import annotations

import errno
import io
import json
import os
import tomllib
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from edits import apply

from kafka_segments.cli import main as cli

VECTORS = Path(__file__).parents[1] / "vectors"
CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_damaged_copy(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    source = case["source"]
    data = apply((VECTORS / "recorded" / source).read_bytes(), case.get("edits", []))
    copy = tmp_path / source
    copy.parent.mkdir(parents=True)
    copy.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    if case["touched"] == "behind":
        case = case | {"touched": behind(source, case["expect"][0]["position"])}
    if "unreadable" in case:
        make_unreadable(monkeypatch, copy, case["unreadable"])

    status, lines = dump(source, capfdbinary)

    complaints = [line for line in lines if json.loads(line)["type"] in ("error", "padding")]
    assert len(complaints) == len(case["expect"]), complaints
    for line, wanted in zip(complaints, case["expect"], strict=True):
        assert line == expected(wanted, source, line)
    assert status == case.get("status", 1)
    assert_untouched_equal_kafka(case, lines)
    assert_touched_as_told(case, lines)


def dump(name: str, capture: Any) -> tuple[int, list[str]]:
    capture.readouterr()
    with redirect_stderr(io.StringIO()):
        status = cli.main(["dump", name, "--format", "jsonl"])
    return status, capture.readouterr().out.decode().splitlines()


def expected(wanted: dict[str, Any], name: str, line: str) -> str:
    """The line that `cases.toml` describes; of `detail`, which is for people, only `says` is laid down."""
    if "padding" in wanted:
        fields = {
            "type": "padding",
            "path": name,
            "position": wanted["padding"],
            "end_position": wanted["end"],
        }
        return json.dumps(fields, separators=(",", ":"))
    detail = json.loads(line).get("detail", "")
    assert detail and wanted["says"] in detail
    first, last = (None if offset == "-" else offset for offset in wanted["lost"])
    fields = {
        "type": "error",
        "path": name,
        "position": wanted["position"],
        "end_position": wanted["end"],
        "error": wanted["error"],
        "detail": detail,
        "first_lost_offset": first,
        "last_lost_offset": last,
    }
    return json.dumps(fields, separators=(",", ":"))


def behind(source: str, position: int) -> list[dict[str, Any]]:
    """For a file that was cut: every batch from the position on is gone."""
    return [
        {"position": at, "batch_line": False, "records": 0} for at in oracle_groups(source) if at >= position
    ]


def make_unreadable(monkeypatch: pytest.MonkeyPatch, file: Path, ranges: list[list[int]]) -> None:
    """A disk with bad sectors: a read that touches a range fails with EIO, as Linux does."""
    inode, real, real_views = file.stat().st_ino, os.pread, os.preadv

    def touch(fd: int, size: int, position: int) -> None:
        if os.fstat(fd).st_ino == inode and any(
            position < end and start < position + size for start, end in ranges
        ):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def pread(fd: int, size: int, position: int) -> bytes:
        touch(fd, size, position)
        return real(fd, size, position)

    def preadv(fd: int, views: list[memoryview], position: int, *flags: int) -> int:
        touch(fd, sum(map(len, views)), position)
        return real_views(fd, views, position, *flags)

    monkeypatch.setattr(os, "pread", pread)
    monkeypatch.setattr(os, "preadv", preadv)


def oracle_groups(path: str) -> dict[int, list[str]]:
    """Kafka's lines for the undamaged file, by the position of their batch."""
    groups: dict[int, list[str]] = {}
    for line in (VECTORS / "oracle" / f"{path}.jsonl").read_text().splitlines():
        groups.setdefault(json.loads(line)["position"], []).append(line)
    return groups


def assert_untouched_equal_kafka(case: dict[str, Any], lines: list[str]) -> None:
    """Every batch outside `touched` has exactly Kafka's lines, at its new position if it moved."""
    touched = {entry["position"] for entry in case["touched"]}
    shifts = [(shift["from"], shift["by"]) for shift in case.get("shifts", [])]
    wanted = []
    for position, group in oracle_groups(case["source"]).items():
        if position in touched:
            continue
        moved = position + sum(by for start, by in shifts if position >= start)
        wanted += [at_position(line, position, moved) for line in group]
    there = {entry.get("now", entry["position"]) for entry in case["touched"]}
    got = [
        line
        for line in lines
        if json.loads(line)["type"] in ("batch", "record") and json.loads(line)["position"] not in there
    ]
    assert got == wanted
    assert wanted, "the damage must leave something to compare"


def at_position(line: str, before: int, now: int) -> str:
    return line.replace(f'"position":{before},', f'"position":{now},', 1)


def assert_touched_as_told(case: dict[str, Any], lines: list[str]) -> None:
    """A touched batch: its batch line or none, its checksum's verdict, and how many leading true records."""
    before = oracle_groups(case["source"])
    for entry in case["touched"]:
        now = entry.get("now", entry["position"])
        mine = [line for line in lines if json.loads(line).get("position") == now]
        batches = [json.loads(line) for line in mine if json.loads(line)["type"] == "batch"]
        records = [line for line in mine if json.loads(line)["type"] == "record"]
        assert len(batches) == int(entry["batch_line"]), entry
        if batches and "crc_valid" in entry:
            assert batches[0]["crc_valid"] is entry["crc_valid"]
        true = [line for line in before[entry["position"]] if json.loads(line)["type"] == "record"]
        true = [at_position(line, entry["position"], now) for line in true]
        assert len(records) == entry["records"], entry
        assert records == true[: len(records)]


def test_every_row_of_the_contract_is_shown() -> None:
    rows = {case["row"] for case in CASES}
    assert rows >= {
        "checksum",
        "length",
        "truncated",
        "magic",
        "decompression",
        "corrupt batch",
        "unreadable",
        "padding",
    }
    assert len(CASES) >= 25
    assert len({case["name"] for case in CASES}) == len(CASES)
