"""Times in segments whose names say otherwise than what is in them: nothing is left out for them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.query.logs import RECORDED, Row, planned, splits_of
from tests.query.splits import read

from kafka_segments.log.open_partition import open_partition
from kafka_segments.query.query import Condition, Query, at_timestamp

MULTI = RECORDED / "kafka-4.3" / "clean" / "multi-0"
SUFFIXES = ("log", "index", "timeindex")


def move(directory: Path, base_offset: int | str, other: int | str) -> None:
    """Rename a segment with its indexes, as whoever restores files by hand does."""
    for suffix in SUFFIXES:
        before, after = (f"{one:0>20}.{suffix}" for one in (base_offset, other))
        os.rename(directory / before, directory / after)


def swap(directory: Path) -> None:
    move(directory, 0, "x")
    move(directory, 125, 0)
    move(directory, "x", 125)


def cut(directory: Path) -> None:
    """Let the first segment end early, and the second one hold its offsets, too."""
    content = b"".join((directory / f"{base:020d}.log").read_bytes() for base in (0, 125))
    with open_partition(MULTI) as partition:
        first = [one for one in partition.iter_events() if hasattr(one, "end_position")][2]
    (directory / f"{0:020d}.log").write_bytes(content[: first.end_position])
    (directory / f"{125:020d}.log").write_bytes(content[first.end_position :])
    for index in (*directory.glob("*.index"), *directory.glob("*.timeindex")):
        index.unlink()


SPOILT = pytest.mark.parametrize(
    "spoil",
    [
        swap,
        lambda log: move(log, 125, 100),
        lambda log: move(log, 125, 150),
        lambda log: move(log, 0, 50),
        cut,
    ],
    ids=["swapped", "renamed lower", "renamed higher", "first renamed higher", "first cut, second overlaps"],
)


@pytest.fixture(name="rows", scope="module")
def all_of_multi() -> list[Row]:
    with open_partition(MULTI) as partition:
        table = partition.read_table(["offset", "timestamp"])
    offsets = table.column("offset").to_pylist()
    return list(zip(offsets, table.column("timestamp").cast("int64").to_pylist(), strict=True))


def spoilt(tmp_path: Path, spoil: Callable[[Path], None]) -> Path:
    directory = tmp_path / "multi-0"
    shutil.copytree(MULTI, directory)
    spoil(directory)
    return directory


def offsets_read(directory: Path, query: Query) -> list[int]:
    made = planned(directory, query)
    return [row[0] for split in splits_of(made) for row in read(split, ("offset",))[0]]


@SPOILT
@pytest.mark.parametrize("skew", [None, 0])
def test_records_come_whatever_their_times(
    tmp_path: Path, spoil: Callable[[Path], None], rows: list[Row], skew: int | None
) -> None:
    directory = spoilt(tmp_path, spoil)
    times = sorted({time for _offset, time in rows})
    for at in range(0, len(times), 20):
        for condition in (
            Condition("timestamp", times[at], None),
            Condition("timestamp", None, times[at]),
            Condition("timestamp", times[at], times[at]),
        ):
            query = Query(conditions=(condition,), max_timestamp_skew_ms=skew)
            wanted = {offset for offset, time in rows if condition.holds(time)}
            assert wanted <= set(offsets_read(directory, query)), condition


@SPOILT
def test_reading_from_a_time_begins_where_the_record_is(
    tmp_path: Path, spoil: Callable[[Path], None], rows: list[Row]
) -> None:
    directory = spoilt(tmp_path, spoil)
    for time in sorted({time for _offset, time in rows})[::20]:
        first = min(offset for offset, other in rows if other >= time)
        wanted = [offset for offset, _time in rows if offset >= first]
        assert offsets_read(directory, Query(start=at_timestamp(time))) == wanted


def test_segments_with_true_names_are_still_left_out(rows: list[Row]) -> None:
    late = Query(conditions=(Condition("timestamp", max(time for _offset, time in rows), None),))
    assert [split.start for split in splits_of(planned(MULTI, late))] >= [125]
