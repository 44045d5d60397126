"""What `report` says of a log directory holds for all that it read, and names the rest."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_segments.cli.main import main

CLEAN = Path(__file__).parents[1] / "vectors/recorded/kafka-4.3/clean"
PARTITIONS = ("multi-0", "idempotent-1", "__consumer_offsets-0")

Report = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with the checkpoints of a broker."""
    logs = tmp_path / "logs"
    for name in PARTITIONS:
        shutil.copytree(CLEAN / name, logs / name)
    for file in CLEAN.iterdir():
        if file.is_file() and file.name != ".kafka_cleanshutdown":
            shutil.copy(file, logs)
    monkeypatch.chdir(tmp_path)
    return logs


@pytest.fixture
def report(folder: Path) -> Report:
    """Run the verb; return its status, and verdict and figures without the tags."""

    def made(*options: str) -> tuple[int, str]:
        status = main(["report", "logs", "-o", "page.html", *options])
        text = Path("page.html").read_text(encoding="utf-8")
        verdict = text.index('<p class="verdict')
        return status, re.sub("<[^>]*>", "", text[verdict : text.index("<section", verdict)])

    return made


def test_all_was_read(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = report()
    assert status == 0
    assert capsys.readouterr().err == "kafka-segments: page.html: Nothing is damaged or missing.\n"
    assert "Nothing is damaged or missing." in said
    assert "3 partitions" in said


def test_damage_in_an_internal_topic_counts(folder: Path, report: Report) -> None:
    path = folder / "__consumer_offsets-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    status, said = report()
    assert status == 1
    assert "Something is wrong: 1 damaged place" in said
    assert "__consumer_offsets-0" in Path("page.html").read_text(encoding="utf-8")


def test_a_directory_of_another_name_is_named_in_the_verdict(folder: Path, report: Report) -> None:
    shutil.copytree(folder / "multi-0", folder / "orders-1.bak")
    status, said = report()
    assert status == 0
    assert "Nothing is damaged or missing in what was read." in said
    assert re.search(r"Not read: \S*orders-1.bak: its name is not TOPIC-PARTITION", said)


def test_compressed_segments_are_named_in_the_verdict(folder: Path, report: Report) -> None:
    (folder / "multi-0" / f"{500:020}.log.gz").touch()
    assert f"{500:020}.log.gz" in report()[1]


def test_topics_that_were_not_asked_for_are_no_part_of_the_verdict(report: Report) -> None:
    _status, said = report("--subscribe", "multi")
    assert "in what was read." in said
    assert "Not read: other topics: they were not requested" in said


def test_a_torn_batch_below_the_high_watermark_is_lost(folder: Path, report: Report) -> None:
    path = folder / "idempotent-1" / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-5])
    status, said = report()
    assert status == 1
    assert "3 offsets known to be lost" in said, "6 to 8: the high watermark is 9"


def test_a_torn_batch_of_unknown_size_is_at_least_none(folder: Path, report: Report) -> None:
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (folder / name).unlink()
    path = folder / "idempotent-1" / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-5])
    assert "0 offsets known to be lost" in report()[1]


def test_a_partition_without_a_segment(
    folder: Path, report: Report, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "idempotent-1" / f"{0:020}.log").unlink()
    assert "idempotent-1: it has no segment" in report()[1]
    (folder / "new-0").mkdir()
    assert main(["verify", "--checks", "missing-partition", "logs"]) == 1
    said = capfd.readouterr()
    assert said.out == (
        "logs/idempotent-1: missing-partition: it has no segment, but its log ended at offset 9 according to "
        "the checkpoints\n"
    )
    assert "new-0: it has no segment; left out" in said.err
