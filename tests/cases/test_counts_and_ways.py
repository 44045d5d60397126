"""Records are counted alike by all verbs, and two ways to read the same bytes agree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.fuzz.disks import TABLES
from tests.made.build import batch, record
from tests.verify.test_plants import verified

from kafka_segments import Batch, Record, open_segment
from kafka_segments.cli.main import main
from kafka_segments.errors import MissingExtraError

VECTORS = Path(__file__).parents[1] / "vectors"
LIMITS = VECTORS / "cases" / "limits"
CLEAN = VECTORS / "recorded/kafka-4.3/clean"
NAME = f"{0:020}.log"
WITH_MARKERS = "transactions-0"


def lines_of(capfd: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main([words[0], "--format", "jsonl", *words[1:]])
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def number_of(capfd: pytest.CaptureFixture[str], *words: str) -> int:
    """The number of records by the last line of a verb."""
    values = lines_of(capfd, *words)[-1]
    return int(values["num_records"] if "num_records" in values else values["records"])


def written(folder: Path, *entries: bytes) -> str:
    (folder / "t-0").mkdir()
    (folder / "t-0" / NAME).write_bytes(b"".join(entries))
    return str(folder / "t-0")


def test_every_verb_counts_data_records(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CLEAN / WITH_MARKERS)
    dumped = [one for one in lines_of(capfd, "dump", path) if one["type"] == "record"]
    data = sum(one["control"] is None for one in dumped)
    assert 0 < data < len(dumped)
    assert number_of(capfd, "ls", "--headers", path) == data
    assert number_of(capfd, "verify", path) == data
    assert number_of(capfd, "verify", "--skip", "contents", path) == data
    assert number_of(capfd, "find", "--offsets", "0:", path) == data
    assert main(["find", "--count", path]) == 0, "--count needs no condition"
    assert capfd.readouterr().out.startswith(f"{data} records in ")


def test_a_search_at_an_isolation_level(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CLEAN / WITH_MARKERS)
    committed = [
        one["offset"]
        for one in lines_of(capfd, "dump", "--isolation", "read_committed", path)
        if one["type"] == "record"
    ]
    for more in ((), ("--jobs", "2")):
        found = lines_of(capfd, "find", "--offsets", "0:", "--isolation", "read_committed", *more, path)
        assert [one["offset"] for one in found if one["type"] == "record"] == committed
        assert found[-1]["num_records"] == len(committed)
    assert main(["find", "--count", "--isolation", "read_committed", "-"]) == 2


def test_what_a_header_claims_is_not_added(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    claims = batch(2, [record(0, b"k", b"v")], count=2_000_000_000, last_offset_delta=1_999_999_999)
    path = written(tmp_path, batch(0, [record(0), record(1)]), claims)
    assert number_of(capfd, "ls", "--headers", path) == 2
    assert number_of(capfd, "verify", "--skip", "contents", path) == 2
    assert number_of(capfd, "verify", path) == 3, "those that were read"


@pytest.mark.parametrize("with_records", [True, False])
def test_a_damaged_wrapper_is_verified_alike(tmp_path: Path, with_records: bool) -> None:
    shutil.copy(LIMITS / "verify_damaged_wrapper_2000640.log", written(tmp_path) + f"/{NAME}")
    checks = None if with_records else {"crc", "offset-order", "batch-length", "magic"}
    options = {} if checks is None else {"checks": checks}
    rows, summary = verified(tmp_path, **options)
    with mock.patch(TABLES, side_effect=MissingExtraError("not installed", extra="arrow")):
        slow_rows, slow = verified(tmp_path, **options)
    assert (rows, summary.totals) == (slow_rows, slow.totals)
    if with_records:
        with open_segment(tmp_path / "t-0" / NAME) as segment:
            events = list(segment.iter_events(on_damage="skip"))
        assert summary.totals.num_records == sum(isinstance(one, Record) for one in events) == 18
        (disorder,) = [row for row in rows if row[0] == "offset-order" and row[2] == 242]
        assert disorder[3] == 13, "the first offset of its messages"


@pytest.mark.parametrize("option", ["--all-crc", "--jobs=1"])
def test_a_search_finds_the_damage_that_reading_finds(
    tmp_path: Path, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path)
    shutil.copy(LIMITS / "find_control_damage_2004030.log", f"{path}/{NAME}")

    def places(*words: str) -> list[tuple[int, int]]:
        found = lines_of(capfd, *words, path)
        return [(one["position"], one["end_position"]) for one in found if one["type"] == "error"]

    expected = places("dump")
    assert (112388, 112480) in expected
    assert len(expected) == 38
    assert places("find", option, "--regex", "a?") == expected


def test_a_batch_that_was_passed_over_does_not_hide_the_next(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its last offset is far away and its records cannot be read: what comes after damage is sound."""
    odd = batch(1, payload=b"\xff" * 9, count=1, last_offset_delta=1_000_000)
    broken = bytearray(batch(2, [record(0, b"k", b"needle")]))
    broken[-1] ^= 1
    path = written(tmp_path, batch(0, [record()]), odd, bytes(broken), batch(3, [record(0, b"k", b"needle")]))
    found = lines_of(capfd, "find", "--text", "needle", path)
    assert [one["offset"] for one in found if one["type"] == "record"] == [3]


def test_headers_have_the_last_offset_of_entries(tmp_path: Path) -> None:
    """RecordBatch.lastOffset is the sum, whatever the sign of lastOffsetDelta."""
    log = Path(written(tmp_path, batch(5, [record()], last_offset_delta=-3), batch(9, [record()]))) / NAME
    with open_segment(log) as segment:
        entries = [one.last_offset for one in segment.iter_entries("skip") if isinstance(one, Batch)]
        assert segment.read_headers()["last_offset"].to_pylist() == entries == [2, 9]
