"""Offsets around 0: what is noted of entries does not depend on the windows that they are read in."""

from __future__ import annotations

import pytest
from tests.made.build import batch, record

from kafka_segments import open_segment
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.scan import scanner


@pytest.mark.parametrize("len_window", [100, scanner._LEN_FIRST_WINDOW])
@pytest.mark.parametrize(("base", "first"), [(-1, -1), (-5, 8), (3, 3)])
def test_the_first_offset_is_of_the_first_entry_that_reaches_the_segments_own(
    base: int, first: int, len_window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", len_window)
    monkeypatch.setattr(scanner, "_LEN_WINDOW", len_window)
    data = batch(base, [record(at) for at in range(3)]) + batch(8, [record(0), record(1)])
    coverage = OffsetCoverage()
    with open_segment(data) as segment:
        for _ in segment.iter_columnar(["offset"], (None, None), None, ReadRange(coverage=coverage)):
            pass
    assert (coverage.first, coverage.last) == (first, 9)
