"""Copies that differ, and whose leader epochs are not known."""

from __future__ import annotations

import pytest
from tests.log.test_copies import play, resolved

from kafka_segments.errors import OptionError


def test_two_that_agree_with_the_leader_and_not_with_each_other() -> None:
    """Found by the property test of copies without lineage: offset 1 of one copy, offset 2 of another."""
    appended: list[tuple[object, ...]] = [("append", 1)]
    actions = [*appended * 2, ("elect", 2), *appended * 3, ("all_fetch", 1), ("fetch", 1, 0), ("elect", 1)]
    cluster = play([*actions, *appended], clean=False)
    with pytest.raises(OptionError, match="the batch at offset 1 differs from the one in m:/1/t-0") as error:
        resolved(cluster.places({0}))
    assert error.value.path == "m:/2/t-0"
