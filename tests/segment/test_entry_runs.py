"""Runs of entries say what their entries say, and producers that take turns do not end them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from tests.made.build import batch, message, record

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.verified import producer_table, sound_runs
from kafka_segments.core.segment.verified.producer_table import ProducerState, ProducerTable
from kafka_segments.core.segment.verified.run_folding import ALONE
from kafka_segments.core.segment.verified.sound_runs import RunFolder, SoundRun
from kafka_segments.core.segment.verified.verifying import iter_verified

NUM_SEGMENTS = 40


def some_log(random: Random) -> bytes:
    """Batches of five producers that take turns, with what ends a run now and then."""
    offset, epoch, data, following = 0, 0, b"", dict.fromkeys(range(5), 0)
    for _ in range(random.randrange(1, 120)):
        chance, producer, count = random.random(), random.randrange(5), random.randrange(1, 4)
        fields: dict[str, int] = {"leader_epoch": epoch}
        if chance < 0.05:
            offset += random.choice((-3, 1, 7))
        elif chance < 0.1:
            epoch += 1
        elif chance < 0.13:
            data += message(max(0, offset))
            offset += 1
            continue
        if chance > 0.3:
            following[producer] += 0 if chance < 0.97 else 5
            fields |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": following[producer]}
            following[producer] += count
        if chance > 0.98:
            fields["attributes"] = 1 << 4
        if 0.9 < chance < 0.92:
            fields["last_offset_delta"] = count + 1
        data += batch(max(0, offset), [record(delta) for delta in range(count)], **fields)
        offset += count
    return data


def checked(data: bytes, *, one_by_one: bool) -> tuple[list[SoundRun], dict[int, ProducerState | None]]:
    """The runs of a log, and the producers in the end, where each batch that is alone is taken as it is."""
    producers, found = ProducerTable(), list[SoundRun]()
    folder = RunFolder(producers, 400)
    for event in iter_verified(open_source(data)):
        if isinstance(event, (Damage, Padding)):
            continue
        for row in range(len(event)) if one_by_one else (0,):
            for run in folder.runs(event.part(row, row + 1) if one_by_one else event):
                if run.flags & ALONE and run.magic >= 2 and run.value("producer_id") >= 0:
                    last = run.value("base_sequence") + run.value("last_offset_delta")
                    state = run.value("producer_epoch"), last, run.last, run.last - run.first, run.newest
                    producers.put(run.value("producer_id"), ProducerState(*state, 0))
                found.append(run)
    return found, {producer: producers.get(producer) for producer in range(5)}


@pytest.mark.parametrize("few", [0, 1 << 40])
def test_runs_say_what_their_entries_say(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By machine code, or interpreted."""
    monkeypatch.setattr(sound_runs, "is_loaded", lambda _factory: False)
    num_entries = num_runs = 0
    for seed in range(NUM_SEGMENTS):
        data = some_log(Random(seed))
        monkeypatch.setattr(sound_runs, "_FEW", few)
        singles, expected = checked(data, one_by_one=True)
        monkeypatch.setattr(sound_runs, "_FEW", (1 << 40) - few)
        runs, producers = checked(data, one_by_one=False)
        assert producers == expected
        entries = iter(singles)
        for run in runs:
            own = [next(entries) for _ in range(run.num_batches)]
            assert (run.position, run.end_position) == (own[0].position, own[-1].end_position)
            assert (run.first, run.last) == (own[0].first, own[-1].last)
            assert all(after.first == before.last + 1 for before, after in pairwise(own))
            assert {(one.epoch, one.magic, one.flags) for one in own} == {(run.epoch, run.magic, run.flags)}
            assert len(own) == 1 or not run.flags & ALONE
            assert run.newest == max(one.newest for one in own)
            assert run.num_lacking == sum(one.num_lacking for one in own)
            assert run.num_data_records == sum(one.num_data_records for one in own)
        assert next(entries, None) is None
        num_entries, num_runs = num_entries + len(singles), num_runs + len(runs)
    assert num_entries > 2 * num_runs


@pytest.mark.parametrize("step", [1, 64, 1 << 15, 1 << 20, 1 << 32, 1 << 40])
def test_producers_are_found_whatever_their_ids(step: int) -> None:
    table = ProducerTable()
    for number in range(2000):
        table.put(number * step, ProducerState(1, number, 10, 0, 7, 0))
    states = [table.get(number * step) for number in range(2000)]
    assert [one and one.last_sequence for one in states] == list(range(2000))
    assert table.get(2000 * step) is None and not table.has_forgotten
    table.lose_sequences()
    assert table.get(3 * step) == ProducerState(1, None, 10, 0, 7, 0)


def test_ids_that_all_fall_on_one_place_are_forgotten_before_memory_runs_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_table, "_MAX_SLOTS", 1 << 10)
    table = ProducerTable()
    ids = [high << 15 ^ high << 32 | low for high in range(40) for low in (0, 1 << 50)]
    for offset, producer_id in enumerate(ids):
        table.put(producer_id, ProducerState(0, 0, offset, 0, 0, 0))
    assert table.num_slots <= 1 << 10
    assert table.get(ids[-1]) is not None


def test_the_producers_that_wrote_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_table, "MAX_PRODUCERS", 100)
    table = ProducerTable()
    for number in range(150):
        table.put(number, ProducerState(0, 0, number, 0, 0, 0))
    assert table.has_forgotten
    kept = [number for number in range(150) if table.get(number) is not None]
    assert kept == list(range(50, 150))
