"""Any interleaving of transactions over several segments, against a model that looks ahead for each batch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.segment import logs
from tests.segment.logs import Log

from kafka_segments import Batch, Record
from kafka_segments.log.open_partition import open_partition
from kafka_segments.log.partition import Partition


def grow(log: Log, chance: random.Random, num_batches: int) -> None:
    """Append batches and markers of a few producers, and roll now and then."""
    for _ in range(num_batches):
        producer_id = chance.choice((3, 5, 1 << 40))
        kind = chance.choices(("data", "plain", "idempotent", "abort", "commit", "roll"), (8, 2, 1, 3, 3, 2))[
            0
        ]
        if kind == "data":
            log.data(producer_id, chance.randint(1, 3), epoch=chance.randint(0, 2))
        elif kind == "plain":
            log.data(-1, chance.randint(1, 3), transactional=False)
        elif kind == "idempotent":
            log.data(77, transactional=False)
        elif kind == "roll":
            log.roll()
        else:
            log.end(producer_id, is_abort=kind == "abort", epoch=chance.randint(0, 3))


def offsets_of(partition: Partition) -> list[list[int]]:
    """What a reader of committed records is given, by both ways."""
    batches = partition.read_table(["offset"], isolation="read_committed")
    events = partition.iter_events(isolation="read_committed")
    return [batches["offset"].to_pylist(), [event.offset for event in events if isinstance(event, Record)]]


def check(log: Log, partition: Partition) -> None:
    found = partition.aborted_transactions()
    assert [(one.producer_id, one.first_offset, one.last_offset) for one in found] == logs.aborted(log)
    for one in found:
        assert one.last_stable_offset == logs.stable_behind(log, one.last_offset)
    still_open = {one.producer_id: one.first_offset for one in partition.open_transactions()}
    assert still_open == logs.open_at(log, log.offset)
    assert partition.last_stable_offset == logs.stable_offset(log)
    for offsets in offsets_of(partition):
        assert offsets == logs.committed(log)


@pytest.mark.long
@examples(settings(deadline=None), 40, 1000)
@given(seed=st.integers(0, 2**32), num_batches=st.integers(0, 60))
def test_what_is_committed_is_what_the_model_says(
    tmp_path_factory: object, seed: int, num_batches: int
) -> None:
    log = Log()
    grow(log, random.Random(seed), num_batches)
    root: Path = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]
    folder = log.write(root)
    with open_partition(folder) as partition:
        check(log, partition)
    logs.write_indexes(log, folder)
    for way in ("records", "indexes"):
        with open_partition(folder, outcomes_from=way) as partition:  # type: ignore[arg-type]
            check(log, partition)
            assert partition.check_indexes() == []


def test_a_reader_of_anything_is_given_everything(tmp_path: Path) -> None:
    log = Log()
    grow(log, random.Random(7), 60)
    every = [
        offset
        for piece in log.pieces
        if piece.kind in ("data", "plain")
        for offset in range(piece.offset, piece.end_offset)
    ]
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.read_table(["offset"])["offset"].to_pylist() == every
        batches = [event for event in partition.iter_events() if isinstance(event, Batch)]
        assert [batch.base_offset for batch in batches] == [piece.offset for piece in log.pieces]


def test_the_invented_partitions_have_what_there_is() -> None:
    kinds: set[str] = set()
    for seed in range(50):
        log = Log()
        grow(log, random.Random(seed), 60)
        kinds |= {piece.kind for piece in log.pieces}
        kinds |= {f"{logs.outcome_of(log, piece)}ed" for piece in log.pieces if piece.kind == "data"}
        spans = [one for one in logs.aborted(log) if crosses_a_segment(log, one)]
        kinds |= {"across segments"} if spans else set()
    assert kinds == {"data", "plain", "abort", "commit", "aborted", "commited", "opened", "across segments"}


def crosses_a_segment(log: Log, one: tuple[int, int, int]) -> bool:
    return any(one[1] < base <= one[2] for base, _pieces in log.segments)
