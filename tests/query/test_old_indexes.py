"""However an index names an append, and whatever wrappers hide: any cut of old segments gives the same rows.

Until Kafka 1.1 an entry of a `.index` has the first offset of what was appended (LogSegment.append): a
leader's first, a follower's own of the first entry (Log.analyzeAndValidateRecords), which for a wrapper is
its last. Since 2.0 it has the last of all. In either case all that is greater stands there or behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.forms import pick
from tests.query import logs
from tests.query.logs import PLACES, RECORDED
from tests.query.splits import COLUMNS, rows
from tests.query.test_store_trouble import Failing

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Limits, Query, at_offsets
from kafka_segments.query.read.split_reader import Reading, read_split
from kafka_segments_generated.columns import kafka_offset_index

OLD = [
    path
    for path in sorted(RECORDED.glob("kafka-*/clean/*-[0-9]"))
    if any(log.stat().st_size > 200 and log.read_bytes()[16] < 2 for log in path.glob("*.log"))
]
INDEXES = ("as recorded", "first", "first entry", "last")


def appends(log: Path) -> Iterator[tuple[int, int, int, int]]:
    """Of each entry: its first offset, its own, the last one, and where it begins."""
    with open_segment(log) as segment:
        for entry in segment.iter_entries():
            assert isinstance(entry, Batch)
            offsets = [record.offset for record in segment.iter_records(entry)] or [entry.last_offset]
            yield offsets[0], entry.last_offset, offsets[-1], entry.position


def with_indexes(path: Path, folder: Path, kind: str) -> Path:
    """A copy of a partition whose indexes have an entry for every one of the log, but the first."""
    copy = shutil.copytree(path, folder / path.name)
    for noted in path.parent.glob("*-checkpoint"):
        shutil.copy(noted, folder)
    for log in copy.glob("*.log") if kind != "as recorded" else ():
        column = INDEXES.index(kind) - 1
        entries = [(one[column] - int(log.stem), one[3]) for one in list(appends(log))[1:]]
        data = kafka_offset_index.write_columns(*zip(*entries, strict=True)) if entries else b""
        log.with_suffix(".index").write_bytes(data)
    return copy


def read(log: PartitionLog, query: Query, places: Places) -> list[Any]:
    found: list[Any] = []
    told = Findings()
    splits = logs.splits_of(plan([log], query, places))
    for split in splits:
        found += rows(list(read_split(split, places, Reading(COLUMNS), told)))
    assert not told.of(Kind.DAMAGE) and not told.of(Kind.LOST)
    assert not [note for note in told.of(Kind.NOTE) if "wrong" in note.detail]
    return found


SOME = pick(OLD[::2], OLD)
CASES = [(path, kind) for at, path in enumerate(SOME) for kind in pick(INDEXES[at % 4 :][:1], INDEXES)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "kind"), CASES, ids=[f"{path.relative_to(RECORDED)}, {kind}" for path, kind in CASES]
)
def test_any_cut_gives_the_rows_of_the_uncut(path: Path, kind: str, tmp_path: Path) -> None:
    copy = with_indexes(path, tmp_path, kind)
    files = {f"m:/{file.relative_to(tmp_path)}": file.read_bytes() for file in tmp_path.rglob("*.*")}
    files |= {f"m:/{file.name}": file.read_bytes() for file in tmp_path.glob("*-checkpoint")}
    far = Failing(files, lasts=False)
    (expected_log,) = resolve(PLACES, discover(PLACES, [str(path)]))
    expected = read(expected_log, Query(), PLACES)
    assert expected
    random = Random(f"{copy.name} {kind}")
    first, behind = expected[0][0], expected[-1][0] + 1
    for places, where in ((PLACES, str(copy)), (far, f"m:/{copy.name}")):
        (log,) = resolve(places, discover(places, [where]))
        key = log.topic, log.partition
        for limits in (
            Limits(max_partition_bytes=1),
            Limits(max_partition_bytes=random.randint(50, 900)),
            Limits(max_records=random.randint(1, 7)),
            Limits(min_partitions=random.randint(2, 40)),
        ):
            assert read(log, Query(limits=limits), places) == expected
            start, end = sorted(random.sample(range(first, behind + 1), 2))
            query = Query(start=at_offsets({key: start}), end=at_offsets({key: end}), limits=limits)
            assert read(log, query, places) == [row for row in expected if start <= row[0] < end]


def test_there_are_such_segments() -> None:
    names = {path.relative_to(RECORDED).parts[0] for path in OLD}
    assert {"kafka-0.9", "kafka-0.10.2"} <= names
    assert any(
        first != last for path in OLD for log in path.glob("*.log") for first, _own, last, _at in appends(log)
    )
