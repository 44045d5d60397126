"""Which topics `ingest` writes, at which isolation level, and what it says of the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.doors import truth
from tests.ingest.ingested import Run, parquet_rows
from tests.made import build
from tests.spark import kafka_rows
from tests.spark.test_reader import batches, segment

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


def test_internal_topics_are_left_out_and_named(ingest: Run, tmp_path: Path) -> None:
    for name in ("orders", "__consumer_offsets", "__transaction_state", "__cluster_metadata", "__mine"):
        segment(tmp_path / "logs" / f"{name}-0", 0, *batches(0))
    status, table, err = ingest(tmp_path / "logs", tmp_path / "out")
    assert status == 0
    assert [topic for topic, _ in table] == ["__mine", "orders", "total"]
    assert "left out: internal topics __cluster_metadata, __consumer_offsets, __transaction_state; " in err
    assert {row.topic for row in parquet_rows(tmp_path / "out")} == {"orders", "__mine"}


def test_topics_by_name_and_by_pattern(ingest: Run, tmp_path: Path) -> None:
    for name in ("orders", "orders-eu", "__consumer_offsets"):
        segment(tmp_path / "logs" / f"{name}-0", 0, *batches(0))
    _, table, err = ingest(tmp_path / "logs", tmp_path / "a", "--subscribe", "orders, __consumer_offsets")
    assert [topic for topic, _ in table] == ["__consumer_offsets", "orders", "total"]
    assert "left out" not in err
    _, table, _ = ingest(tmp_path / "logs", tmp_path / "b", "--subscribe-pattern", "eu$|offsets")
    assert [topic for topic, _ in table] == ["orders-eu", "total"]
    _, table, _ = ingest(tmp_path / "logs" / "__consumer_offsets-0", tmp_path / "c")
    assert [topic for topic, _ in table] == ["__consumer_offsets", "total"]


@pytest.mark.parametrize("is_named", [False, True])
def test_copies_of_internal_topics_are_compared_if_they_are_named(
    ingest: Run, tmp_path: Path, is_named: bool
) -> None:
    disks = [tmp_path / "one", tmp_path / "two"]
    for disk in disks:
        segment(disk / "orders-0", 0, *batches(0))
        segment(disk / "__consumer_offsets-0", 0, build.batch(0, [build.record(0, b"k", disk.name.encode())]))
    sources = [disk / "__consumer_offsets-0" for disk in disks] if is_named else []
    status, _, err = ingest(*disks, *sources, tmp_path / "out")
    assert status == (2 if is_named else 0)
    assert ("the batch at offset 0 differs from the one" in err) is is_named


def test_topics_that_are_not_there(ingest: Run, tmp_path: Path) -> None:
    segment(tmp_path / "logs" / "__consumer_offsets-0", 0, *batches(0))
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out")
    assert (status, "there are only internal topics here (__consumer_offsets)" in err) == (2, True)
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out", "--subscribe", "typo")
    assert (status, "there is no topic typo" in err) == (2, True)
    assert ingest(tmp_path / "logs", tmp_path / "out", "--subscribe", ",")[0] == 2
    assert ingest(tmp_path / "logs", tmp_path / "out", "--subscribe-pattern", "(")[0] == 2
    both = ["--subscribe", "a", "--subscribe-pattern", "a"]
    assert ingest(tmp_path / "logs", tmp_path / "out", *both)[0] == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["transactions-0", "transactions-1", "open-transaction-0", "multi-0"])
def test_uncommitted_records_are_told_or_left_out(ingest: Run, tmp_path: Path, name: str) -> None:
    key = kafka_rows.split_name(name)
    rows = truth.everything("kafka-4.3/clean"), truth.committed("kafka-4.3/clean")
    everything, committed = ({row.offset for row in own if row[2:4] == key} for own in rows)
    status, _, err = ingest(CLEAN / name, tmp_path / "all")
    assert status == 0
    assert {row.offset for row in parquet_rows(tmp_path / "all")} == everything
    told = re.search(r"(\d+) of the records written are not committed", err)
    assert (int(told[1]) if told else 0) == len(everything - committed)
    status, _, err = ingest(CLEAN / name, tmp_path / "committed", "--isolation", "read_committed")
    assert status == 0, err
    assert {row.offset for row in parquet_rows(tmp_path / "committed")} == committed
    assert "not committed" not in err
    assert ("are not read: after the last stable offset" in err) == (name == "open-transaction-0")


@pytest.mark.parametrize("end", [1, 3, 5])
def test_a_run_may_end_within_an_old_wrapper(ingest: Run, audit: Run, tmp_path: Path, end: int) -> None:
    """Its header has the offset of its last message alone, so it counts none of them."""
    logs, out = kafka_rows.RECORDED / "kafka-0.10.2/before-cleaning", tmp_path / "out"
    words = ["--subscribe", "compact-gzip", "-o", f'endingOffsets={{"compact-gzip":{{"0":{end}}}}}']
    status, table, err = ingest(*words, logs, out)
    assert (status, table["compact-gzip", 0]["records"]) == (0, str(end)), err
    status, table, err = ingest("--subscribe", "compact-gzip", logs, out)
    assert status == 0, err
    offsets = [row.offset for row in parquet_rows(out)]
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > 5
    assert audit(out, logs)[0] == 0
