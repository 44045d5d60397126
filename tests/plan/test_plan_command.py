"""`kafka-segments plan`: what it prints, and what its exit status says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plan import logs
from tests.plan.logs import RECORDED, Entry
from tests.plan.test_committed import pinned

from kafka_segments.cli.main import main


@pytest.fixture
def partition(tmp_path: Path) -> str:
    entries = [Entry("create2", (at * 100,)) for at in range(40)]
    return str(logs.write(tmp_path, entries, segment_bytes=1000))


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    status = main(["plan", "--format", "jsonl", *arguments])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def of_type(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in found if one["type"] == kind]


def test_what_is_read_and_why_not_the_rest(capsys: pytest.CaptureFixture[str], partition: str) -> None:
    status, found = lines(
        capsys,
        partition,
        "-o",
        'endingOffsets={"t":{"0":30}}',
        "-w",
        "timestamp >= 1500",
        "-w",
        "offset < 25",
    )
    assert status == 0
    (one,) = of_type(found, "range")
    assert (one["topic"], one["partition"], one["start"], one["end"]) == ("t", 0, 0, 30)
    splits = of_type(found, "split")
    assert splits[0]["start"] <= 15 and splits[-1]["end"] == 25
    reasons = " ".join(one["why"] for one in of_type(found, "left_out"))
    for words in (".timeindex", "timestamp from 1500 on", "offset up to 24", "the ending offset"):
        assert words in reasons
    (summary,) = of_type(found, "plan")
    assert summary["num_splits"] == len(splits) and summary["num_bytes"] > 0


def test_for_people(capsys: pytest.CaptureFixture[str], partition: str) -> None:
    assert main(["plan", partition, "-o", 'startingOffsets={"t":{"0":20}}']) == 0
    out = capsys.readouterr().out
    assert out.startswith("t-0: offsets 20 to the end (the end of the log), of a log from 0 on; ")
    assert "not read: offsets 0 to " in out and "before offset 20, where reading begins" in out
    assert out.splitlines()[-1].endswith("at read_uncommitted")


def test_what_is_lost_is_a_finding_unless_it_may_be(
    capsys: pytest.CaptureFixture[str], partition: str
) -> None:
    asked = [partition, "-o", 'endingOffsets={"t":{"0":99}}']
    status, found = lines(capsys, *asked)
    (loss,) = of_type(found, "loss")
    assert status == 1 and (loss["first_offset"], loss["last_offset"]) == (40, 98)
    assert lines(capsys, *asked, "-o", "failOnDataLoss=false")[0] == 0


def test_what_pins_the_last_stable_offset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    committed = [str(pinned(tmp_path)), "-o", "kafka.isolation.level=read_committed"]
    status, found = lines(capsys, *committed)
    (pin,) = of_type(found, "pin")
    assert status == 0
    assert (pin["producer_id"], pin["first_offset"], pin["last_stable_offset"]) == (10, 2, 2)
    assert pin["timestamp"] == 1_700_000_000_000 and pin["age_ms"] > 1 << 36
    assert main(["plan", *committed]) == 0
    assert "producer 10 has had a transaction open since offset 2, by its first" in capsys.readouterr().out


def test_an_index_that_is_wrong_is_a_finding(capsys: pytest.CaptureFixture[str], partition: str) -> None:
    first = min(Path(partition).glob("*.timeindex"))
    first.write_bytes(first.read_bytes()[:-1])
    status, found = lines(capsys, partition, "-w", "timestamp >= 1500")
    (finding,) = of_type(found, "finding")
    assert status == 1 and finding["error"] == "CorruptIndexError" and finding["path"] == str(first)


def test_a_snapshot_is_taken_and_used(
    capsys: pytest.CaptureFixture[str], partition: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "s.json")
    committed = ["-o", "kafka.isolation.level=read_committed"]
    taken = lines(capsys, partition, "--take-snapshot", path, *committed)
    assert taken[0] == 0
    assert lines(capsys, "--snapshot", path, *committed) == taken
    min(Path(partition).glob("*.log")).unlink()
    assert main(["plan", "--snapshot", path]) == 2
    assert "the file has gone since the snapshot was taken" in capsys.readouterr().err
    status, found = lines(capsys, "--snapshot", path, "-o", "failOnDataLoss=false")
    assert status == 0 and len(of_type(found, "changed")) == 1


WRONG = {
    "nothing": ([], "give what to read"),
    "an unknown option": (["/", "-o", "colour=red"], "NAME one of subscribe"),
    "no value": (["/", "-o", "subscribe"], "NAME=VALUE"),
    "a refused option": (["/", "-o", "minPartitions=0"], "above 0"),
    "no condition": (["/", "-w", "value = 3"], "give a column"),
    "no operator": (["/", "-w", "offset near 3"], "none of"),
    "no number": (["/", "-w", "offset = x"], "give a column"),
    "both": (["/", "--snapshot", "x"], "not both"),
    "no snapshot": (["--snapshot", "/nowhere/x"], "check the path"),
    "no such path": (["/nowhere"], "check the path"),
}


@pytest.mark.parametrize(("arguments", "why"), WRONG.values(), ids=WRONG)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], why: str) -> None:
    assert main(["plan", *arguments]) == 2
    shown = capsys.readouterr()
    assert why in shown.err and shown.out == ""


def test_conditions_in_all_their_forms(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(RECORDED / "kafka-4.3/clean")
    status, found = lines(
        capsys, folder, "-w", "topic = idempotent", "-w", "partition > 0", "-w", "offset = 0"
    )
    assert status == 0
    assert [(one["topic"], one["partition"]) for one in of_type(found, "range")] == [
        ("idempotent", 1),
        ("idempotent", 2),
    ]
    assert all(one["end"] == 1 for one in of_type(found, "split"))


def test_options_that_are_not_used_are_told(capsys: pytest.CaptureFixture[str], partition: str) -> None:
    assert main(["plan", partition, "-o", "startingTimestamp=5", "-o", "startingOffsets=earliest"]) == 0
    assert "startingOffsets is not looked at: startingTimestamp goes before it" in capsys.readouterr().err
