"""The columns that are there on request: epochs, producers, sequences."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from tests.made.build import batch, record
from tests.made.samples import sampled
from tests.made.segments import recorded

from kafka_segments import Batch, Record, open_segment
from kafka_segments.core.segment.columnar import decoding
from kafka_segments.core.segment.columnar.arrow_schema import FURTHER, SCHEMA
from kafka_segments.errors import OptionError

NAMES = ["offset", *FURTHER.names]


def fast(path: Path | bytes, **options) -> list[tuple]:
    with open_segment(path) as segment:
        table = segment.read_batches(NAMES, on_damage="skip", **options).read_all()
    table.validate(full=True)
    return list(zip(*(table.column(name).to_pylist() for name in NAMES), strict=True))


def slow(path: Path | bytes) -> list[tuple]:
    """From headers and records as the Kaitai classes read them, which others compare with Kafka."""
    found, head = [], None
    with open_segment(path) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Batch):
                head = event
            elif isinstance(event, Record) and event.control is None:
                assert head is not None
                known = head.partition_leader_epoch, head.producer_id, head.producer_epoch, event.sequence
                found.append((event.offset, *(None if value == -1 else value for value in known)))
    return found


@pytest.mark.parametrize("path", sampled(recorded()))
def test_they_are_those_of_headers_and_records(path: Path) -> None:
    assert fast(path) == slow(path)


def test_recorded_segments_have_all_of_them() -> None:
    seen = [row for path in recorded() for row in slow(path)]
    for at in range(1, 5):
        assert {row[at] is None for row in seen} == {True, False}


def test_a_sequence_goes_by_the_offset_and_wraps() -> None:
    fields = {"producer_id": 5, "producer_epoch": 7, "base_sequence": 2**31 - 3, "leader_epoch": 2}
    records = [record(delta) for delta in (0, 2, 3, 9)]  # what compaction has left
    data = batch(100, records, count=4, last_offset_delta=9, **fields)
    expected = [(100, 2**31 - 3), (102, 2**31 - 1), (103, 0), (109, 6)]
    assert fast(data) == [(offset, 2, 5, 7, sequence) for offset, sequence in expected]


def test_a_batch_that_goes_the_slow_way_has_them_too() -> None:
    fields = {"producer_id": 5, "producer_epoch": 7, "base_sequence": 3, "leader_epoch": 2}
    data = batch(100, [record(0), record(1)], count=3, last_offset_delta=2, **fields)
    assert fast(data) == slow(data) == [(100, 2, 5, 7, 3), (101, 2, 5, 7, 4)]


def test_they_are_no_columns_of_those_who_do_not_ask() -> None:
    with open_segment(batch()) as segment:
        assert segment.read_batches().schema == SCHEMA
        with pytest.raises(OptionError, match="sequence, each once"):
            segment.read_batches(["nope"])


def test_a_choice_of_them_makes_no_decoder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variant is compiled once a machine; four flags would make sixteen times as many."""
    made = set()
    real = decoding.Compiled
    monkeypatch.setattr(
        decoding,
        "Compiled",
        lambda factory, **flags: made.add(tuple(flags.values())) or real(factory, **flags),
    )
    with open_segment(batch(0, [record(0), record(1)], count=2, last_offset_delta=1)) as segment:
        for size in range(1, 5):
            for names in combinations(FURTHER.names, size):
                found = segment.read_batches(["offset", *names]).read_all()
                assert found.schema == pa.schema([SCHEMA.field("offset"), *(FURTHER.field(n) for n in names)])
                assert found.num_rows == 2
    assert len(made) == 1
