"""`kafka-segments ls`: its figures against all headers, levels and formats, what it names as passed over."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.made.build import batch
from tests.made.directories import append, run_of

from kafka_segments import Batch, open_segment
from kafka_segments.cli.main import main

RECORDED = Path(__file__).parents[1] / "vectors" / "recorded"
SETS = ("kafka-4.3/clean", "kafka-4.3/killed", "kafka-2.8/clean", "kafka-0.10.2/clean", "kafka-0.9/clean")


def ls(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[dict[str, Any]]:
    """The JSON lines of a call."""
    assert main(["ls", "--format", "jsonl", *words]) == status
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def of_type(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == kind]


def from_entries(path: str) -> dict[str, Any]:
    """What the headers of a segment say, summed here."""
    with open_segment(path, check_crc=False) as segment:
        batches = [one for one in segment.iter_entries("skip") if isinstance(one, Batch)]
        opened = [one for one in segment.iter_events(on_damage="skip") if isinstance(one, Batch)]
    sizes: Counter[str | None] = Counter()
    magics: Counter[str] = Counter()
    for one in batches:
        sizes[one.compression] += one.size
        magics[str(one.magic)] += one.size
    has_wrapper = any(one.magic < 2 and one.compression != "none" for one in batches)
    return {
        "num_batches": len(batches),
        "num_records": None
        if has_wrapper
        else sum(one.num_records or 0 for one in opened if not one.is_control),
        "bytes_by_codec": dict(sizes),
        "bytes_by_magic": dict(magics),
        "max_timestamp": max((one.max_timestamp for one in batches if one.max_timestamp >= 0), default=None),
    }


@pytest.mark.parametrize("name", SETS)
def test_headers_give_what_the_entries_say(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    lines = of_type(ls(capfd, "-l", "--headers", str(RECORDED / name)), "segment")
    assert len(lines) > 2
    for line in lines:
        said = from_entries(line["path"])
        assert {key: line[key] for key in said} == said, line["path"]
        assert line["num_bytes"] == Path(line["path"]).stat().st_size
        assert line["read"] == "headers"


@pytest.mark.parametrize("name", SETS)
def test_ends_agree_with_headers(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    whole = of_type(ls(capfd, "-l", "--headers", str(RECORDED / name)), "segment")
    ends = of_type(ls(capfd, "-l", str(RECORDED / name)), "segment")
    assert [line["path"] for line in ends] == [line["path"] for line in whole]
    for seen, read in zip(ends, whole, strict=True):
        assert set(seen["codecs"]) <= set(read["codecs"])
        assert set(seen["magics"]) <= set(read["magics"])
        assert (seen["num_bytes"], seen["num_old_bytes"]) == (read["num_bytes"], read["num_old_bytes"])
        # The last offsets of a cleaned segment are gone: by names, it reaches to the next one.
        assert seen["end_offset"] >= read["end_offset"]
        assert (seen["bytes_by_codec"], seen["num_batches"], seen["read"]) == (None, None, "ends")
        assert seen["max_timestamp"] == read["max_timestamp"], seen["path"]


def test_levels_sum_up(capfd: pytest.CaptureFixture[str]) -> None:
    clean = str(RECORDED / "kafka-4.3" / "clean")
    found = {
        level: ls(capfd, "--headers", "--level", level, clean)
        for level in ("topics", "partitions", "copies", "segments")
    }
    totals = [of_type(lines, "total") for lines in found.values()]
    assert all(one == totals[0] for one in totals)
    (total,) = totals[0]
    for level, kind in (("topics", "topic"), ("partitions", "partition"), ("copies", "copy")):
        rows = of_type(found[level], kind)
        assert len(rows) == total[f"num_{level}"]
        for key in ("num_bytes", "num_segments", "num_batches", "num_records", "num_bytes_beside"):
            assert sum(row[key] for row in rows) == total[key]
    (one,) = [row for row in of_type(found["topics"], "topic") if row["topic"] == "transactions"]
    assert (one["num_partitions"], one["start_offset"], one["partition"]) == (2, None, None)
    (one,) = [row for row in of_type(found["copies"], "copy") if row["topic"] == "deleted-head"]
    assert (one["start_offset"], one["end_offset"]) == (17, 30)  # log-start-offset-checkpoint


def test_copies_of_a_partition(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for disk, first in (("disk1", 0), ("disk2", 4)):
        append(tmp_path / disk / "orders-3", *run_of(first, 9))
    disks = [str(tmp_path / "disk1"), str(tmp_path / "disk2")]
    copies = of_type(ls(capfd, *disks, disks[0]), "copy")
    assert [(one["directory"], one["start_offset"]) for one in copies] == [
        (f"{disks[0]}/orders-3", 0),
        (f"{disks[1]}/orders-3", 4),
    ]
    (one,) = of_type(ls(capfd, "--level", "partitions", *disks), "partition")
    assert (one["num_copies"], one["start_offset"], one["num_segments"]) == (2, 0, 2)


def test_order_and_csv(capfd: pytest.CaptureFixture[str]) -> None:
    clean = str(RECORDED / "kafka-4.3" / "clean")
    for key, name in (("size", "num_bytes"), ("records", "num_records"), ("time", "max_timestamp")):
        rows = of_type(ls(capfd, "--headers", "--sort", key, "-r", clean), "copy")
        numbers = [-1 if row[name] is None else row[name] for row in rows]
        assert numbers == sorted(numbers, reverse=True)
    assert main(["ls", "--format", "csv", "-l", clean]) == 0
    table = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    lines = of_type(ls(capfd, "-l", clean), "segment")
    assert [row["path"] for row in table] == [line["path"] for line in lines]
    assert [int(row["end_offset"]) for row in table] == [line["end_offset"] for line in lines]


def test_text_has_totals_and_names_old_formats(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--level", "topics", str(RECORDED / "kafka-2.8" / "clean")]) == 0
    text = capfd.readouterr().out
    assert "magic 0 or 1:" in text
    assert "mixed" in text.splitlines()[-1]
    assert "--headers: of all" in text
    assert main(["ls", "--bytes", "--headers", str(RECORDED / "kafka-4.3" / "clean" / "multi-0")]) == 0
    text = capfd.readouterr().out
    assert "KiB" not in text
    assert "records" in text.splitlines()[0]
    assert "magic 0 or 1" not in text


def test_what_a_broker_passes_over_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "logs"
    append(logs / "orders-3", *run_of(0, 9))
    (logs / "orders-3" / f"{0:020}.log.deleted").write_bytes(b"")
    (logs / "orders-3" / "notes.log").write_bytes(b"")
    aside = [f"orders-4.{'a' * 32}-{suffix}" for suffix in ("delete", "future", "stray")]
    for name in (*aside, "backup"):
        append(logs / name, *run_of(0, 2))
    assert main(["ls", "--format", "jsonl", str(logs)]) == 0
    out, err = capfd.readouterr()
    passed = {Path(path).name for line in map(json.loads, out.splitlines()) for path in line.get("paths", ())}
    assert passed == {*aside, "backup", f"{0:020}.log.deleted", "notes.log"}
    assert all(name in err for name in passed)


def test_what_is_wrong_is_said_and_the_rest_listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "orders-3", *run_of(0, 9))
    append(tmp_path / "broken-0", *run_of(0, 9))
    path = tmp_path / "broken-0" / f"{0:020}.log"
    path.write_bytes(b"\x00" * 8 + b"\x7f" + path.read_bytes()[9:])
    lines = ls(capfd, str(tmp_path), status=1)
    assert [one["directory"] for one in of_type(lines, "copy")] == [
        str(tmp_path / "broken-0"),
        str(tmp_path / "orders-3"),
    ]
    (segment,) = of_type(ls(capfd, "-l", str(path), status=1), "segment")
    assert [one["error"] for one in segment["errors"]] == ["TruncatedError"]
    lines = ls(capfd, str(tmp_path / "none"), str(tmp_path / "orders-3"), status=2)
    assert len(of_type(lines, "copy")) == 1
    for words in (["-"], ["--jobs", "0", str(tmp_path)], ["-o", "x=1", str(tmp_path)]):
        assert main(["ls", *words]) == 2
        assert capfd.readouterr().err


def test_a_checkpoint_that_is_wrong_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a-0", "a-1", "b-0"):
        append(tmp_path / name, *run_of(0, 3))
    path = tmp_path / "log-start-offset-checkpoint"
    path.write_text("garbage\n")
    assert main(["ls", str(tmp_path)]) == 1
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("kafka-segments: ")]
    detail = "not an offset checkpoint: 'garbage' is not a number; it was not used"
    assert said == [f"kafka-segments: {path}: {detail}"]


def test_no_table_of_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(tmp_path)]) == 2
    assert capfd.readouterr().out == ""
    append(tmp_path / "a-0", *run_of(0, 3))
    assert main(["ls", str(tmp_path)]) == 0
    assert "1 topic, 1 partition in 1 directory; " in capfd.readouterr().out


def test_empty_and_preallocated_segments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    (directory / f"{7:020}.log").write_bytes(b"")
    (one,) = of_type(ls(capfd, "-l", str(directory)), "segment")
    assert (one["start_offset"], one["end_offset"], one["codecs"], one["errors"]) == (7, 7, [], [])
    (directory / f"{7:020}.log").write_bytes(batch(7) + b"\0" * 5000)
    for options in ([], ["--headers"]):
        (one,) = of_type(ls(capfd, "-l", *options, str(directory)), "segment")
        assert (one["start_offset"], one["end_offset"], one["errors"]) == (7, 8, [])


def test_without_the_compiled_scanner_the_same(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from kafka_segments.core.segment.columnar import header_table
    from kafka_segments.errors import MissingExtraError

    multi = str(RECORDED / "kafka-4.3" / "clean" / "codec-none-0")
    fast = ls(capfd, "--headers", multi)

    def refuse(*_arguments: object) -> None:
        raise MissingExtraError("no numba here", extra="arrow")

    monkeypatch.setattr(header_table, "iter_headers", refuse)
    assert ls(capfd, "--headers", multi) == fast


def test_nothing_is_opened_but_what_was_given(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(RECORDED / "kafka-4.3" / "clean" / "multi-0", tmp_path / "multi-0")
    first = tmp_path / "multi-0" / f"{0:020}.log"
    lines = ls(capfd, "-l", str(first))
    assert [one["path"] for one in of_type(lines, "segment")] == [str(first)]
    assert len(of_type(lines, "left_out")) == 1


def test_several_at_once_give_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    clean = str(RECORDED / "kafka-4.3" / "clean")
    assert ls(capfd, "-l", "--headers", "--jobs", "4", clean) == ls(capfd, "-l", "--headers", clean)
