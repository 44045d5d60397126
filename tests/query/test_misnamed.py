"""Segments whose names say otherwise than what is in them: every record comes, once, and it is told why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.query.range_logs import losses, one, run, write
from tests.query.splits import RECORDED, read

from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Bound, Limits, Query

CLEAN = RECORDED / "kafka-4.3" / "clean"


def name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def copied(tmp_path: Path, partition: str, *, is_noted: bool = True) -> Path:
    """A recorded partition, with what a broker notes at the top of the log directory, if that is wanted."""
    shutil.copytree(CLEAN / partition, tmp_path / "data" / partition)
    for noted in CLEAN.glob("*checkpoint") if is_noted else ():
        if noted.is_file():
            shutil.copy(noted, tmp_path / "data")
    return tmp_path / "data" / partition


def swap(directory: Path, one: int, other: int) -> None:
    os.rename(directory / name(one), directory / "x")
    os.rename(directory / name(other), directory / name(one))
    os.rename(directory / "x", directory / name(other))


def all_of(directory: Path, **query) -> tuple[list[int], Findings]:
    """The offsets that all tasks of a plan deliver, in order, and what they and the planner tell."""
    places, told, offsets = Places(), Findings(), []
    made = plan(resolve(places, discover(places, [str(directory)])), Query(**query), places)
    told.findings += made.of(Kind.LOST)
    for split in (split for task in made.tasks for split in task):
        rows, found = read(split, ("offset",))
        offsets += [row[0] for row in rows]
        told.findings += found.findings
    return offsets, told


SMALL = Query(limits=Limits(max_partition_bytes=2000)).limits
CUTS = pytest.mark.parametrize("limits", [Limits(), SMALL, Limits(max_records=20)])


@CUTS
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda log: swap(log, 0, 125), "they belong to"),
        (lambda log: os.rename(log / name(125), log / name(100)), "they belong to"),
        (lambda log: os.rename(log / name(125), log / name(150)), "they belong to"),
        (lambda log: os.rename(log / name(0), log / name(50)), "below its base offset: they are read"),
    ],
    ids=["swapped", "renamed lower", "renamed higher", "first renamed higher"],
)
def test_every_record_comes_once_and_why_is_told(
    tmp_path: Path, spoil: Callable[[Path], None], words: str, limits: Limits
) -> None:
    log = copied(tmp_path, "multi-0")
    spoil(log)
    offsets, told = all_of(log, limits=limits)
    assert offsets == list(range(206))
    assert losses(told) == []
    assert words in "\n".join(map(str, told.of(Kind.NOTE)))


@CUTS
def test_a_turn_of_three_segments(tmp_path: Path, limits: Limits) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, run(100, 20))
    write(log, 100, run(200, 10))
    write(log, 200, run(0, 20))
    offsets, told = all_of(log, limits=limits)
    assert offsets == list(range(250))
    assert losses(told) == []


def test_a_range_is_read_of_swapped_segments(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    swap(log, 0, 125)
    bounds = (
        Bound("offsets", by_partition={("multi", 0): 90}),
        Bound("offsets", by_partition={("multi", 0): 130}),
    )
    offsets, told = all_of(log, start=bounds[0], end=bounds[1])
    assert offsets == list(range(90, 130))
    assert losses(told) == []


def test_where_the_cleaner_was_a_neighbours_records_are_found_too(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, run(0, 4) + run(40, 12))
    write(log, 60, run(100, 2) + run(120, 2))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 3 130\n")
    offsets, told = all_of(log)
    assert offsets == [*range(20), *range(40, 110), *range(120, 130)]
    assert losses(told) == []
    assert "overlap: offsets 60 to 99 are stored here" in "\n".join(map(str, told.of(Kind.NOTE)))


def test_copies_of_the_same_records_come_once(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, run(0, 20))
    write(log, 60, run(60, 30))
    offsets, told = all_of(log)
    assert offsets == list(range(210))
    assert losses(told) == []
    (note,) = told.of(Kind.NOTE)
    assert "overlap: offsets 60 to 99 are stored here, from the next segment's, 60, on" in note.detail


def test_what_stands_too_low_and_is_read_by_nobody_is_lost(tmp_path: Path) -> None:
    """The segment that these offsets belong to has entries on both sides of them."""
    log = tmp_path / "topic-3"
    write(log, 0, run(0, 20))
    write(log, 60, one(60) + one(75) + run(100, 2))
    offsets, told = all_of(log)
    assert offsets == [*range(65), *range(75, 80), *range(100, 110)]
    assert losses(told) == [(65, 74), (80, 99)]


def test_what_lies_below_all_names_and_not_in_the_first_segment_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 100, run(100, 4))
    write(log, 120, run(0, 2) + run(120, 2))
    offsets, told = all_of(log)
    assert offsets == list(range(100, 130))
    assert losses(told) == [(0, 9)]


def test_what_lies_below_the_log_start_offset_is_deleted(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    (log.parent / "log-start-offset-checkpoint").write_text("0\n1\nmulti 0 40\n")
    os.rename(log / name(0), log / name(50))
    offsets, told = all_of(log)
    assert offsets == list(range(40, 206))
    assert losses(told) == []


@CUTS
def test_a_segment_that_is_gone_is_lost(tmp_path: Path, limits: Limits) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, run(0, 20))
    write(log, 200, run(200, 10))
    offsets, told = all_of(log, limits=limits)
    assert offsets == [*range(100), *range(200, 250)]
    assert {offset for first, last in losses(told) for offset in range(first, last + 1)} == set(
        range(100, 200)
    )


def moved(batch: bytes, base_offset: int) -> bytes:
    """A batch with another base offset, which no checksum covers."""
    return base_offset.to_bytes(8, "big") + batch[8:]


def test_what_strays_into_a_batch_that_the_cleaner_has_thinned_out_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, moved(one(0, 2), 42) + one(5, 2))
    thinned_out = batch(40, [record(0, b"a", b"b"), record(4, b"c", b"d")], count=2, last_offset_delta=4)
    write(log, 40, thinned_out + one(50, 2))
    offsets, told = all_of(log)
    assert offsets == [5, 6, 40, 44, 50, 51]
    assert (42, 43) in losses(told)


def test_what_strays_in_the_middle_of_a_segment_is_found_by_nobody_and_lost(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, one(0) + moved(one(5), 9000) + one(10, 2) + one(12, 3))
    write(log, 15, one(15) + one(20))
    os.rename(log / name(15), log / name(600))  # it begins with offsets below its name
    offsets, told = all_of(log)
    assert offsets == [*range(5), *range(10, 25)]
    assert (9000, 9004) in losses(told)


def test_what_strays_is_lost_beside_a_damaged_copy_of_itself(
    tmp_path: Path,
) -> None:
    log, stray = tmp_path / "topic-3", moved(one(5), 9000)
    write(log, 0, one(0) + stray + one(10))
    write(log, 5, one(0) + stray[:-1] + b"\xff" + one(10))
    offsets, told = all_of(log)
    assert offsets == [*range(5), *range(10, 15)]
    assert (9000, 9004) in losses(told)


def test_what_is_missing_before_offsets_that_a_newest_empty_segment_lacks_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, one(0))
    write(log, 5, one(20))
    write(log, 10, one(10))
    write(log, 15, b"")
    offsets, told = all_of(log)
    assert offsets == [*range(5), *range(10, 15)]
    assert (15, 24) in losses(told)
