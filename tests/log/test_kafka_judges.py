"""Kafka's own classes are the judges: of a tier's names, of a broker's lock, of where leader epochs end."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from tests.folders import files_in
from tests.log.tiers import TOPIC_ID, bounds, copy_of, epochs_up_to, kafkas, segment_id
from tests.oracle.jvm import QUIET, compile_java, fetch_jars, java_command

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.local_files import is_locked
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.log.discovery import discover
from kafka_segments.log.lineage import Lineage

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "vectors" / "recorded" / "kafka-4.3"

pytestmark = pytest.mark.oracle


def kafka(*arguments: object) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the Java program."""
    jars = fetch_jars(HERE / "pom.xml")
    classes = compile_java(sorted((HERE / "java").glob("*.java")), jars)
    return java_command([classes, jars], *QUIET, "Catalog", *map(str, arguments))


@pytest.mark.parametrize("name", ["before-cleaning/compact-multi-0", "clean/transactions-0"])
def test_the_tier_that_kafka_writes_is_what_the_tests_write(tmp_path: Path, name: str) -> None:
    original = copy_of(RECORDED / name)
    ours = kafkas(original, tmp_path / "ours")
    segments: list[object] = []
    for number, (base, end) in enumerate(bounds(original), 1):
        entries = epochs_up_to(original, -1, end)
        checkpoint = tmp_path / f"epochs-{number}"
        lines = "".join(f"{entry.epoch} {entry.start_offset}\n" for entry in entries)
        checkpoint.write_text(f"0\n{len(entries)}\n{lines}")
        segments += [base, end, segment_id(number), checkpoint]
    top = tmp_path / "kafkas"
    top.mkdir()
    where = (original.topic, original.partition, TOPIC_ID)
    command, environment = kafka("upload", top, RECORDED / name, *where, *segments)
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    theirs = files_in(top)
    assert theirs == {str(path.relative_to(tmp_path / "ours")): path.read_bytes() for path in ours.iterdir()}
    (copy,) = discover(Places(), [str(top)])
    assert len(copy.segments) == len(original.segments) - 1


def test_the_lock_that_java_holds_is_seen(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    command, environment = kafka("lock", lock)
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        assert is_locked(str(lock))
        process.stdin.close()
    assert not is_locked(str(lock))


def test_epochs_end_where_kafka_says(tmp_path: Path) -> None:
    chance = random.Random(6)
    asked, expected = [], []
    for number in range(300):
        entries = [(chance.randrange(8), chance.randrange(60)) for _ in range(chance.randrange(6))]
        checkpoint = tmp_path / f"{number}"
        checkpoint.write_text(
            f"0\n{len(entries)}\n" + "".join(f"{epoch} {start}\n" for epoch, start in entries)
        )
        lineage = Lineage.of([LeaderEpoch(*entry) for entry in entries], 100)
        for epoch in range(9):
            asked.append(f"{checkpoint} 100 {epoch}\n")
            known, end = lineage.end_of(epoch)
            if epoch > lineage.latest:
                # Nobody asks a broker for an epoch that it has not seen: it does not answer.
                known, end = -1, -1
            expected.append((epoch if known is None else known, end))
    command, environment = kafka("epochs")
    result = subprocess.run(
        command,
        env=environment,
        input="".join(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    answers = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
    assert answers == expected
    assert len({answer[0] for answer in answers}) > 5
