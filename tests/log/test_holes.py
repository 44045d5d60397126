"""Segments that a copy has lost from its middle, and other copies have."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.log.cluster import Cluster
from tests.log.test_copies import held, of_truth, resolved


def rolled(*bases: list[int]) -> Cluster:
    """Replicas with 12 batches of 10 offsets, and their segments."""
    cluster = Cluster(len(bases))
    for _ in range(12):
        cluster.append(10)
    for number, own in enumerate(bases):
        cluster.fetch(number, 100)
        cluster.replicas[number].bases = own
    return cluster


ALIKE = [0, 30, 40, 80, 100]


@pytest.mark.parametrize("lost", [[30], [40], [80], [30, 40], [40, 80]], ids=str)
@pytest.mark.parametrize(
    "others",
    [[ALIKE], [[0, 50, 90]], [[0], [0, 20, 60]], [[70], [0, 70]]],
    ids=["alike", "longer", "mixed", "halves"],
)
def test_a_segment_lost_in_the_middle_is_filled_from_other_copies(
    lost: list[int], others: list[list[int]]
) -> None:
    """Where another copy rolled in between; else its reader finds it (tests/query)."""
    cluster = rolled(ALIKE, *others)
    places = cluster.places()
    for base in lost:
        del places.files[f"m:/0/t-0/{base:020}.log"]
    log = resolved(places)
    if any(set(own) & set(range(min(lost), max(lost) + 10)) for own in others):
        assert held(places, log) == of_truth(cluster)
    assert all(one.end == other.start for one, other in pairwise(log.pieces))


def test_what_no_copy_has_stays_with_the_one_before_it() -> None:
    cluster = rolled(ALIKE, ALIKE)
    places = cluster.places()
    for number in (0, 1):
        del places.files[f"m:/{number}/t-0/{40:020}.log"]
    log = resolved(places)
    assert held(places, log).keys() == set(range(40)) | set(range(80, 120))
    assert [(piece.start, piece.end) for piece in log.pieces] == [(0, 30), (30, 80), (80, 100), (100, None)]


def test_a_hole_is_looked_for_where_there_may_be_one() -> None:
    cluster = rolled(ALIKE, [0, 30, 50, 80, 100])
    places = cluster.places()
    assert held(places, resolved(places)) == of_truth(cluster)
    opened = {path for word, path in places.asked if word == "open" and path.endswith(".log")}
    assert {f"m:/0/t-0/{30:020}.log", f"m:/0/t-0/{0:020}.log"}.isdisjoint(opened)


def test_where_the_cleaner_was_there_are_no_holes() -> None:
    cluster = rolled(ALIKE, ALIKE)
    places = cluster.places()
    places.files["m:/1/cleaner-offset-checkpoint"] = (b"0\n1\nt 0 30\n", 0)
    del places.files[f"m:/0/t-0/{40:020}.log"], places.files[f"m:/1/t-0/{40:020}.log"]
    assert [piece.start for piece in resolved(places).pieces] == [0, 30, 80, 100]
