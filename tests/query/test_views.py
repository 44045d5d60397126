"""Batches, control records and damage of a range, against the slow way."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from tests import work
from tests.made import adversaries
from tests.made.samples import sampled
from tests.query.range_logs import one, run, write
from tests.query.splits import read, recorded, rows, split_of, stored

from kafka_segments import Batch, Record, open_segment
from kafka_segments.core.codecs import bounds
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.query.read.batch_views import (
    BATCHES_SCHEMA,
    CONTROL_SCHEMA,
    read_batches,
    read_control,
)
from kafka_segments.query.read.split_reader import Reading

RECORDINGS = pytest.mark.parametrize("path", sampled(recorded()))
TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}
PLACES = Places()


def pieces(path: Path) -> list:
    """A file, cut anywhere."""
    random, segment = Random(path.name), stored(path)
    cuts = sorted({segment.base_offset, *(segment.base_offset + random.randrange(1, 200) for _ in range(3))})
    ends = [*cuts[1:], None]
    return [split_of(segment, *cut, cleaned_up_to=1 << 62) for cut in zip(cuts, ends, strict=True)]


def described(batch: Batch) -> tuple:
    """A batch as the view has it."""
    is_old = batch.magic < 2
    is_wrapper = is_old and batch.compression_id != 0

    def known(value: int) -> int | None:
        return None if value == -1 else value

    return (
        batch.position,
        batch.size,
        None if is_wrapper else batch.base_offset,
        batch.last_offset,
        None if is_wrapper else batch.num_records,
        batch.magic,
        batch.compression,
        TYPES[batch.timestamp_type],
        batch.base_timestamp,
        None if batch.magic == 0 else batch.max_timestamp,
        known(batch.partition_leader_epoch),
        known(batch.producer_id),
        known(batch.producer_epoch),
        known(batch.base_sequence),
        batch.is_transactional,
        batch.is_control,
        batch.delete_horizon_ms is not None,
        batch.crc,
    )


@RECORDINGS
def test_batches(path: Path) -> None:
    with open_segment(path) as segment:
        entries = [entry for entry in segment.iter_entries("skip") if isinstance(entry, Batch)]
    found = Findings()
    batches = [batch for split in pieces(path) for batch in read_batches(split, PLACES, found)]
    assert all(batch.schema == BATCHES_SCHEMA for batch in batches)
    assert rows(batches) == [described(entry) for entry in entries]
    assert (found.num_batches, found.of(Kind.LOST)) == (len(entries), [])


@RECORDINGS
def test_control_records(path: Path) -> None:
    expected, head = [], None
    with open_segment(path) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Batch):
                head = event
            elif isinstance(event, Record) and event.control is not None:
                assert head is not None
                same = [head.partition_leader_epoch, head.producer_id, head.producer_epoch]
                same = [None if value == -1 else value for value in same]
                said = asdict(event.control)
                value = None if said["value"] is None else json.dumps(said["value"], separators=(",", ":"))
                what = said["type"], said["type_id"], said["version"], value
                expected.append((event.offset, event.timestamp, *same, *what))
    found = Findings()
    batches = [row for split in pieces(path) for row in read_control(split, PLACES, Reading(()), found)]
    assert all(batch.schema == CONTROL_SCHEMA for batch in batches)
    assert rows(batches) == expected
    assert found.of(Kind.DAMAGE) == found.of(Kind.LOST) == []


def test_there_are_control_records_of_all_sorts() -> None:
    seen = set()
    for path in recorded():
        split = split_of(stored(path), stored(path).base_offset, None)
        seen |= {row[5] for row in rows(list(read_control(split, PLACES, Reading(()), Findings())))}
    assert {"ABORT", "COMMIT", "LEADER_CHANGE"} <= seen


def test_a_batch_comes_once_wherever_it_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, 0, run(0, 4))
    for cut in range(1, 20):
        found = []
        for start, end in [(0, cut), (cut, None)]:
            split = split_of(stored(path), start, end, following=20)
            found += rows(list(read_batches(split, PLACES, Findings())))
        assert [row[2] for row in found] == [0, 5, 10, 15]


def test_a_damaged_control_batch_is_told(tmp_path: Path) -> None:
    data = bytearray(one(0) + one(5, 1, attributes=0x30) + one(6))
    data[len(one(0)) + 70] ^= 1
    found = Findings()
    split = split_of(stored(write(tmp_path, 0, bytes(data))), 0, 11)
    assert list(read_control(split, PLACES, Reading(()), found)) == []
    assert [(one.first_offset, one.last_offset) for one in found.of(Kind.DAMAGE)] == [(5, 5)]


def test_batches_of_control_records_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker compresses control batches: small ones of many records are hostile."""
    monkeypatch.setattr(bounds, "MORE_ITEMS", 3000)
    one_batch = adversaries.batch(
        adversaries.squeezed(adversaries.ZSTD, adversaries.EMPTY_RECORD * 1000),
        1000,
        adversaries.ZSTD | adversaries.CONTROL,
    )
    data = adversaries.repeated(one_batch, 10 * len(one_batch), 1000)
    found = Findings()
    split = split_of(stored(write(tmp_path, 0, data)), 0, 10_000)
    num_rows = len(rows(list(read_control(split, PLACES, Reading(()), found))))
    num_items = 3000 + bounds.ITEMS_PER_BYTE * len(data)
    assert 1000 < num_rows < num_items
    assert len(found.of(Kind.DAMAGE)) > 5


def test_damage_as_rows(tmp_path: Path) -> None:
    data = bytearray(run(0, 10))
    data[len(one(0)) + 70] ^= 1
    path = write(tmp_path, 0, bytes(data))
    split = split_of(stored(path), 0, 60, following=60, position=0)
    found = [finding.as_row() for finding in read(split)[1].findings]
    names = "kind", "sourceFile", "position", "error", "firstOffset", "lastOffset"
    assert [tuple(row[name] for name in names) for row in found] == [
        ("damage", str(path), len(one(0)), "ChecksumMismatchError", 5, 9),
        ("lost", None, None, None, 50, 59),
    ]


def test_headers_of_a_large_file_take_no_time_a_row(tmp_path: Path) -> None:
    """Far below what a row in Python would take: 40,000 batches."""
    path = write(tmp_path, 0, run(0, 40_000))
    split = split_of(stored(path), 0, None)
    list(read_batches(split, PLACES, Findings()))
    with work.at_most(20_000):
        assert sum(batch.num_rows for batch in read_batches(split, PLACES, Findings())) == 40_000
