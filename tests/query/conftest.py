"""Each test begins as a process does that has looked into no segment yet."""

from __future__ import annotations

from itertools import count

import pytest

from kafka_segments.log import log_end, segment_extents


@pytest.fixture(autouse=True)
def no_segments_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled scanner is loaded after so many small segments; what came before does not count."""
    monkeypatch.setattr(segment_extents, "_num_asked", count())
    monkeypatch.setattr(log_end, "_num_small", count())
