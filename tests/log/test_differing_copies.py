"""Copies that differ, and whose leader epochs are not known."""

from __future__ import annotations

import pytest
from tests.log.test_copies import held, play, resolved


@pytest.mark.xfail(reason="two copies without leader epochs that differ before the end of the shorter one")
def test_a_log_is_not_made_of_two_that_differ() -> None:
    """Found by the property test of copies without lineage: offset 1 of one copy, offset 2 of another."""
    appended: list[tuple[object, ...]] = [("append", 1)]
    actions = [*appended * 2, ("elect", 2), *appended * 3, ("all_fetch", 1), ("fetch", 1, 0), ("elect", 1)]
    cluster = play([*actions, *appended], clean=False)
    places = cluster.places({0})
    found = held(places, resolved(places))
    assert found[1] == (3, 1) or 2 not in found
