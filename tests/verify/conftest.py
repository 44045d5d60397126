"""What the tests of `verify` share."""

from __future__ import annotations

import pytest

from kafka_segments.core.segment.verified import verified_tables
from kafka_segments.errors import MissingExtraError


@pytest.fixture(params=("tables", "entries"))
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Verify in tables, or entry by entry as without numba."""
    if request.param == "entries":

        def missing(*_arguments: object, **_options: object) -> None:
            raise MissingExtraError("not installed", extra="arrow")

        monkeypatch.setattr(verified_tables, "iter_tables_verified", missing)
    return str(request.param)
