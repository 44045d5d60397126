"""Committed reads by splits: what is void, where they stop, what pins that, what may be read for it."""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.query import logs
from tests.query.logs import PLACES
from tests.segment import logs as model
from tests.segment.logs import Log
from tests.segment.test_interleavings import grow

from kafka_segments.errors import OptionError, TransactionInDoubtError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Kind
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.committed import Committed
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Limits, Query, at_offsets

COMMITTED = Query(isolation="read_committed")


def made(folder: Path, query: Query = COMMITTED) -> Plan:
    return plan([logs.log_of(folder)], query, PLACES)


def offsets(one: Plan) -> list[int]:
    return [offset for offset, _time in logs.rows_of(logs.splits_of(one))]


@pytest.mark.long
@examples(settings(), 40, 1000)
@given(
    seed=st.integers(0, 2**32),
    num_batches=st.integers(1, 60),
    has_indexes=st.booleans(),
    most=st.sampled_from([None, 1, 3, 7]),
)
def test_splits_hold_what_is_committed(
    seed: int, num_batches: int, has_indexes: bool, most: int | None
) -> None:
    log = Log()
    grow(log, random.Random(seed), num_batches)
    with tempfile.TemporaryDirectory() as root:
        folder = log.write(Path(root))
        if has_indexes:
            model.write_indexes(log, folder)
        one = made(folder, replace(COMMITTED, limits=Limits(max_records=most)))
        assert offsets(one) == model.committed(log)
        assert one.ranges[0].end == model.stable_offset(log)
        pin = one.committed["t", 0].pin
        assert (pin is None) == (model.stable_offset(log) == log.offset)
        assert pin is None or pin.first_offset == model.stable_offset(log)


def pinned(folder: Path) -> Path:
    log = Log()
    log.data(10)
    log.commit(10)
    log.roll()
    log.data(10)
    log.data(20)
    log.commit(20)
    return log.write(folder)


def test_reading_stops_where_a_transaction_is_open_and_says_which(tmp_path: Path) -> None:
    one = made(pinned(tmp_path))
    assert offsets(one) == [0]
    pin = one.committed["t", 0].pin
    assert pin is not None
    assert (pin.producer_id, pin.first_offset, pin.timestamp) == (10, 2, 1_700_000_000_000)
    assert "producer 10 has had a transaction open since offset 2" in str(one.ranges[0].end_is)
    (left_out,) = one.of(*LEFT_OUT_KINDS)
    assert (left_out.first_offset, left_out.last_offset) == (2, 4)
    assert left_out.num_bytes > 200
    ending = replace(COMMITTED, end=at_offsets({("t", 0): 4}))
    assert offsets(made(tmp_path / "t-0", ending)) == [0]
    assert made(tmp_path / "t-0", ending).of(Kind.LOST) == [], "what is not yet decided is not lost"


def test_what_would_take_too_long_is_refused_with_a_way_out(tmp_path: Path) -> None:
    folder = pinned(tmp_path)
    with pytest.raises(OptionError, match=r"take_snapshot.*snapshot="):
        made(folder, replace(COMMITTED, limits=Limits(max_walk_bytes=100)))


def test_above_the_bound_indexes_are_believed_and_the_plan_says_so(tmp_path: Path) -> None:
    log, folder = model.indexed(tmp_path)
    sizes = [path.stat().st_size for path in sorted(folder.glob("*.log"))]
    newest = sizes[-1]
    one = made(folder, replace(COMMITTED, limits=Limits(max_walk_bytes=newest)))
    assert offsets(one) == model.committed(log)
    (remark,) = one.of(Kind.REMARK)
    assert (remark.topic, remark.partition) == ("t", 0)
    assert f"headers of {sum(sizes) - newest} bytes" in remark.detail and "maxWalkBytes" in remark.detail
    assert made(folder, replace(COMMITTED, limits=Limits(max_walk_bytes=sum(sizes)))).of(Kind.REMARK) == []
    with pytest.raises(OptionError, match="take_snapshot"):
        made(folder, replace(COMMITTED, limits=Limits(max_walk_bytes=newest - 1)))


@pytest.mark.parametrize("num_entries", range(6))
def test_an_index_that_lacks_entries_hides_no_aborted_record(tmp_path: Path, num_entries: int) -> None:
    """Five transactions were aborted in the segment at offset 7, and later ones have snapshots."""
    source = logs.RECORDED / "kafka-4.3/clean/transactions-0"
    folder = Path(shutil.copytree(source, tmp_path / "transactions-0"))
    expected = offsets(made(source))
    index = folder / "00000000000000000007.txnindex"
    size = index.stat().st_size
    assert size // 5 * 5 == size
    index.write_bytes(index.read_bytes()[: num_entries * size // 5])
    one = made(folder)
    assert offsets(one) == expected
    assert ("is not listed" in str(one.findings)) == (num_entries < 5)
    index.unlink()
    one = made(folder)
    assert offsets(one) == expected
    words = "the aborted transaction of producer 1, offsets 9 to 16, is not listed: the file is missing"
    assert words in str(one.findings)


def test_a_segment_tells_of_its_own_offsets_alone(tmp_path: Path) -> None:
    """Two copies of a log, of which the second one's batches count from an offset on."""
    log = Log()
    for _ in range(6):
        log.data(10)
        log.abort(10)
        log.data(10)
        log.commit(10)
    whole = logs.log_of(log.write(tmp_path))
    (piece,) = whole.pieces
    halves = (replace(piece, end=9), replace(piece, start=9))
    one = plan([replace(whole, pieces=halves)], COMMITTED, PLACES)
    assert offsets(one) == model.committed(log)
    assert set(one.committed["t", 0].void) == set(plan([whole], COMMITTED, PLACES).committed["t", 0].void)


def test_a_doubt_is_told_where_it_is_read(tmp_path: Path) -> None:
    log = Log()
    log.data(10)
    lost = log.commit(10)
    log.data(10)
    log.commit(10)
    log.data(-1, transactional=False)
    folder = log.write(tmp_path)
    path = folder / f"{0:020d}.log"
    data = path.read_bytes()
    at = data.index(lost.data)
    path.write_bytes(data[: at + 30] + b"\xff" * 4 + data[at + 34 :])
    (doubt,) = made(folder).of(Kind.DAMAGE)
    assert isinstance(doubt.error, TransactionInDoubtError) and doubt.first_offset == 0
    assert made(folder, replace(COMMITTED, start=at_offsets({("t", 0): 4}))).of(Kind.DAMAGE) == []


@pytest.mark.parametrize("has_snapshots", [True, False])
def test_a_marker_in_a_segment_that_is_lost_leaves_a_doubt(tmp_path: Path, has_snapshots: bool) -> None:
    """The next transaction of the producer is aborted; one that was open all the while is not in doubt.

    Without the snapshot of the segment behind nothing tells of that marker: the two look like one.
    """
    log = Log()
    log.data(20)
    log.data(10)
    log.roll()
    log.commit(10)
    log.roll()
    log.data(10)
    log.abort(10)
    log.commit(20)
    folder = log.write(tmp_path)
    if has_snapshots:
        model.write_indexes(log, folder)
    (folder / f"{2:020d}.log").unlink()
    one = made(folder)
    assert [(doubt.first_offset, doubt.last_offset) for doubt in one.of(Kind.DAMAGE)] == (
        [(1, 1)] if has_snapshots else []
    )
    assert offsets(one) == [0]


def test_what_the_cleaner_took_between_segments_leaves_no_doubt(tmp_path: Path) -> None:
    log = Log()
    log.data(10)
    gone = log.data(-1, transactional=False)
    log.roll()
    log.commit(10)
    folder = log.write(tmp_path)
    model.write_indexes(log, folder)
    first = folder / f"{0:020d}.log"
    first.write_bytes(first.read_bytes().removesuffix(gone.data))
    one = made(folder)
    assert one.of(Kind.DAMAGE) == [] and offsets(one) == [0]


ranges = st.lists(st.integers(0, 60), min_size=2, max_size=8, unique=True).map(sorted)
voids = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 12)), max_size=12)


@given(ranges, voids)
def test_a_range_is_told_of_every_void_batch_that_reaches_into_it(
    cuts: list[int], found: list[tuple[int, int, int]]
) -> None:
    void = tuple((producer, first, first + more) for producer, first, more in found)
    spans = [(start, end) for start, end in zip(cuts, [*cuts[1:], None], strict=True)]
    given_to = Committed(99, 99, void).excluded_of(spans)
    for (start, end), own in zip(spans, given_to, strict=True):
        inside = {one for one in void if one[2] >= start and (end is None or one[1] < end)}
        before = [one[2] for one in void if one[2] < start]
        latest = {one for one in void if one[2] == max(before, default=-1)}
        assert inside <= set(own) <= inside | latest
        assert latest <= set(own)


def logs_of(folder: Path) -> list[PartitionLog]:
    return [logs.log_of(folder)]


@pytest.mark.parametrize("name", ["transactions-0", "transactions-1", "open-transaction-0"])
def test_recorded_logs_by_their_indexes_and_without_are_the_same(name: str) -> None:
    folder = logs.RECORDED / "kafka-4.3/clean" / name
    by_indexes = plan(logs_of(folder), COMMITTED, PLACES)
    bare = logs.log_of(folder, without=("snapshot", "txnindex"))
    by_records = plan([bare], COMMITTED, PLACES)
    assert offsets(by_indexes) == offsets(by_records)
    assert by_indexes.ranges == by_records.ranges


def test_a_last_batch_that_is_not_whole_yet_makes_no_doubt(tmp_path: Path) -> None:
    log = Log()
    log.data(-1, transactional=False)
    log.data(10)
    log.data(10)
    folder = log.write(tmp_path)
    path = folder / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-3])
    one = made(folder)
    assert offsets(one) == [0]
    assert one.of(Kind.DAMAGE) == [] and one.ranges[0].end == 1
