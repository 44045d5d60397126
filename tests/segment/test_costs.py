"""What many producers, many damaged places and many transactions may cost."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests import work
from tests.formats.test_bounds import peak_of
from tests.segment.logs import Log

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.transactions.state import (
    AbortedTransaction,
    AbortedTransactions,
    DataBatch,
    Transactions,
)
from kafka_segments.errors import CorruptBatchError
from kafka_segments.log.open_partition import open_partition
from kafka_segments_generated.columns import kafka_transaction_index

MANY = 20_000


def begin(state: Transactions, producer_id: int, offset: int) -> None:
    state.data(DataBatch(producer_id, 0, offset, offset, 0, 0))


def damage(offset: int) -> Damage:
    error = CorruptBatchError("invented", position=offset)
    return Damage("some.log", offset, offset + 1, error, offset, offset, offset - 1, offset + 1)


def test_open_producers_share_what_is_damaged_behind_them() -> None:
    count = 2000

    def many() -> Transactions:
        state = Transactions()
        for producer_id in range(count):
            begin(state, producer_id, producer_id)
        for offset in range(count, 2 * count):
            state.damaged(damage(offset))
        return state

    state, peak = peak_of(many)
    assert peak < 1000 * 2 * count
    first = state.damage[0]
    assert [one.damage for one in state.open()] == [first] * count
    begin(state, 7, 2 * count)
    assert [(one.producer_id, one.damage) for one in state.doubtful] == [(7, first)]
    assert sum(one.damage is None for one in state.open()) == 1


def test_a_marker_does_not_look_at_all_other_producers() -> None:
    def prepare(count: int) -> Callable[[], None]:
        state = Transactions()
        for producer_id in range(count):
            begin(state, producer_id, producer_id)

        def end_all() -> None:
            for producer_id in range(count):
                state.marker(producer_id, count + producer_id, is_abort=True)
            stable = [one.last_stable_offset for one in state.aborted]
            assert stable == [*range(1, count), 2 * count]

        return end_all

    work.check_linear(prepare, MANY // 4)


def test_what_has_ended_is_forgotten_while_the_first_one_stays_open() -> None:
    """The place of each transaction is kept for the last stable offset, while it is open."""

    def many() -> Transactions:
        state = Transactions()
        begin(state, 1, 0)
        for offset in range(1, 2 * MANY, 2):
            begin(state, 2, offset)
            state.marker(2, offset + 1, is_abort=False)
        return state

    state, peak = peak_of(many)
    assert peak < 100_000
    assert state.last_stable_offset(0) == 0


def test_harmless_damage_is_forgotten_at_once() -> None:
    """A transaction of many batches between which others of its own were lost."""

    def go_on(count: int) -> None:
        state = Transactions()
        begin(state, 1, 0)
        for offset in range(1, 2 * count, 2):
            state.damaged(damage(offset))
            state.data(DataBatch(1, 0, offset + 1, offset + 1, offset + 1, offset + 1))
        assert not state.doubtful
        assert state.open()[0].damage is None

    work.check_linear(lambda count: partial(go_on, count), MANY // 4)


def peak_of_outcome(folder: Path, num_aborted: int, *, has_records: bool) -> int:
    """What it takes to work out how a log of so many aborted transactions ended."""
    log = Log()
    data, marker = log.data(1).data[8:], log.abort(1).data[8:]
    folder.mkdir(parents=True)
    with (folder / f"{0:020d}.log").open("wb") as file:
        for offset in range(0, 2 * num_aborted, 2):
            if has_records:
                file.write(struct.pack(">q", offset) + data)
            file.write(struct.pack(">q", offset + 1) + marker)
    (folder / f"{0:020d}.index").touch()
    with open_partition(folder) as partition:
        outcome, peak = peak_of(lambda: partition.outcome)
        assert len(outcome.aborted) == num_aborted * has_records
        assert len(partition.check_indexes()) == has_records, "it has no .txnindex"
        return peak


@pytest.mark.parametrize("has_records", [True, False], ids=["whole", "compacted"])
def test_an_aborted_transaction_takes_some_fifty_bytes(tmp_path: Path, has_records: bool) -> None:
    peak_of_outcome(tmp_path / "t-0", 10, has_records=has_records)  # imports what it needs
    # Both are larger than the window that a file is read by.
    few = peak_of_outcome(tmp_path / "few" / "t-0", 15_000, has_records=has_records)
    many = peak_of_outcome(tmp_path / "many" / "t-0", 25_000, has_records=has_records)
    assert many - few < (90 if has_records else 60) * 10_000


def test_indexes_of_many_segments_are_not_held_against_all_that_was_aborted(tmp_path: Path) -> None:
    """Each segment's against what was aborted in it."""
    log = Log()
    for _ in range(300):
        log.data(1)
        log.abort(1)
        log.roll()
    log.data(-1, transactional=False)
    folder = log.write(tmp_path)
    for base, _pieces in log.segments[:-1]:
        index = kafka_transaction_index.write_columns([0], [1], [base], [base + 1], [base + 2])
        (folder / f"{base:020d}.txnindex").write_bytes(index)
    (folder / f"{20:020d}.txnindex").unlink()
    with open_partition(folder) as partition:
        taken = 0
        original = type(partition.outcome.aborted).__getitem__

        def counting(self: AbortedTransactions, number: int) -> AbortedTransaction:
            nonlocal taken
            taken += 1
            return original(self, number)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AbortedTransactions, "__getitem__", counting)
            (finding,) = partition.check_indexes()
    assert finding.path == str(folder / f"{20:020d}.txnindex")
    assert taken < 1000
