"""Disks, replicas and tiers of one log, as the source reads them: each offset once; without a JVM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.log.tiers import TOPIC_ID, aivens, copy_of, kafkas
from tests.made import build
from tests.spark import kafka_rows
from tests.spark.planned import reader_of, rows_of
from tests.spark.test_reader import batches, flipped, segment

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import ChecksumMismatchError, KafkaFormatError, ReplicaMismatchError
from kafka_segments.query.read.replica_comparison import find_mismatches

TRANSACTIONS = kafka_rows.RECORDED / "kafka-4.3/clean/transactions-0"
EXPECTED = [
    row.offset
    for row in kafka_rows.rows("kafka-4.3/clean")
    if (row.topic, row.partition) == ("transactions", 0)
]


def read(*paths: Path, **options: str) -> list[int]:
    named = json.dumps([str(path) for path in paths])
    return [row["offset"] for row in rows_of(reader_of(paths=named, columns="offset", **options))]


@pytest.mark.parametrize("make", [kafkas, aivens])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_a_tier_and_a_broker(tmp_path: Path, make: Callable[..., Path], level: str) -> None:
    make(copy_of(TRANSACTIONS), tmp_path / "tier")
    local = tmp_path / "broker" / TRANSACTIONS.name
    shutil.copytree(TRANSACTIONS, local)
    min(local.glob("*.log")).unlink()  # a broker deletes what was uploaded
    (local / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    found = read(tmp_path / "tier", tmp_path / "broker", isolationLevel=level)
    assert found == read(TRANSACTIONS, isolationLevel=level)
    assert (found == EXPECTED) == (level == "read_uncommitted")
    assert read(tmp_path / "broker", isolationLevel=level) == [
        offset for offset in found if offset >= int(min(local.glob("*.log")).stem)
    ]


def test_the_best_of_replicas(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    segment(tmp_path / "one" / "t-0", 0, one, flipped(two), three)
    segment(tmp_path / "two" / "t-0", 0, one, two, three)
    paths = tmp_path / "one", tmp_path / "two"
    assert read(*paths, replicas="best") == [0, 1, 2]
    with pytest.raises(ChecksumMismatchError):
        read(tmp_path / "one", replicas="best")


def test_copies_that_contradict_each_other(tmp_path: Path) -> None:
    one, two, _three = batches(0, 1, 2)
    segment(tmp_path / "one" / "t-0", 0, one, two)
    segment(tmp_path / "two" / "t-0", 0, one, build.batch(1, [build.record(0, b"k", b"another")]))
    with pytest.raises(KafkaFormatError) as caught:
        read(tmp_path / "one", tmp_path / "two", mode="DROPMALFORMED")
    said = str(caught.value) + str(caught.value.__dict__)
    assert str(tmp_path / "one") in said
    assert str(tmp_path / "two") in said


def test_copies_that_contradict_each_other_before_their_ends(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    segment(tmp_path / "one" / "t-0", 0, one, two, three)
    segment(tmp_path / "two" / "t-0", 0, one, build.batch(1, [build.record(0, b"k", b"another")]), three)
    paths = tmp_path / "one", tmp_path / "two"
    for replicas in ("first", "best", "unchecked"):
        assert read(*paths, replicas=replicas) == [0, 1, 2]
    (task,) = reader_of(paths=json.dumps([*map(str, paths)])).partitions()
    (error,) = find_mismatches((part.split for part in task.parts), Places())
    assert isinstance(error, ReplicaMismatchError) and error.offset == 1
    assert all(str(path) in str(error) for path in paths)


def test_damage_is_no_contradiction(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    for position in range(17, 61):  # every byte of the header from the checksum on
        damaged = bytearray(two)
        damaged[position] ^= 1
        for which in range(2):
            copies = [two, bytes(damaged)] if which else [bytes(damaged), two]
            paths = [tmp_path / f"{position}-{which}-{name}" for name in ("one", "two")]
            for path, copy in zip(paths, copies, strict=True):
                segment(path / "t-0", 0, one, copy, three)
            assert read(*paths, replicas="best") == [0, 1, 2]
