"""At the end of all offsets: no sum may wrap around, and hide a record or hand it out twice."""

from __future__ import annotations

import pytest
from tests.made.build import batch, record
from tests.ways import compiled, interpreted

from kafka_segments import Batch, open_segment
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar import reader
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.transactions.markers import iter_steps
from kafka_segments.core.segment.transactions.state import DataBatch
from kafka_segments_generated.columns import kafka_log_segment

HIGHEST = (1 << 63) - 1
BEFORE = HIGHEST - 1 - 2 * 40


def log() -> bytes:
    """Batches of two up to the end, and one that goes beyond it."""
    pairs = [batch(BEFORE + 2 * at, [record(0), record(1)]) for at in range(40)]
    return b"".join([*pairs, batch(HIGHEST - 1, [record(at) for at in range(3)])])


@pytest.fixture(params=["whole", "fused"])
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    if request.param == "fused":
        monkeypatch.setattr(reader, "_COMPILED_FROM", 0)
        monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 200)
    return log()


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("cut", [HIGHEST, HIGHEST - 1, HIGHEST - 2, HIGHEST - 7])
def test_a_cut_near_the_end(data: bytes, cut: int, is_shared: bool) -> None:
    def offsets(start: int | None, end: int | None) -> list[int]:
        read_range = ReadRange(is_shared=True) if is_shared else None
        with open_segment(data) as segment:
            events = segment.iter_columnar(["offset"], (start, end), None, read_range)
            tables = [one.column("offset").to_pylist() for one in events if hasattr(one, "num_rows")]
        return [offset for table in tables for offset in table]

    expected = list(range(BEFORE, HIGHEST + 1))
    assert [offset for offset in offsets(None, cut) if offset > 0] == [one for one in expected if one < cut]
    assert [offset for offset in offsets(cut, None) if offset > 0] == [one for one in expected if one >= cut]


def test_an_entry_that_was_read_slowly_ends_where_it_begins_at_the_least() -> None:
    with open_segment(batch(7, last_offset_delta=-3)) as segment:
        (entry,) = segment.iter_entries()
    assert isinstance(entry, Batch)
    coverage = OffsetCoverage()
    coverage.entries(row_of(entry, kafka_log_segment))
    assert (coverage.first, coverage.last) == (7, 7)


def test_a_transaction_that_reaches_beyond_the_end_is_told_alike() -> None:
    """Kafka adds last offsets up in longs (DefaultRecordBatch.lastOffset); so do both ways."""
    data = batch(
        HIGHEST - 1, [record(at) for at in range(3)], attributes=0x10, producer_id=7, last_offset_delta=2
    )
    source = open_source(data)
    for way in (compiled, interpreted):
        with way():
            steps = list(iter_steps(source, check_crc=True, max_decompressed=1 << 20))
        assert [step.last_offset for step in steps if isinstance(step, DataBatch)] == [HIGHEST - 1]
