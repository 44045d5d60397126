"""No times of small segments are known when a test begins, whatever was read before."""

from __future__ import annotations

import pytest

from kafka_segments.log import segment_extents


@pytest.fixture(autouse=True)
def no_times_yet() -> None:
    segment_extents._kept_times.clear()
