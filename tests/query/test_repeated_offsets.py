"""Offsets that repeat or fall inside a segment: a reader's position is behind what it was given."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.query.range_logs import losses, offsets, one, run, write
from tests.query.splits import split_of, stored

from kafka_segments.core.segment.columnar import reader
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.query.read.rows_in_order import MonotoneOffsets


def told_of(told: Findings) -> list[tuple[str, str]]:
    return [(note.path, note.detail) for note in told.of(Kind.NOTE)]


@pytest.mark.parametrize(("start", "end"), [(0, None), (1, None), (0, 15), (3, 15)])
def test_a_batch_that_stands_there_twice_comes_once(tmp_path: Path, start: int, end: int | None) -> None:
    path = write(tmp_path, 0, one(0) + one(0) + one(5) + one(10))
    got, told = offsets(split_of(stored(path), start, end))
    assert got == list(range(start, 15))
    assert losses(told) == []
    ((where, detail),) = told_of(told)
    assert where == str(path)
    assert f"{5 - start} records with offsets {start} to 4 follow greater ones, or are duplicates" in detail


def test_a_stretch_that_stands_there_twice_comes_once_in_small_batches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, 0, run(0, 40) + run(100, 30) + run(250, 2))
    for fused in (reader._COMPILED_FROM, 0):
        monkeypatch.setattr(reader, "_COMPILED_FROM", fused)
        got, told = offsets(split_of(stored(path), 0, None))
        assert got == list(range(260))
        assert losses(told) == []
        assert told.of(Kind.NOTE)


@pytest.mark.parametrize("cleaned_up_to", [None, 1 << 62])
def test_offsets_that_fall_are_left_out_and_lost(tmp_path: Path, cleaned_up_to: int | None) -> None:
    path = write(tmp_path, 0, one(10, 2) + one(3, 2) + one(12, 2))
    got, told = offsets(split_of(stored(path), 3, None, cleaned_up_to=cleaned_up_to))
    assert got == [10, 11, 12, 13]
    assert (3, 4) in losses(told)
    assert len(told.of(Kind.NOTE)) == 1


def test_a_base_offset_that_is_too_great_hides_nothing_without_a_word(tmp_path: Path) -> None:
    path = write(tmp_path, 0, run(0, 5) + one(9000) + run(30, 3))  # no checksum covers it: it was 25
    got, told = offsets(split_of(stored(path), 0, None))
    assert got == [*range(25), *range(9000, 9005)]
    assert losses(told) == [(30, 44)]
    assert "not known duplicates" in told.of(Kind.LOST)[0].detail


@pytest.mark.parametrize("fused_from", [reader._COMPILED_FROM, 0])
def test_what_stands_behind_greater_offsets_below_the_range_is_told(
    tmp_path: Path, fused_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_COMPILED_FROM", fused_from)
    path = write(tmp_path, 0, run(0, 20) + one(3, 2) + run(100, 4) + one(20, 2) + run(120, 2))
    got, told = offsets(split_of(stored(path), 50, None))
    assert got == list(range(50, 130))
    ((where, detail),) = told_of(told)
    assert where == str(path)
    assert "entries with offsets 3 to 21 follow greater ones; they are below what is read" in detail


def test_what_lies_before_the_range_as_it_should_is_not_told(tmp_path: Path) -> None:
    path = write(tmp_path, 0, run(0, 20))
    got, told = offsets(split_of(stored(path), 53, None))
    assert got == list(range(53, 100))
    assert not told.of(Kind.NOTE) and not told.of(Kind.LOST)


@pytest.mark.parametrize("fused_from", [reader._COMPILED_FROM, 0])
@pytest.mark.parametrize("before", [b"", run(0, 2)])
def test_records_with_negative_offsets_are_lost(
    tmp_path: Path, before: bytes, fused_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_COMPILED_FROM", fused_from)
    path = write(tmp_path, 0, before + one(-(1 << 62), 2) + one(10, 2))
    got, told = offsets(split_of(stored(path), 0, None, cleaned_up_to=1 << 62))
    assert got == [*([*range(10)] if before else []), 10, 11]
    # What is missing in its place is lost; where nothing is, the records of the offsets that it has.
    assert losses(told) == ([(-(1 << 62), 1 - (1 << 62))] if before else [(0, 9)])
    assert (
        f"entries with offsets from {-(1 << 62)} on: offsets cannot be negative"
        in told.of(Kind.LOST)[0].detail
    )


def test_of_a_batch_that_begins_below_zero_the_rest_comes(tmp_path: Path) -> None:
    path = write(tmp_path, 0, one(-2, 5) + one(3, 2))
    got, told = offsets(split_of(stored(path), 0, None))
    assert got == [0, 1, 2, 3, 4]
    assert losses(told) == [(-2, -1)]


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"offset": pa.array(values, pa.int64())})


@pytest.mark.parametrize(
    ("parts", "expected", "new"),
    [
        ([(0, 1, 2), (3, 4)], [0, 1, 2, 3, 4], []),
        ([(0, 5, 9), (12, 20)], [0, 5, 9, 12, 20], []),
        ([(0, 1), (0, 1), (2,)], [0, 1, 2], [None]),
        ([(0, 1, 0, 1, 2)], [0, 1, 2], [None]),
        ([(0, 1), (1, 2)], [0, 1, 2], [None]),
        ([(0, 1, 0, 1, 10)], [0, 1, 10], [None]),
        ([(0, 1, 10), (0, 1, 10), (11,)], [0, 1, 10, 11], [None]),
        ([(0, 1, 10), (11,), (12, 20), (1, 2, 12, 21)], [0, 1, 10, 11, 12, 20, 21], [(2, 2)]),
        ([(4, 4, 4)], [4], [None]),
        ([(0, 1, 7), (5, 6, 7, 8)], [0, 1, 7, 8], [(5, 6)]),
        ([(10,), (3,), (11,)], [10, 11], [(3, 3)]),
        ([(0, 9, 3, 4, 10)], [0, 9, 10], [(3, 4)]),
    ],
)
def test_rows_that_are_ahead(parts: list[tuple[int, ...]], expected: list[int], new: list) -> None:
    ahead, found, told = MonotoneOffsets(), [], []
    for part in parts:
        rows, skipped = ahead.of(batch(*part))
        found += [] if rows is None else rows.column("offset").to_pylist()
        told += [] if skipped is None else [skipped]
    assert found == expected
    assert [skipped.new for skipped in told] == new
    assert sum(skipped.num_rows for skipped in told) == sum(map(len, parts)) - len(expected)
