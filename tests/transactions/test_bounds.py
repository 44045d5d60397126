"""What many producers, many damaged places and many transactions may cost."""

from __future__ import annotations

import time

from tests.runtime.test_bounds import peak_of

from kafka_segments.entries import Damage
from kafka_segments.errors import CorruptBatchError
from kafka_segments.transactions import DataBatch, Transactions

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
    state = Transactions()
    for producer_id in range(MANY):
        begin(state, producer_id, producer_id)
    started = time.process_time()
    for producer_id in range(MANY):
        state.marker(producer_id, MANY + producer_id, is_abort=True)
    assert time.process_time() - started < 2
    stable = [one.last_stable_offset for one in state.aborted]
    assert stable == [*range(1, MANY), 2 * MANY]


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
    state = Transactions()
    begin(state, 1, 0)
    started = time.process_time()
    for offset in range(1, 2 * MANY, 2):
        state.damaged(damage(offset))
        state.data(DataBatch(1, 0, offset + 1, offset + 1, offset + 1, offset + 1))
    assert time.process_time() - started < 2
    assert not state.doubtful
    assert state.open()[0].damage is None
