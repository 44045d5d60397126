"""Cuts: each offset in one split, whatever the indexes say; small ones together."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.query import logs
from tests.query.logs import PLACES, Entry

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.log.model import PartitionLog, Split, StoredFile, StoredSegment
from kafka_segments.query.cut import num_bytes_of, pack
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Limits, Query, at_offsets
from kafka_segments_generated.columns import kafka_offset_index


def cut(log: PartitionLog, **limits: int) -> list[Split]:
    made = plan([log], Query(limits=Limits(**limits)), PLACES)
    splits = logs.splits_of(made)
    logs.check_apart(splits)
    return splits


def one_segment(folder: Path, num: int = 60, interval: int = 100) -> Path:
    """A segment of `num` batches of two records, 117 bytes each."""
    entries = [Entry("create2", (at, at)) for at in range(num)]
    return logs.write(folder, entries, segment_bytes=1 << 20, interval=interval)


@pytest.mark.long
@examples(settings(), 60, 2000)
@given(log=logs.logs, limits=logs.limits, without=st.sampled_from([(), ("index",)]))
def test_cut_or_whole_the_rows_are_the_same(
    log: list[Entry], limits: Limits, without: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = logs.write(Path(folder), [*log, Entry("create2", (1,))], segment_bytes=2000)
        splits = logs.splits_of(plan([logs.log_of(path, without=without)], Query(limits=limits), PLACES))
        logs.check_apart(splits)
        logs.check_hints(splits)
        assert logs.rows_of(splits) == logs.all_rows(path)


@pytest.mark.parametrize("without", [(), ("index",)], ids=["by index", "by headers"])
def test_a_large_segment_is_cut_where_batches_begin(tmp_path: Path, without: tuple[str, ...]) -> None:
    path = one_segment(tmp_path)
    splits = cut(logs.log_of(path, without=without), max_partition_bytes=1000)
    logs.check_hints(splits)
    size = splits[0].segment.size
    assert size // 1000 <= len(splits) <= size // 1000 + 2
    assert all(num_bytes_of(split) <= 1500 for split in splits)
    assert sum(map(num_bytes_of, splits)) == size
    assert [split.position for split in splits[1:]] == [split.end_position for split in splits[:-1]]


def test_without_an_index_and_without_a_budget_a_segment_is_one_task(tmp_path: Path) -> None:
    log = logs.log_of(one_segment(tmp_path), without=("index",))
    assert len(cut(log, max_partition_bytes=1000, max_walk_bytes=100)) == 1


LIES = {
    "backwards": lambda rows: list(reversed(rows)),
    "nowhere": lambda rows: [(offset, position + 13) for offset, position in rows],
    "behind the end": lambda rows: [(offset, position + (1 << 20)) for offset, position in rows],
    "too early": lambda rows: [(max(0, offset - 40), position) for offset, position in rows],
    "all alike": lambda rows: [rows[0]] * len(rows),
    "negative": lambda rows: [(-offset, position) for offset, position in rows],
    "short": lambda rows: rows[:3],
    "nothing": lambda _rows: [],
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_whatever_an_index_says_offsets_are_read_once(tmp_path: Path, lie: object) -> None:
    path = one_segment(tmp_path)
    everything = logs.all_rows(path)
    index = path / f"{0:020d}.index"
    rows = list(zip(*kafka_offset_index.read_columns(index.read_bytes()), strict=True))
    index.write_bytes(kafka_offset_index.write_columns(*zip(*lie(rows), strict=True) or ((), ())))  # type: ignore[operator]
    splits = cut(logs.log_of(path), max_partition_bytes=1000)
    assert logs.rows_of(splits) == everything


def test_an_index_that_cannot_be_one_is_told_and_headers_are_walked(tmp_path: Path) -> None:
    path = one_segment(tmp_path)
    index = path / f"{0:020d}.index"
    index.write_bytes(index.read_bytes()[:-3])
    made = plan([logs.log_of(path)], Query(limits=Limits(max_partition_bytes=1000)), PLACES)
    (finding,) = made.findings
    assert "not a multiple" in str(finding) and finding.path == str(index)
    assert len(logs.splits_of(made)) > 4


def test_zeros_behind_the_entries_of_an_index_are_none(tmp_path: Path) -> None:
    path = one_segment(tmp_path)
    whole = cut(logs.log_of(path), max_partition_bytes=1000)
    index = path / f"{0:020d}.index"
    index.write_bytes(index.read_bytes() + bytes(80_000))
    padded = cut(logs.log_of(path), max_partition_bytes=1000)
    assert [(one.start, one.end) for one in padded] == [(one.start, one.end) for one in whole]


def test_a_range_inside_a_segment_begins_and_ends_where_the_index_says(tmp_path: Path) -> None:
    path = logs.write(
        tmp_path, [Entry("create2", (at,) * 50) for at in range(1000)], segment_bytes=1 << 30, interval=4096
    )
    key = ("t", 0)
    query = Query(start=at_offsets({key: 30_000}), end=at_offsets({key: 30_500}))
    made = plan([logs.log_of(path)], query, PLACES)
    (split,) = logs.splits_of(made)
    assert (split.start, split.end) == (30_000, 30_500)
    assert 0 < num_bytes_of(split) < split.segment.size // 50
    assert [row[0] for row in logs.rows_of([split])] == list(range(30_000, 30_500))
    logs.check_hints([split])


def split_of(size: int, offset: int = 0) -> Split:
    file = StoredFile(f"/t-0/{offset:020d}.log", size, "1:1")
    return Split("t", 0, offset, offset + 10, StoredSegment(file, offset))


MIB = 1 << 20


def test_small_segments_share_a_task_and_a_large_one_has_its_own() -> None:
    sizes = [9 * MIB, 9 * MIB, 50 * MIB, 99 * MIB, 0, 0]
    tasks = pack([split_of(size, at * 10) for at, size in enumerate(sizes)], 64 * MIB)
    assert [[split.segment.size // MIB for split in task] for task in tasks] == [[9, 9], [50], [99], [0, 0]]


@given(
    st.lists(st.integers(0, 200 * MIB), max_size=60),
    st.integers(1, 100 * MIB),
    st.one_of(st.none(), st.integers(1, 70)),
    st.one_of(st.none(), st.integers(10, 50)),
)
def test_tasks_hold_all_splits_in_order(
    sizes: list[int], most: int, least: int | None, records: int | None
) -> None:
    splits = [split_of(size, at * 10) for at, size in enumerate(sizes)]
    tasks = pack(splits, most, least, records)
    assert [split for task in tasks for split in task] == splits
    assert all(tasks)
    assert least is None or len(tasks) >= min(least, len(splits))
    assert all(len(task) == 1 or sum(map(num_bytes_of, task)) <= most for task in tasks)
    assert records is None or all(len(task) == 1 or 10 * len(task) <= records for task in tasks)


def test_as_many_tasks_as_are_asked_for(tmp_path: Path) -> None:
    path = one_segment(tmp_path)
    made = plan([logs.log_of(path)], Query(limits=Limits(min_partitions=12)), PLACES)
    assert 12 <= len(made.tasks) <= 16


def test_no_task_has_more_offsets_than_is_asked_for(tmp_path: Path) -> None:
    path = one_segment(tmp_path)
    made = plan([logs.log_of(path)], Query(limits=Limits(max_records=25)), PLACES)
    for task in made.tasks:
        assert sum((split.end or 120) - split.start for split in task) <= 25
    assert made.tasks[-1][-1].end is None, "what is behind the last sound batch is told by its reader"
    assert len(made.tasks) == 5


class Counting(Places):
    """Counts the files that are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open(self, path: str) -> Source:
        self.opened.append(path)
        return super().open(path)


def many(folder: Path, places: Places, num: int) -> Plan:
    (folder / "t-0").mkdir()
    for at in range(num):
        (folder / "t-0" / f"{at:020d}.log").touch()
    log = logs.log_of(folder / "t-0")
    pieces = [
        replace(piece, segment=replace(piece.segment, file=replace(piece.segment.file, size=9 * MIB)))
        for piece in log.pieces
    ]
    limits = Limits(max_partition_bytes=128 * MIB)
    return plan([replace(log, pieces=tuple(pieces))], Query(limits=limits), places)


def test_whole_segments_are_planned_without_opening_more_than_the_newest(tmp_path: Path) -> None:
    places = Counting()
    made = many(tmp_path, places, 50)
    assert places.opened == [str(tmp_path / "t-0" / f"{49:020d}.log")]
    assert len(logs.splits_of(made)) == 50 and len(made.tasks) == 5
