"""Small splits that are read together: the rows are those of one split after the other, or it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.made.build import batch, record
from tests.query.logs import PLACES
from tests.query.range_logs import one, partition, run, write

from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Query
from kafka_segments.query.read.small_splits import SmallSplits
from kafka_segments.query.read.split_reader import Reading, read_split

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
COLUMNS = ("timestamp_ms", "key", "value", "headers", "offset", "leader_epoch", "sequence")


def splits_in(*paths: Path) -> list[Split]:
    logs = resolve(PLACES, discover(PLACES, [str(path) for path in paths]))
    return [split for task in plan(logs, Query(), PLACES).tasks for split in task]


def by_reader(split: Split) -> tuple[list[dict[str, object]], Findings]:
    told = Findings()
    batches = list(read_split(split, PLACES, Reading(COLUMNS), told))
    return [row for each in batches for row in each.to_pylist()], told


def together(splits: list[Split]) -> Iterator[tuple[Split, list[dict[str, object]], Findings]]:
    """The rows of those splits that can be read so, and what was reported of each."""
    small = SmallSplits(PLACES, COLUMNS)
    told: list[Findings] = []

    def taken() -> Iterator[tuple[Split, list[dict[str, object]], Findings]]:
        batch, parts = small.take() or (None, [])
        first = 0
        for own, (split, num_rows) in zip(told, parts, strict=True):
            assert isinstance(batch, pa.RecordBatch) and batch.schema.names == list(COLUMNS)
            yield split, batch.slice(first, num_rows).to_pylist(), own
            first += num_rows
        assert batch is None or first == len(batch)
        told.clear()

    for split in splits:
        own = Findings()
        is_added = small.add(split, own)
        told += [own] if is_added else []
        if small.is_full or not is_added:
            yield from taken()
    yield from taken()


@pytest.mark.parametrize("folder", sorted(RECORDED.glob("*/clean")), ids=lambda path: path.parent.name)
def test_recorded_segments_have_the_same_rows(folder: Path) -> None:
    num_read = 0
    for split, rows, told in together(splits_in(folder)):
        expected, of_reader = by_reader(split)
        assert rows == expected
        assert told == of_reader
        num_read += 1
    assert num_read or folder.parent.name != "kafka-4.3"


def test_the_rows_of_many_make_one_batch(tmp_path: Path) -> None:
    small, told = SmallSplits(PLACES, COLUMNS), Findings()
    splits = splits_in(partition(tmp_path))
    assert all(small.add(split, told) for split in splits) and not small.is_full
    found = small.take()
    assert found is not None and [num for _split, num in found[1]] == [100, 100, 50]
    assert found[0].column("offset").to_pylist() == list(range(250))
    assert told.num_batches == 50 and small.take() is None


def test_what_is_refused_leaves_no_row_behind(tmp_path: Path) -> None:
    log = partition(tmp_path)
    wrong = batch(100, [record(0, None), record(0, None), record(2)], count=3, last_offset_delta=2)
    write(log, 100, wrong + run(103, 1) + one(108, 92))
    found = {split.start: rows for split, rows, _told in together(splits_in(log))}
    assert sorted(found) == [0, 200]
    assert [row["offset"] for row in found[200]] == list(range(200, 250))
    assert all(row["key"] is not None for row in found[200])


def test_a_flipped_bit_anywhere_is_refused_or_makes_no_difference(tmp_path: Path) -> None:
    log = partition(tmp_path)
    path = write(log, 100, run(100, 20))
    (split,) = (one for one in splits_in(log) if one.start == 100)
    sound = path.read_bytes()
    for position in range(0, len(sound), 7):
        changed = bytearray(sound)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        for _split, rows, told in together([split]):
            expected, of_reader = by_reader(split)
            assert (rows, told) == (expected, of_reader), position
            assert not told.findings, position


@pytest.mark.parametrize(
    "content",
    {
        "an offset is missing": run(100, 10) + run(151, 9) + one(196, 4),
        "one is missing at the end": run(100, 19) + one(195, 4),
        "twice the same batch": run(100, 20) + run(195, 1),
        "in another order": run(105, 1) + run(100, 1) + run(110, 18),
        "more than the name of the next one allows for": run(100, 21),
        "zeros": run(100, 20) + bytes(100),
        "cut off": run(100, 20)[:-1],
        "nothing": b"",
        "grown": run(100, 20) + b"\x01",
    }.items(),
    ids=lambda one: one[0],
)
def test_what_has_anything_to_report_is_refused(tmp_path: Path, content: tuple[str, bytes]) -> None:
    log = partition(tmp_path)
    write(log, 100, content[1])
    assert 100 not in [split.start for split, _rows, _told in together(splits_in(log))]


def test_a_part_of_a_segment_and_a_file_in_its_place_are_refused(tmp_path: Path) -> None:
    log = partition(tmp_path)
    splits = splits_in(log)
    (log / "new").write_bytes(run(100, 20))
    (log / "new").rename(log / f"{100:020}.log")
    write(log, 200, run(200, 11))
    assert [split.start for split, _rows, _told in together(splits)] == [0]
