"""What is told where the reading of committed records stops: nothing, unless damage has a part in it."""

from __future__ import annotations

from pathlib import Path

from tests.segment.logs import Log
from tests.segment.test_cases import P, broken, read

from kafka_segments import Damage
from kafka_segments.errors import SegmentOrderError
from kafka_segments.log.open_partition import open_partition


def test_an_open_transaction_with_a_doubt_in_front_says_why_the_reading_stops(tmp_path: Path) -> None:
    """Its first part may have ended in the damage; the second one is open without any doubt."""
    log = Log()
    log.data(-1, transactional=False)
    log.data(P)
    broken(log.commit(P))
    log.data(-1, transactional=False)
    log.data(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert [one.damage for one in partition.open_transactions()] == [None]
        assert partition.last_stable_offset == 1
        offsets, damage = read(partition)
        assert offsets == [0]
        assert ["counts as open" in str(one.error) for one in damage] == [True]
        assert (damage[0].first_lost_offset, damage[0].last_lost_offset) == (1, 4)
        events = list(partition.iter_events(isolation="read_committed", on_damage="skip"))
        assert [one.first_lost_offset for one in events if isinstance(one, Damage)] == [1]


def test_an_open_transaction_without_a_doubt_is_no_damage(tmp_path: Path) -> None:
    log = Log()
    log.data(-1, transactional=False)
    log.data(P)
    broken(log.data(P, 2))
    log.data(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert [one.damage for one in partition.open_transactions()] == [None]
        assert read(partition) == ([0], [])


def test_an_open_transaction_of_lower_offsets_than_the_damage_before_it_is_in_doubt(tmp_path: Path) -> None:
    """No checksum covers the base offset, for which the reading stops before the damage."""
    log = Log()
    log.data(-1, 10, transactional=False)
    broken(log.data(-1, transactional=False))
    log.offset = 5
    log.data(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.last_stable_offset == 5
        offsets, damage = read(partition)
        assert offsets == [0, 1, 2, 3, 4]
        assert isinstance(damage[0].error, SegmentOrderError)  # 5 behind 9
        assert [(one.first_lost_offset, one.last_lost_offset) for one in damage] == [(None, None), (5, 9)]
