"""Copies that must be the same, and those that need not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ranges.logs import one, run, write
from tests.ranges.splits import RECORDED, split_of, stored
from tests.runtime.build import batch, record

from kafka_segments.errors import ReplicaMismatchError
from kafka_segments.places import Places
from kafka_segments.ranges.comparing import compare_copies


def compare(tmp_path: Path, first: bytes, second: bytes, start: int = 0, end: int | None = None) -> int:
    segments = [stored(write(tmp_path / name, 0, data)) for name, data in (("a", first), ("b", second))]
    return compare_copies(split_of(segments[0], start, end, others=(segments[1],)), Places())


def test_equal_copies(tmp_path: Path) -> None:
    assert compare(tmp_path, run(0, 20), run(0, 20)) == 20
    assert compare(tmp_path, run(0, 20), run(0, 12)) == 12
    assert compare(tmp_path, run(0, 20), run(0, 20), 33, 71) == 9


@pytest.mark.parametrize(
    "fields",
    [
        {"producer_id": 4},
        {"base_sequence": 4},
        {"producer_epoch": 4},
        {"attributes": 8},
        {"attributes": 16},
        {"last_offset_delta": 5},
    ],
    ids=str,
)
def test_what_the_cleaner_keeps_must_be_equal(tmp_path: Path, fields: dict) -> None:
    records = [record(at) for at in range(5)]
    other = batch(50, records, **{"count": 5, "last_offset_delta": 4} | fields)
    with pytest.raises(ReplicaMismatchError) as caught:
        compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9))
    error = caught.value
    assert error.offset == 50
    assert error.path is not None and error.path.endswith(f"a/{0:020}.log")
    assert error.other_path is not None and error.other_path.endswith(f"b/{0:020}.log")
    assert (error.position, error.other_position) == (len(run(0, 10)), len(run(0, 10)))
    assert error.other_path in str(error) and error.path in str(error)


def test_other_records_under_the_same_header(tmp_path: Path) -> None:
    other = batch(50, [record(at, b"k", b"?") for at in range(5)], count=5, last_offset_delta=4)
    with pytest.raises(ReplicaMismatchError, match="crc"):
        compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9))
    assert compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9), 0, 50) == 10


def test_another_epoch_is_for_lineage_to_judge(tmp_path: Path) -> None:
    other = one(50, leader_epoch=3, producer_id=9)
    assert compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9)) == 19


def test_a_copy_that_was_cleaned_is_the_same(tmp_path: Path) -> None:
    kept = batch(50, [record(0), record(3)], count=2, last_offset_delta=4)
    assert compare(tmp_path, run(0, 20), run(0, 10) + kept + run(60, 8)) == 19


CLEANED = [
    (before, RECORDED / "kafka-4.3" / "clean" / before.parent.name / before.name)
    for before in sorted((RECORDED / "kafka-4.3" / "before-cleaning").glob("*/*.log"))
]
BOTH = [pair for pair in CLEANED if pair[0].stat().st_size and pair[1].exists()]


def test_there_are_some() -> None:
    assert len(BOTH) >= 4


@pytest.mark.parametrize("pair", BOTH, ids=lambda pair: f"{pair[0].parent.name}-{pair[0].stem[-5:]}")
def test_what_a_real_cleaner_left(pair: tuple[Path, Path]) -> None:
    before, after = map(stored, pair)
    split = split_of(before, before.base_offset, None, others=(after,))
    num_same = compare_copies(split, Places())
    assert num_same > 0 or "emptied" in pair[0].parent.name
