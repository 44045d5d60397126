"""Indexes and snapshots as a shortcut: what it spares, what is noticed where they lie, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.segment import logs
from tests.segment.logs import Log, indexed
from tests.segment.test_cases import P, Q, read

from kafka_segments.errors import ChecksumMismatchError, CorruptIndexError, TruncatedError
from kafka_segments.log.open_partition import open_partition
from kafka_segments_generated.columns import kafka_transaction_index

BOTH = pytest.mark.parametrize("way", ["records", "indexes"])


@BOTH
def test_with_sound_indexes_both_ways_agree(tmp_path: Path, way: str) -> None:
    log, folder = indexed(tmp_path)
    with open_partition(folder, outcomes_from=way) as partition:  # type: ignore[arg-type]
        assert read(partition) == (logs.committed(log), [])
        assert partition.outcome.findings == ()


def test_the_shortcut_reads_the_newest_segment_alone(tmp_path: Path) -> None:
    _log, folder = indexed(tmp_path)
    with open_partition(folder, outcomes_from="indexes") as partition:
        opened: list[str] = []
        open_stored = partition._open_stored
        partition._open_stored = lambda one: opened.append(one.path) or open_stored(one)  # type: ignore[func-returns-value]
        aborted = partition.aborted_transactions()
        assert len(aborted) == 3
        steps = [Path(path).name for path in opened]
        assert steps == [f"{0:020d}.log", f"{5:020d}.log", f"{9:020d}.log"]
        (folder / f"{5:020d}.txnindex").unlink()
    with open_partition(folder, outcomes_from="indexes") as partition:
        assert len(partition.aborted_transactions()) == 2, "what an index leaves out, the shortcut misses"
        (finding,) = partition.check_indexes()
        assert finding.path == str(folder / f"{5:020d}.txnindex") and "not listed" in str(finding)


ROW = [0, P, 0, 3, 2]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data + data,
        lambda _data: kafka_transaction_index.write_columns([0], [P], [0], [4], [2]),
        lambda _data: kafka_transaction_index.write_columns([0], [Q], [0], [3], [2]),
        lambda _data: kafka_transaction_index.write_columns([0], [P], [0], [9], [2]),
        lambda _data: kafka_transaction_index.write_columns([0], [P], [4], [3], [2]),
        lambda _data: kafka_transaction_index.write_columns([1], [P], [0], [3], [2]),
    ],
    ids=["cut", "twice", "other marker", "other producer", "beyond", "backwards", "version"],
)
def test_the_records_decide_where_an_index_lies(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    log, folder = indexed(tmp_path)
    index = folder / f"{0:020d}.txnindex"
    index.write_bytes(spoil(index.read_bytes()))
    with open_partition(folder, outcomes_from="indexes") as partition:
        assert read(partition)[0] == logs.committed(log)
        (finding,) = partition.outcome.findings
        assert isinstance(finding, CorruptIndexError | TruncatedError) and finding.path == str(index)
        assert len(partition.check_indexes()) <= 1


def test_the_index_of_the_newest_segment_is_held_against_it(tmp_path: Path) -> None:
    log, folder = indexed(tmp_path)
    (folder / f"{9:020d}.txnindex").write_bytes(b"")
    with open_partition(folder, outcomes_from="indexes") as partition:
        assert read(partition)[0] == logs.committed(log)
        assert ["not listed" in str(finding) for finding in partition.outcome.findings] == [True]
    with open_partition(folder) as partition:
        assert ["not listed" in str(finding) for finding in partition.check_indexes()] == [True]


def test_a_snapshot_that_is_damaged_is_passed_over(tmp_path: Path) -> None:
    log, folder = indexed(tmp_path)
    snapshot = folder / f"{9:020d}.snapshot"
    snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\1")
    with open_partition(folder, outcomes_from="indexes") as partition:
        assert read(partition)[0] == logs.committed(log)
        (finding,) = partition.outcome.findings
        assert isinstance(finding, ChecksumMismatchError) and finding.path == str(snapshot)


def test_zeros_do_not_stand_for_offsets_that_are_missing(tmp_path: Path) -> None:
    """What is behind the last entry of a preallocated segment is cut off before the next one begins."""
    log = Log()
    log.data(P)
    log.abort(P)
    log.roll()
    log.data(P)
    log.commit(P)
    folder = log.write(tmp_path)
    first = folder / f"{0:020d}.log"
    size = len(log.segments[0][1][0].data)
    first.write_bytes(first.read_bytes()[:size] + bytes(1000))
    with open_partition(folder) as partition:
        (doubt,) = partition.doubtful_transactions()
        assert "zeros, where the offsets 1 to 1 should be" in str(doubt.damage.error)
        assert read(partition)[0] == [2]
    first.write_bytes(b"".join(piece.data for piece in log.segments[0][1]) + bytes(1000))
    with open_partition(folder) as partition:
        assert read(partition) == ([2], [])
