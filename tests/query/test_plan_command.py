"""`kafka-segments plan`: what it prints, and what its exit status says."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.log import tiers
from tests.query import logs
from tests.query.logs import RECORDED, Entry
from tests.query.test_committed import pinned

from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.query.query import Condition

CLEAN = RECORDED / "kafka-4.3" / "clean"


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


def test_a_log_that_ends_before_its_high_watermark_has_lost_offsets(
    capsys: pytest.CaptureFixture[str], partition: str
) -> None:
    checkpoint = Path(partition).parent / "replication-offset-checkpoint"
    checkpoint.write_text("0\n1\nt 0 45\n")
    status, found = lines(capsys, partition)
    (loss,) = of_type(found, "loss")
    assert (status, loss["first_offset"], loss["last_offset"]) == (1, 40, 44)
    checkpoint.write_text("0\n1\nt 0 40\n")
    assert lines(capsys, partition)[0] == 0


def test_a_log_that_ends_before_its_recovery_point_has_lost_offsets(
    capsys: pytest.CaptureFixture[str], partition: str
) -> None:
    noted = Path(partition).parent
    (noted / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 45\n")
    (noted / "replication-offset-checkpoint").write_text("0\n1\nt 0 38\n")
    status, found = lines(capsys, partition)
    (loss,) = of_type(found, "loss")
    assert (status, loss["first_offset"], loss["last_offset"]) == (1, 40, 44)
    assert "recovery point" in loss["why"]


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


def test_copies_of_internal_topics_are_compared_for_a_snapshot(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    paths = []
    for disk, number in (("one", 0), ("two", 1)):
        shutil.copytree(CLEAN / "codec-zstd-0", tmp_path / disk / "codec-zstd-0")
        shutil.copytree(CLEAN / f"__consumer_offsets-{number}", tmp_path / disk / "__consumer_offsets-0")
        paths.append(str(tmp_path / disk))
    status, found = lines(capsys, *paths)
    assert status == 0
    (one,) = of_type(found, "left_out")
    assert one["topic"] == "__consumer_offsets" and one["num_bytes"] > 0
    assert main(["plan", *paths, "--take-snapshot", str(tmp_path / "pinned")]) == 2
    assert "these are not copies of one log" in capsys.readouterr().err


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
    assert "the file is gone since the snapshot was taken" in capsys.readouterr().err
    status, found = lines(capsys, "--snapshot", path, "-o", "failOnDataLoss=false")
    assert status == 0 and len(of_type(found, "changed")) == 1


def copies(folder: Path) -> list[str]:
    """A partition on two disks, of which one lacks the newest segment, and in a tier, which has the first."""
    recorded = RECORDED / "kafka-4.3" / "clean" / "transactions-0"
    tiers.kafkas(tiers.copy_of(recorded), folder / "tier")
    first, second = (shutil.copytree(recorded, folder / name / recorded.name) for name in "ab")
    max(second.glob("*.log")).unlink()
    for directory in (first, second):
        min(directory.glob("*.log")).unlink()
        (directory / "partition.metadata").unlink()  # the tier's id is made up
    return [str(folder / "a"), str(folder / "b"), str(folder / "tier")]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"maxPartitionBytes": "700", "startingOffsets": '{"transactions":{"0":5}}'},
        {"pathGlobFilter": "*7*.log", "failOnDataLoss": "false"},
        {"recursiveFileLookup": "true", "maxRecordsPerPartition": "7"},
    ],
    ids=str,
)
def test_it_plans_what_the_source_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: dict[str, str]
) -> None:
    """Several disks and a tier: each offset once, and just the splits that tasks get."""
    from kafka_segments.spark.planning import plan_read
    from kafka_segments.spark.read_options import ReadOptions

    paths = copies(tmp_path)
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    _status, found = lines(capsys, *paths, *given, "-w", "offset < 95")
    read = ReadOptions.parse({"paths": json.dumps(paths), **options})
    made = plan_read(read, (Condition("offset", highest=94),), Places())
    expected = [(one.start, one.end, one.segment.file.path, one.position) for one in logs.splits_of(made)]
    splits = of_type(found, "split")
    assert [(one["start"], one["end"], one["path"], one["position"]) for one in splits] == expected
    assert splits and all(one.end <= other.start for one, other in pairwise(logs.splits_of(made)))
    assert {Path(one["path"]).parents[1].name for one in splits} == {
        "a",
        "tier",
    } or "pathGlobFilter" in options


def test_addresses_are_planned_and_secrets_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["-o", "fs.s3a.endpoint=http://127.0.0.1:1", "-o", "fs.s3a.access.key=canary-1"]
    settings += ["-o", "fs.s3a.secret.key=canary-2", "-o", "fs.s3a.region=canary-3"]
    assert main(["plan", "s4://bucket/logs", *settings]) == 2
    assert "no file system is known for s4" in capsys.readouterr().err
    assert main(["plan", "s3a://", *settings]) == 2
    assert main(["plan", "/", "-o", "f.s3a.secret.key=canary-4"]) == 2
    shown = capsys.readouterr()
    assert "names no bucket" in shown.err and "f.s3a.secret.key" in shown.err
    assert "canary" not in shown.err + shown.out


def test_what_may_be_walked_through_can_be_said(
    capsys: pytest.CaptureFixture[str], partition: str, tmp_path: Path
) -> None:
    for index in Path(partition).glob("*index"):
        index.unlink()
    asked = ["-o", "startingTimestamp=1500"]
    assert lines(capsys, partition, *asked)[0] == 0
    assert main(["plan", partition, *asked, "-o", "maxWalkBytes=0"]) == 2
    assert "exceed the 0 bytes" in (told := capsys.readouterr().err) and "raise maxWalkBytes" in told
    committed = ["-o", "kafka.isolation.level=read_committed", "-o"]
    assert main(["plan", str(pinned(tmp_path / "other")), *committed, "maxWalkBytes=10"]) == 2
    assert ": raise maxWalkBytes, or take a snapshot with a Spark job" in capsys.readouterr().err
    assert main(["plan", str(tmp_path / "other" / "t-0"), *committed, "maxWalkBytes=1m"]) == 0


WRONG = {
    "nothing": ([], "no source is given"),
    "an unknown option": (["/", "-o", "colour=red"], "NAME one of subscribe"),
    "a misspelt option": (["/", "-o", "startingOfsets=5"], "did you mean startingOffsets?: give NAME=VALUE"),
    "a misspelt topic": (
        [str(RECORDED / "kafka-4.3/clean"), "-o", "subscribe=mutli"],
        "no topic mutli in these paths (did you mean multi?); there is 007",
    ),
    "no value": (["/", "-o", "subscribe"], "NAME=VALUE"),
    "a refused option": (["/", "-o", "minPartitions=0"], "above 0"),
    "no condition": (["/", "-w", "value = 3"], "give a column"),
    "no operator": (["/", "-w", "offset near 3"], "is not one of"),
    "no number": (["/", "-w", "offset = x"], "offset takes a number"),
    "both": (["/", "--snapshot", "x"], "not both"),
    "no snapshot": (["--snapshot", "/nowhere/x"], "check the path"),
    "an option of files that a snapshot lists": (
        ["--snapshot", "/nowhere/x", "-o", "modifiedafter=now"],
        "give snapshot or modifiedAfter, not both",
    ),
    "a wrong option that a snapshot ignores": (
        ["--snapshot", "/nowhere/x", "-o", "ignoreMissingFiles=now"],
        "ignoreMissingFiles",
    ),
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


def test_flags_are_those_of_ingest(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(RECORDED / "kafka-4.3/clean")

    def ranges(*arguments: str) -> list[dict[str, Any]]:
        return of_type(lines(capsys, folder, *arguments)[1], "range")

    for flag, value, option in (
        ("--subscribe", "idempotent, multi", "subscribe=idempotent,multi"),
        ("--subscribe-pattern", "^trans", "subscribePattern=^trans"),
        ("--isolation", "read_committed", "isolationLevel=read_committed"),
    ):
        by_flag = ranges(flag, value)
        assert by_flag == ranges("-o", option) != ranges()
    assert main(["plan", folder, "--subscribe", "a", "--subscribe-pattern", "a"]) == 2


def test_options_that_are_not_used_are_told(capsys: pytest.CaptureFixture[str], partition: str) -> None:
    assert main(["plan", partition, "-o", "startingTimestamp=5", "-o", "startingOffsets=earliest"]) == 0
    assert "startingOffsets is ignored: startingTimestamp takes precedence" in capsys.readouterr().err
