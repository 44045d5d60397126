"""What a pruned query gives is what the whole one gives, filtered: over all sorts of timestamps."""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.query import logs
from tests.query.logs import PLACES, Entry, Row

from kafka_segments.core.formats import LEN_OFFSET_ENTRY, LEN_TIME_ENTRY
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.log.findings import LEFT_OUT_KINDS
from kafka_segments.log.model import LogPiece, Split, StoredFile
from kafka_segments.log.opening import NUM_REQUESTS
from kafka_segments.query import prune
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Condition, Limits, Query, at_timestamp

bounds = st.one_of(st.none(), logs.timestamps)
values = st.one_of(st.none(), st.none(), st.frozensets(logs.timestamps, min_size=1, max_size=3))
time_conditions = st.builds(Condition, st.just("timestamp"), bounds, bounds, values)
offset_bounds = st.one_of(st.none(), st.integers(0, 60))
offset_values = st.one_of(st.none(), st.frozensets(st.integers(0, 60), min_size=1, max_size=3))
offset_conditions = st.builds(Condition, st.just("offset"), offset_bounds, offset_bounds, offset_values)
conditions = st.lists(st.one_of(time_conditions, time_conditions, offset_conditions), max_size=3)


def asked_for(rows: list[Row], asked: tuple[Condition, ...]) -> list[Row]:
    return [
        row for row in rows if all(one.holds(row[0] if one.column == "offset" else row[1]) for one in asked)
    ]


def splits_with(folder: Path, query: Query, without: tuple[str, ...] = ()) -> list[Split]:
    made = plan([logs.log_of(folder, without=without)], query, PLACES)
    splits = logs.splits_of(made)
    logs.check_apart(splits)
    logs.check_hints(splits)
    read = sum(split.end is None or split.end > split.start for split in splits)
    assert read == len(splits), "no split is empty"
    assert all(one.detail and one.num_bytes >= 0 for one in made.of(*LEFT_OUT_KINDS))
    return splits


@pytest.mark.long
@examples(settings(), 80, 3000)
@given(
    log=logs.logs,
    asked=conditions.map(tuple),
    without=st.sampled_from([(), (), ("index",), ("timeindex",), ("index", "timeindex")]),
    interval=st.sampled_from([0, 100, 300]),
    gap=st.sampled_from([0, 1 << 20]),
    limits=logs.limits,
)
def test_pruned_equals_unpruned(
    log: list[Entry],
    asked: tuple[Condition, ...],
    without: tuple[str, ...],
    interval: int,
    gap: int,
    limits: Limits,
) -> None:
    with mock.patch.object(prune, "_LEAST_GAP", gap), tempfile.TemporaryDirectory() as folder:
        path = logs.write(Path(folder), [*log, Entry("create2", (1,))], interval=interval)
        everything = logs.all_rows(path)
        found = logs.rows_of(splits_with(path, Query(conditions=asked, limits=limits), without))
        assert asked_for(found, asked) == asked_for(everything, asked)


@pytest.mark.long
@examples(settings(), 80, 3000)
@given(
    log=logs.logs,
    asked=time_conditions,
    without=st.sampled_from([(), ("timeindex",)]),
)
def test_with_the_true_skew_too(log: list[Entry], asked: Condition, without: tuple[str, ...]) -> None:
    with mock.patch.object(prune, "_LEAST_GAP", 0), tempfile.TemporaryDirectory() as folder:
        path = logs.write(Path(folder), [*log, Entry("create2", (1,))])
        everything = logs.all_rows(path)
        latest, skew = everything[0][1], 0
        for _offset, timestamp in everything:
            latest = max(latest, timestamp)
            skew = max(skew, latest - timestamp)
        query = Query(conditions=(asked,), max_timestamp_skew_ms=skew)
        found = logs.rows_of(splits_with(path, query, without))
        assert asked_for(found, (asked,)) == asked_for(everything, (asked,))


def hourly(folder: Path, kind: str = "create2", num: int = 40) -> Path:
    """A log in which time goes by: ten batches a segment, one after the other 100 ms later."""
    return logs.write(
        folder, [Entry(kind, (at * 100, at * 100 + 50)) for at in range(num)], segment_bytes=1100
    )


def read_offsets(folder: Path, query: Query) -> set[int]:
    return {row[0] for row in logs.rows_of(splits_with(folder, query))}


@pytest.mark.parametrize("kind", ["create2", "append2"])
def test_a_lower_bound_leaves_out_what_the_time_index_proves(tmp_path: Path, kind: str) -> None:
    path = hourly(tmp_path, kind)
    query = Query(conditions=(Condition("timestamp", lowest=3500),), limits=Limits(max_walk_bytes=0))
    made = plan([logs.log_of(path)], query, PLACES)
    assert min(split.start for split in logs.splits_of(made)) >= 60
    reasons = [one.detail for one in made.of(*LEFT_OUT_KINDS)]
    assert len(reasons) >= 3
    assert all("timestamp from 3500 on" in why and ".timeindex" in why for why in reasons)
    assert {one.first_offset for one in made.of(*LEFT_OUT_KINDS)} >= {
        0,
        made.of(*LEFT_OUT_KINDS)[1].first_offset,
    }
    covered = sorted((one.first_offset or 0, one.last_offset or 0) for one in made.of(*LEFT_OUT_KINDS))
    assert covered[0][0] == 0
    assert all(one[1] + 1 == other[0] for one, other in pairwise(covered))


def test_an_upper_bound_leaves_out_log_append_times_alone(tmp_path: Path) -> None:
    asked = Query(conditions=(Condition("timestamp", highest=500),))
    (tmp_path / "append").mkdir()
    (tmp_path / "create").mkdir()
    assert max(read_offsets(hourly(tmp_path / "append", "append2"), asked)) < 12
    assert max(read_offsets(hourly(tmp_path / "create"), asked)) == 79


def test_an_upper_bound_with_a_skew_ends_where_all_is_later(tmp_path: Path) -> None:
    path = hourly(tmp_path)
    query = Query(
        conditions=(Condition("timestamp", highest=500),),
        max_timestamp_skew_ms=300,
        limits=Limits(max_walk_bytes=0),
    )
    made = plan([logs.log_of(path)], query, PLACES)
    assert max(split.end or 99 for split in logs.splits_of(made)) < 30
    assert any("maxTimestampSkewMs" in one.detail and "300" in one.detail for one in made.of(*LEFT_OUT_KINDS))


def test_a_time_index_that_lies_is_found_out_and_costs_no_rows(tmp_path: Path) -> None:
    path = hourly(tmp_path)
    indexes = sorted(path.glob("*.timeindex"))
    # Each claims what is true of the segment after it: later records than it says would be left out.
    for one, other in pairwise(indexes):
        one.write_bytes(other.read_bytes())
    query = Query(conditions=(Condition("timestamp", lowest=1250),), limits=Limits(max_walk_bytes=0))
    everything = [row for row in logs.all_rows(path) if row[1] >= 1250]
    made = plan([logs.log_of(path)], query, PLACES)
    found = [row for row in logs.rows_of(logs.splits_of(made)) if row[1] >= 1250]
    assert found == everything
    assert made.findings and all("not used" in str(one) for one in made.findings)


@pytest.mark.parametrize("padding", [0, 800])
@pytest.mark.parametrize("kept", [1, 2])
def test_indexes_whose_end_was_lost_leave_nothing_out_by_it(tmp_path: Path, kept: int, padding: int) -> None:
    """As after a crash of the machine: the records are on the disk, and of the indexes the first entries."""
    path = logs.write(tmp_path, [Entry("create2", (at * 100,)) for at in range(40)], segment_bytes=2000)
    for suffix, size in (("index", LEN_OFFSET_ENTRY), ("timeindex", LEN_TIME_ENTRY)):
        for index in path.glob(f"*.{suffix}"):
            index.write_bytes(index.read_bytes()[: kept * size] + bytes(padding * size))
    for lowest in range(0, 4000, 300):
        query = Query(conditions=(Condition("timestamp", lowest=lowest),), limits=Limits(max_walk_bytes=0))
        found = logs.rows_of(splits_with(path, query))
        assert [row for row in found if row[1] >= lowest] == [
            (at, at * 100) for at in range(lowest // 100, 40)
        ]
        start = logs.planned(path, start=at_timestamp(lowest), limits=Limits(max_walk_bytes=1 << 20))
        assert logs.splits_of(start)[0].start == lowest // 100


def test_headers_are_read_no_further_than_the_budget_reaches(tmp_path: Path) -> None:
    path = hourly(tmp_path, "append2")
    asked = (Condition("timestamp", highest=500),)
    nothing = Query(conditions=asked, limits=Limits(max_walk_bytes=0))
    assert max(read_offsets(path, nothing)) == 79
    assert max(read_offsets(path, Query(conditions=asked))) < 12


def test_topics_and_partitions_are_left_out_whole(tmp_path: Path) -> None:
    path = hourly(tmp_path)
    for asked in (
        Condition("topic", values=frozenset({"u"})),
        Condition("partition", lowest=1),
        Condition("partition", values=frozenset({3})),
    ):
        made = plan([logs.log_of(path)], Query(conditions=(asked,)), PLACES)
        assert made.tasks == ()
        (left_out,) = made.of(*LEFT_OUT_KINDS)
        assert str(asked) in left_out.detail and left_out.num_bytes > 3000
    assert splits_with(path, Query(conditions=(Condition("topic", values=frozenset({"t"})),)))


class Remote(Places):
    """Files of this machine under addresses, without descriptors, as those of a store."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def read_whole(self, path: str, view: memoryview) -> bool:
        return False

    def open(self, path: str) -> Source:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(0.002)
        try:
            return open_source(Path(path.removeprefix("s3://bucket")).read_bytes())
        finally:
            with self._lock:
                self.at_once -= 1


def test_segments_behind_a_network_are_asked_a_few_at_a_time(tmp_path: Path) -> None:
    near = logs.log_of(hourly(tmp_path))

    def moved(file: StoredFile) -> StoredFile:
        return replace(file, path=f"s3://bucket{file.path}")

    def far(piece: LogPiece) -> LogPiece:
        beside = {suffix: moved(file) for suffix, file in piece.segment.beside.items()}
        return replace(piece, segment=replace(piece.segment, file=moved(piece.segment.file), beside=beside))

    remote = replace(near, pieces=tuple(map(far, near.pieces)))
    for query in (
        Query(conditions=(Condition("timestamp", lowest=3500),)),
        Query(start=at_timestamp(3500)),
        Query(limits=Limits(max_partition_bytes=300)),
    ):
        places = Remote()
        expected = logs.splits_of(plan([near], query, PLACES))
        found = logs.splits_of(plan([remote], query, places))
        assert [(one.start, one.end) for one in found] == [(one.start, one.end) for one in expected]
        assert 1 < places.most_at_once <= NUM_REQUESTS
