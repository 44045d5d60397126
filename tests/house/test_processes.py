"""Tests of one kind run in one process: else each of `make test`'s processes would start a Spark session."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("house")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="only of meaning where tests are spread")
def test_groups_reach_the_scheduler(request: pytest.FixtureRequest) -> None:
    # pytest-xdist tells its scheduler of a group by the end of the test's id.
    assert request.node.nodeid.endswith("@house")
