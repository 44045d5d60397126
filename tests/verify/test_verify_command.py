"""`kafka-segments verify`: lines, exit statuses, what is chosen, what is refused; nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.folders import state_of
from tests.house.commands import ROOT, blocks, calls
from tests.segment.test_segment import redpanda
from tests.verify.plants import CLEAN, FIRST, PLANTS, make_base
from tests.verify.test_plants import verified

from kafka_segments.cli import console
from kafka_segments.cli.main import main
from kafka_segments.verify.catalogue import CHECKS, GROUPS


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A sound log directory `logs` in the current directory, which no verb may change."""
    make_base(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "silence_stdout", lambda: None)  # it is pytest's here
    yield tmp_path / "logs"


def lines_of(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was printed as JSON Lines."""
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_a_sound_directory(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = state_of(logs)
    assert main(["verify", "logs"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "not checked: batch-size: it needs --max-batch-bytes\n" in err
    assert "verified: 5 partitions, " in err and f"{len(CHECKS)} checks, 0 findings" in err
    assert state_of(logs) == before


def test_a_finding_as_text(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    assert main(["verify", "logs"]) == 1
    out, err = capfd.readouterr()
    lost, why = out.splitlines()
    assert lost == "logs/multi-0: 5 records lost, offsets 5 to 9; the rest is readable"
    assert why.startswith(
        f"logs/{FIRST}, position 636 to 1272: crc: the checksum of the batch is wrong: stored 0x"
    )
    assert why.endswith(" [offsets 5 to 9]")
    assert "1 finding\n" in err


def test_findings_as_json_lines(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["marker_lost_between_epochs"].do(logs.parent)
    before = state_of(logs)
    assert main(["verify", "--format", "jsonl", "--bootstrap-server", "b:1", "logs"]) == 1
    finding, summary = lines_of(capfd)
    assert list(finding) == [
        *("type", "check", "topic", "partition", "path", "position", "end_position"),
        *("first_offset", "last_offset", "error", "detail", "command"),
    ]
    assert (finding["check"], finding["topic"], finding["partition"]) == ("lost-marker", "built", 0)
    assert finding["command"] == (
        "kafka-transactions.sh --bootstrap-server b:1 abort --topic built --partition 0 --start-offset 0"
    )
    assert summary["type"] == "summary" and summary["findings"] == {"lost-marker": 1}
    assert summary["checks"] == list(CHECKS) and summary["errors"] == []
    assert state_of(logs) == before


@pytest.mark.parametrize(
    "plant",
    ["lineage_that_is_not_a_text", "partition_metadata_that_is_not_a_text", "checkpoint_that_is_not_a_text"],
)
def test_a_file_that_cannot_be_used_is_named_once(
    plant: str, logs: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    PLANTS[plant].do(logs.parent)
    assert main(["verify", "logs"]) == 1
    (row,) = PLANTS[plant].expected
    out, err = capfd.readouterr()
    assert out.count(row[1]) == 1
    told = [line for line in err.splitlines() if row[1] in line]  # in the line of the log directory alone
    assert all(": a Kafka 4.3 broker does not start, for " in line for line in told)
    assert len(told) <= 1 and caplog.messages == []


def test_topics_and_partitions_are_chosen(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    assert main(["verify", "--topic", "timestamps", "--topic", "idempotent", "logs"]) == 0
    assert main(["verify", "--topic", "multi", "logs"]) == 1
    assert "verified: 1 partition, 2 segments" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--topic", "mutli"], "--topic mutli: no such topic was found; did you mean multi?"),
        (["--topic", "x", "--topic", "multi"], "--topic x: no such topic was found; there are codec-zstd, "),
        (["--partition", "7"], "--partition 7: none of the verified topics has this partition"),
        (["--topic", "multi", "--partition", "1"], "--partition 1: none of the verified topics has"),
    ],
)
@pytest.mark.usefixtures("logs")
def test_a_topic_or_partition_that_is_not_there(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *words, "logs"]) == 2
    err = capfd.readouterr().err
    assert said in err
    assert ("verified: 1 partition, 2 segments" in err) == (words[-1] == "multi")  # the rest was verified


def test_a_log_that_ends_too_early_names_the_checkpoint_that_its_check_is_of(
    logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A clean shutdown leaves both checkpoints at the log's end."""
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (logs / name).write_text("0\n1\nmulti 0 300\n")
    assert main(["verify", "--topic", "multi", "--checks", "log", "logs"]) == 1
    lost, line = capfd.readouterr().out.splitlines()
    assert lost == "logs/multi-0: 94 records lost, offsets 206 to 299; the rest is readable"
    assert ": high-watermark: offsets 206 to 299 are missing: the high watermark (replication-" in line


def test_the_largest_batch_is_an_option(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert logs.is_dir()
    assert main(["verify", "--topic", "multi", "--max-batch-bytes", "1k", "logs"]) == 0
    assert "batch-size: it needs" not in capfd.readouterr().err
    assert main(["verify", "--topic", "multi", "--max-batch-bytes", "635", "logs"]) == 1
    assert ": batch-size: " in capfd.readouterr().out


def test_a_name_with_a_newline_makes_no_line_of_its_own(
    logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (logs / "evil\nlogs/other-0: crc: a lie").mkdir(parents=True)
    assert main(["verify", "--checks", "directories", "logs"]) == 1
    (line,) = [one for one in capfd.readouterr().out.splitlines() if "evil" in one]
    assert line == "logs/evil\\nlogs: directory-name: its name is not TOPIC-PARTITION"


def test_checks_are_chosen(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    assert main(["verify", "--skip", "crc", "logs"]) == 0
    assert main(["verify", "--skip", "bytes", "logs"]) == 0
    assert main(["verify", "--no-crc", "logs"]) == 0
    assert "checks that were not selected: crc\n" in capfd.readouterr().err
    assert main(["verify", "--checks", "indexes,crc", "logs"]) == 1
    assert f"; {len(GROUPS['indexes']) + 1} checks, 1 finding" in capfd.readouterr().err


def test_headers_alone_are_read_if_that_is_enough(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["record_with_a_wrong_length"].do(logs.parent)
    assert main(["verify", "--checks", "crc,offset-order", "logs"]) == 0
    assert main(["verify", "--checks", "records", "logs"]) == 1
    assert capfd.readouterr().out.count(": records: ") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--checks", "crcs", "logs"], "there is no check 'crcs'; the groups are bytes, "),
        (["--checks", "crc", "--skip", "bytes", "logs"], "no check is left"),
        (["--jobs", "0", "logs"], "argument --jobs: '0': give a number from 1 on"),
        (["--max-batch-bytes", "x", "logs"], "option --max-batch-bytes is 'x'"),
        (["-o", "topic=a", "logs"], "give NAME=VALUE"),
    ],
)
@pytest.mark.usefixtures("logs")
def test_misuse(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *words]) == 2
    assert said in capfd.readouterr().err


def test_what_cannot_be_opened_is_named_and_the_rest_verified(
    logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    assert main(["verify", "nowhere", "logs"]) == 2
    out, err = capfd.readouterr()
    assert out.count(": crc: ") == 1
    assert "nowhere" in err and "No such file" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (logs / FIRST).chmod(0)
    assert main(["verify", "logs"]) == 2
    assert "Permission denied" in capfd.readouterr().err


def test_a_segment_of_another_program_is_named_and_the_rest_verified(
    logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    PLANTS["flipped_first_batch_of_a_segment"].do(logs.parent)
    (logs / FIRST).write_bytes(redpanda(0) + redpanda(2))
    assert main(["verify", "--checks", "bytes", "logs"]) == 2
    out, err = capfd.readouterr()
    assert out.count(": crc: ") == 1
    assert f"logs/{FIRST}" in err and "Redpanda" in err


def test_single_files_and_standard_input(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    Path("saved.log").write_bytes((logs / FIRST).read_bytes())
    assert main(["verify", "saved.log"]) == 1
    assert capfd.readouterr().out.startswith("saved.log, position 636 to 1272: crc: ")
    command = [sys.executable, "-m", "kafka_segments", "verify", "-"]
    done = subprocess.run(command, input=(logs / FIRST).read_bytes(), capture_output=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"-, position 636 to 1272: crc: ")
    assert b"verified: 1 partition, 1 segment, " in done.stderr and b" 15.6 KiB; " in done.stderr
    done = subprocess.run(command, input=b"\xff" * 300, capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"") and b"-: this is not a log of Kafka" in done.stderr
    assert main(["verify", str((logs / FIRST).with_suffix(".index"))]) == 2
    assert main(["verify", f"logs/{FIRST}"]) == 1
    assert "only some segments were given" in capfd.readouterr().err


def test_a_pipe_that_is_closed_ends_quietly(logs: Path) -> None:
    PLANTS["flipped_value"].do(logs.parent)
    command = [sys.executable, "-m", "kafka_segments", "verify", "logs"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    # On a slow machine there is progress to tell.
    assert [line for line in process.stderr if not line.rstrip().endswith((b" done", b"/s"))] == []
    assert process.wait() == 1


@pytest.mark.usefixtures("logs")
def test_output_that_cannot_be_written() -> None:
    command = [sys.executable, "-m", "kafka_segments", "verify", "--format", "jsonl", "logs"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3, done.stderr
    assert b"No space left" in done.stderr and b"Traceback" not in done.stderr


def test_jobs_give_the_same_lines(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("flipped_value", "index_of_a_broken_size", "sequence_gap", "disk_of_another_cluster"):
        PLANTS[name].do(logs.parent)
    outputs = []
    for jobs in ("1", "2"):
        assert main(["verify", "--jobs", jobs, "--format", "jsonl", "logs", "other"]) == 1
        outputs.append(lines_of(capfd))
    assert outputs[0] == outputs[1]
    assert {line.get("check") for line in outputs[0]} > {"crc", "offset-index", "sequence-gap", "cluster-id"}


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_base(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs" / "multi-0").rename(tmp_path / "logs" / "orders-0")
    (tmp_path / "logs" / ".kafka_cleanshutdown").unlink()
    (code,) = blocks(ROOT / "docs" / "verify.md")
    for words in calls(code):
        assert main(words) == 0, words


def test_old_findings_of_many_batches_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_segments.verify.sink.MAX_FINDINGS", 3)
    make_base(tmp_path)
    rows, summary = verified(tmp_path, max_batch_bytes=635)
    assert len([row for row in rows if row[1].startswith("multi-0")]) == 3
    assert summary.num_findings["batch-size"] > 40
    assert any("more findings of a partition are not shown" in note for note in summary.notes)
    assert CLEAN.is_dir()
