"""A log whose end is open, and changes between planning and reading: what was there is read, or is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.made.build import batch, message, record
from tests.query.logs import PLACES
from tests.query.range_logs import losses, offsets, partition, run, write

from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import Split
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Limits, Query

NEWEST = f"{200:020}.log"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return partition(tmp_path)


def splits(*directories: Path, **limits: int) -> list[Split]:
    logs = resolve(PLACES, discover(PLACES, [str(directory) for directory in directories]))
    made = plan(logs, Query(limits=Limits(**limits)), PLACES)
    return [split for task in made.tasks for split in task]


def read_all(planned: list[Split]) -> tuple[list[int], Findings]:
    """Offsets of some splits, and what was told of the last one."""
    found, told = [], Findings()
    for split in planned:
        got, told = offsets(split)
        found += got
    return found, told


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def delete(log: Path) -> None:
    (log / NEWEST).unlink()


def empty(log: Path) -> None:
    (log / NEWEST).write_bytes(b"")


def truncate(log: Path) -> None:
    write(log, 200, run(200, 4))


def swap(log: Path) -> None:
    (log / "new").write_bytes(run(200, 4))
    (log / "new").rename(log / NEWEST)


def swap_for_a_larger_one(log: Path) -> None:
    (log / "new").write_bytes(run(200, 4) + bytes(9000))
    (log / "new").rename(log / NEWEST)


CHANGES = {
    delete: 200,
    empty: 200,
    truncate: 220,
    swap: 220,
    swap_for_a_larger_one: 220,
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("limits", [{}, {"max_records": 30}, {"max_partition_bytes": 700}], ids=str)
def test_what_the_newest_segment_had_is_lost(
    log: Path, change: Callable[[Path], None], limits: dict[str, int]
) -> None:
    planned = splits(log, **limits)
    change(log)
    found, told = [], []
    for split in planned:
        got, one_told = offsets(split)
        found += got
        told += losses(one_told)
    assert found == list(range(CHANGES[change]))
    assert [told[0][0], told[-1][1]] == [CHANGES[change], 249]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_the_newest_segment_had_is_read_from_another_copy(
    log: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    copy = tmp_path / "other" / "topic-3"
    shutil.copytree(log, copy)
    planned = splits(log, copy)
    change(Path(planned[-1].segment.file.path).parent)
    found, told = read_all(planned)
    assert found == list(range(250))
    assert told.of(Kind.LOST) == []


def test_segments_that_were_rolled_otherwise_are_read_to_the_end(log: Path) -> None:
    planned = splits(log)
    (log / "new").write_bytes(run(200, 4))
    (log / "new").rename(log / NEWEST)
    write(log, 220, run(220, 3))
    write(log, 235, run(235, 5))  # two batches more than there were
    found, told = read_all(planned)
    assert found == list(range(250))
    assert told.of(Kind.LOST) == []


@pytest.mark.parametrize("limits", [{}, {"max_records": 30}], ids=str)
def test_what_is_appended_later_is_not_read(log: Path, limits: dict[str, int]) -> None:
    planned = splits(log, **limits)
    write(log, 200, run(200, 30))
    write(log, 350, run(350, 3))
    found, told = read_all(planned)
    assert found == list(range(250))
    assert told.of(Kind.LOST) == told.of(Kind.DAMAGE) == told.of(Kind.PENDING) == []


def test_what_is_appended_to_an_empty_log_is_not_read(tmp_path: Path) -> None:
    directory = tmp_path / "topic-3"
    write(directory, 7, b"")
    planned = splits(directory)
    write(directory, 7, run(7, 3))
    assert read_all(planned) == ([], Findings())


def test_a_batch_that_was_pending_and_is_whole_now_is_not_read(log: Path) -> None:
    write(log, 200, run(200, 10)[:-3])
    planned = splits(log)
    found, told = read_all(planned)
    assert (found, len(told.of(Kind.PENDING))) == (list(range(245)), 1)
    write(log, 200, run(200, 12))
    assert read_all(planned)[0] == list(range(245))


def test_damage_at_the_end_is_told_also_where_the_log_went_on(log: Path) -> None:
    data = bytearray(run(200, 10))
    data[-1] ^= 1
    write(log, 200, bytes(data))
    planned = splits(log)
    assert planned[-1].reached == 245
    for more in (b"", run(250, 3)):
        write(log, 200, bytes(data) + more)
        found, told = read_all(planned)
        assert (found, len(told.of(Kind.DAMAGE)), told.of(Kind.LOST)) == (list(range(245)), 1, [])


def test_what_the_cleaner_may_have_taken_is_no_loss(log: Path) -> None:
    planned = [replace(split, cleaned_up_to=1 << 62) for split in splits(log)]
    (log / "new").write_bytes(run(200, 4))
    (log / "new").rename(log / NEWEST)
    write(log, 250, run(250, 2))
    found, told = read_all(planned)
    assert (found, told.of(Kind.LOST)) == (list(range(220)), [])


ENDS = {
    "whole": (run(200, 5), 225),
    "a damaged batch at the end": (run(200, 4) + flipped(run(220, 1)), 220),
    "a damaged batch before others": (flipped(run(200, 1)) + run(205, 4), 225),
    "a batch cut off": (run(200, 5)[:-7], 220),
    "zeros": (run(200, 4) + bytes(4096), 220),
    "nothing": (b"", 200),
    "offsets below the name": (run(100, 5), None),
    "a message of an old format": (run(200, 4) + message(220), 221),
}


@pytest.mark.parametrize("content", ENDS)
def test_the_end_of_a_small_segment_is_found(log: Path, content: str) -> None:
    data, end = ENDS[content]
    write(log, 200, data)
    (segment,) = (split.segment for split in splits(log)[-1:])
    assert find_reached(PLACES, segment) == end


def test_headers_that_leave_the_end_open_tell_nothing(log: Path) -> None:
    (segment,) = (split.segment for split in splits(log)[-1:])
    assert find_reached(PLACES, segment) == 250
    write(log, 200, run(200, 2) + batch(210, [record(0), record(1)], count=2, last_offset_delta=0))
    assert find_reached(PLACES, segment) is None
