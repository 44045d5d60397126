"""Whole segments that are lost, and lost records that are known by their producer's sequence numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.segment import logs
from tests.segment.logs import TRANSACTIONAL, Log
from tests.segment.test_cases import P, Q, broken, read
from tests.segment.test_segment import redpanda
from tests.ways import compiled, interpreted

from kafka_segments import Damage
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.transactions.markers import iter_steps
from kafka_segments.errors import ReadError, TransactionInDoubtError, UnknownFormatError
from kafka_segments.log.open_partition import open_partition


@pytest.mark.parametrize("way", ["records", "indexes"])
@pytest.mark.parametrize("spoil", ["missing", "foreign"])
def test_a_segment_that_cannot_be_opened_is_damage(tmp_path: Path, way: str, spoil: str) -> None:
    log = Log()
    log.data(P, 2)
    log.data(Q)
    log.commit(Q)
    log.roll()
    log.abort(P)
    log.data(Q)
    log.roll()
    log.data(P)
    log.commit(P)
    log.commit(Q)
    folder = log.write(tmp_path)
    logs.write_indexes(log, folder)
    lost = folder / f"{4:020d}.log"
    with open_partition(folder, outcomes_from=way) as partition:  # type: ignore[arg-type]
        lost.write_bytes(redpanda(4)) if spoil == "foreign" else lost.unlink()
        (doubt,) = partition.doubtful_transactions()
        assert (doubt.producer_id, doubt.first_offset, doubt.last_offset) == (P, 0, 1)
        assert (partition.outcome.damage[0].path, partition.outcome.damage[0].position) == (str(lost), 0)
        assert partition.check_indexes() == [], "there is nothing to hold its index against"
        offsets, damage = read(partition)
        assert offsets == [2, 6]
        kind = ReadError if spoil == "missing" else UnknownFormatError
        assert [type(one.error) for one in damage] == [TransactionInDoubtError, kind]
        assert (damage[1].first_lost_offset, damage[1].last_lost_offset) == (4, 5)
        with pytest.raises(kind):
            partition.read_table()
        told: list[Damage] = []
        table = partition.read_table(["offset"], on_damage=told.append)
        assert table["offset"].to_pylist() == [0, 1, 2, 6] and len(told) == 1
        assert partition.read_table(["offset"], (6, None))["offset"].to_pylist() == [6]


def test_a_newest_segment_that_cannot_be_opened_keeps_open_what_is(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    log.commit(P)
    log.data(P)
    log.roll()
    log.commit(P)
    folder = log.write(tmp_path)
    (folder / f"{3:020d}.log").unlink()
    (folder / f"{3:020d}.log").symlink_to("nowhere")
    with open_partition(folder) as partition:
        assert partition.last_stable_offset == 2
        (still_open,) = partition.open_transactions()
        assert still_open.damage is not None and still_open.damage.last_lost_offset is None
        offsets, damage = read(partition)
        assert offsets == [0]
        assert ["counts as open" in str(one.error) for one in damage] == [True]


@pytest.mark.parametrize("sequence", [0, 2**31 - 2, -1, -2, -(2**31)])
def test_both_ways_count_sequences_alike(sequence: int) -> None:
    for delta in (0, 3, -1, -(2**31), 2**31 - 1):
        odd = batch(
            0,
            [record(0)],
            attributes=TRANSACTIONAL,
            producer_id=P,
            producer_epoch=0,
            base_sequence=sequence,
            last_offset_delta=delta,
        )
        source = open_source(odd)
        with compiled():
            steps = list(iter_steps(source, check_crc=True, max_decompressed=1 << 20))
        with interpreted():
            assert list(iter_steps(source, check_crc=True, max_decompressed=1 << 20)) == steps


def test_lost_records_are_counted_beyond_the_highest_sequence(tmp_path: Path) -> None:
    log = Log(_sequences={P: 2**31 - 2})
    log.data(P)
    broken(log.data(P, 2))
    log._sequences[P] = 1
    log.data(P)
    log.commit(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.doubtful_transactions() == ()
