"""Offsets by times: by brute force, against Kafka's own segments, and where indexes lie or are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples, pick
from tests.oracle import jvm
from tests.query import logs
from tests.query.logs import PLACES, RECORDED, Entry

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.opening import Budget
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Query, at_timestamp
from kafka_segments.query.timestamps import TimeFinder
from kafka_segments.write.writer import open_partition_writer

HERE = Path(__file__).resolve().parent
NO_INDEXES = ("index", "timeindex")


def find(log: PartitionLog, timestamp: int, *, is_start: bool = True, budget: int = 1 << 30) -> int | None:
    start = max(log.log_start_offset or 0, log.pieces[0].start)
    return TimeFinder(PLACES, Budget(budget)).find(log, timestamp, start, is_start=is_start)


def records(path: Path) -> Iterator[tuple[int, int]]:
    """Offsets and timestamps of all records, control records too."""
    for segment_path in sorted(path.glob("*.log")):
        with open_segment(segment_path) as segment:
            for batch in segment.iter_entries():
                if not hasattr(batch, "magic"):
                    continue
                for record in segment.iter_records(batch):  # type: ignore[arg-type]
                    yield record.offset, record.timestamp


@pytest.mark.long
@examples(settings(), 100, 2000)
@given(
    log=logs.logs,
    timestamp=logs.timestamps,
    without=st.sampled_from([(), (), ("index",), ("timeindex",), NO_INDEXES]),
    interval=st.sampled_from([0, 100, 300]),
    is_start=st.booleans(),
)
def test_the_first_record_that_is_late_enough(
    log: list[Entry], timestamp: int, without: tuple[str, ...], interval: int, is_start: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = logs.write(Path(folder), [*log, Entry("create2", (1,))], interval=interval)
        expected = next((offset for offset, time in records(path) if time >= timestamp), None)
        lost = lost_before(path, expected) if is_start else None
        found = find(logs.log_of(path, without=without), timestamp, is_start=is_start)
        # Holes in batches are the cleaner's, and it may have removed what is missing between segments.
        is_cleaned = any(entry.hole or entry.kind == "empty" for entry in log)
        assert found == (expected if lost is None else lost) or (is_cleaned and found == expected)


def lost_before(path: Path, offset: int | None) -> int | None:
    """The first offset that is missing between a segment and the next one, which begins with a record."""
    reached = None
    for segment_path in sorted(path.glob("*.log")):
        with open_segment(segment_path) as segment:
            batches = [one for one in segment.iter_entries() if isinstance(one, Batch)]
            first = next((record.offset for one in batches for record in segment.iter_records(one)), None)
        if first is not None and first == offset:
            return reached if reached is not None and reached < first else None
        reached = batches[-1].last_offset + 1 if batches else reached
    return None


def partitions() -> list[Path]:
    return sorted({path.parent for path in RECORDED.glob("*/clean/*-[0-9]/*.timeindex")})


@pytest.mark.oracle
@pytest.mark.long(short=False)
def test_kafkas_own_segments_find_the_same(tmp_path: Path) -> None:
    asked: list[tuple[PartitionLog, list[int]]] = []
    lines = ""
    for number, folder in enumerate(partitions()):
        log = logs.log_of(folder)
        times = {time + step for _offset, time in records(folder) for step in (-1, 0, 1) if time + step >= 0}
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        for path in copy.glob("*.log"):
            os.utime(path, (0, 0))  # which stands for the times of segments that have none
        asked.append((log, sorted(times)[:: max(1, len(times) // pick(12, 60))]))
        lines += " ".join(map(str, (copy, log.log_start_offset or 0, *asked[-1][1]))) + "\n"
    jars = jvm.fetch_jars(HERE.parent / "segment" / "pom.xml")
    classes = jvm.compile_java([HERE / "java" / "OffsetsByTime.java"], jars)
    command, environment = jvm.java_command([classes, jars], *jvm.QUIET, "OffsetsByTime")
    done = subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    num_found = num_stopped = 0
    for (log, times), answer in zip(asked, done.stdout.splitlines(), strict=True):
        expected = [None if offset == "-1" else int(offset) for offset in answer.split()]
        found = [find(log, time) for time in times]
        bare = logs.log_of(Path(log.copies[0]), without=NO_INDEXES)
        assert [find(bare, time) for time in times] == found, log.topic
        pairs = list(zip(found, expected, strict=True))
        # A cleaned segment may claim a later record than it has left: there a broker stops, and we go on.
        assert all(kafkas in (one, None) for one, kafkas in pairs), log.topic
        num_stopped += sum(one is not None and kafkas is None for one, kafkas in pairs)
        times_of = dict(records(Path(log.copies[0])))
        start = log.log_start_offset or 0
        for one, time in zip(found, times, strict=True):
            late = (offset for offset, value in times_of.items() if value >= time and offset >= start)
            assert one == next(late, None), log.topic
        num_found += sum(one is not None for one in expected)
    print(f"{len(asked)} partitions, {num_found} times found, {num_stopped} where a broker stops")
    assert len(asked) > 80 and num_found > 1000 and num_stopped <= 1


def growing(folder: Path) -> Path:
    return logs.write(folder, [Entry("create2", (at * 100,)) for at in range(40)], segment_bytes=1000)


def test_a_time_index_that_leads_too_far_is_held_against_the_log(tmp_path: Path) -> None:
    path = growing(tmp_path)
    indexes = sorted(path.glob("*.timeindex"))
    for one in indexes[:-1]:
        one.write_bytes(indexes[-1].read_bytes())
    log = logs.log_of(path)
    unused: list[KafkaFormatError] = []
    finders = (TimeFinder(PLACES, Budget(1 << 20), unused) for _at in range(40))
    found = [one.find(log, at * 100, 0, is_start=True) for at, one in enumerate(finders)]
    assert found == list(range(40))
    assert unused and "not used" in str(unused[0])


def test_without_indexes_no_more_is_walked_than_is_allowed(tmp_path: Path) -> None:
    path = growing(tmp_path)
    log = logs.log_of(path, without=NO_INDEXES)
    assert find(log, 3000) == 30
    with pytest.raises(OptionError, match="give offsets instead"):
        find(log, 3000, budget=2000)
    assert find(logs.log_of(path), 3000, budget=0) == 30, "with indexes nothing is"


def test_damage_that_may_hold_the_record_is_inside_the_range(tmp_path: Path) -> None:
    path = growing(tmp_path)
    first = path / f"{0:020d}.log"
    with open_segment(first) as segment:
        batches = list(segment.iter_entries())
    data = bytearray(first.read_bytes())
    data[batches[5].position + 70] ^= 0xFF
    first.write_bytes(data)
    log = logs.log_of(path, without=NO_INDEXES)
    assert [find(log, time) for time in (400, 500, 600)] == [4, 5, 6], "a start begins at the damage"
    assert find(log, 500, is_start=False) == 6, "an end goes on behind it"


@pytest.mark.parametrize("timestamp", [1550, 1600, 2450, 2500])
def test_a_time_in_what_one_copy_has_lost(tmp_path: Path, timestamp: int) -> None:
    """The copy that leads lacks two segments: times are looked up, and records read, where they are."""
    entries = [Entry("create2", (at * 100,)) for at in range(40)]
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths.append(logs.write(tmp_path / name, entries, segment_bytes=500))
    whole = logs.rows_of(logs.splits_of(plan([logs.log_of(paths[1])], Query(), PLACES)))
    segments = sorted(paths[0].glob("*.log"))
    for segment in segments[3:6]:
        segment.unlink()
    (log,) = resolve(PLACES, discover(PLACES, [str(path) for path in paths]))
    assert {piece.segment.file.path.split("/")[-3] for piece in log.pieces} == {"a", "b"}
    found = logs.rows_of(logs.splits_of(plan([log], Query(start=at_timestamp(timestamp)), PLACES)))
    assert found == [row for row in whole if row[1] >= timestamp]


def test_a_start_in_a_lost_segment_is_the_first_offset_that_is_missing(tmp_path: Path) -> None:
    path = growing(tmp_path)
    bases = [int(one.stem) for one in sorted(path.glob("*.log"))]
    assert len(bases) > 3
    for suffix in ("log", *NO_INDEXES):
        (path / f"{bases[1]:020d}.{suffix}").unlink()
    log = logs.log_of(path)
    for offset in range(bases[1], bases[2] + 1):
        assert find(log, offset * 100) == bases[1]
        assert find(log, offset * 100, is_start=False) == bases[2]
    for offset in (0, bases[1] - 1, bases[2] + 1, 39):
        assert find(log, offset * 100) == offset
    assert find(replace(log, cleaned_up_to=1 << 62), bases[1] * 100) == bases[2], "it was the cleaner"
    assert find(logs.log_of(path, without=NO_INDEXES), bases[1] * 100) == bases[1]


def test_so_it_is_if_the_end_of_a_segment_is_lost(tmp_path: Path) -> None:
    path = growing(tmp_path)
    first, second = sorted(path.glob("*.log"))[:2]
    with open_segment(first) as segment:
        end = list(segment.iter_entries())[-2].position
    os.truncate(first, end)
    behind = int(second.stem)
    assert find(logs.log_of(path), (behind - 1) * 100) == behind - 2


@pytest.mark.parametrize("hole", [0, 3])
def test_what_the_cleaner_took_is_not_lost(tmp_path: Path, hole: int) -> None:
    """Offsets are missing at the end of the first segment, and before that inside it, or nowhere else."""
    entries = [Entry("create2", (100,)), Entry("create2", (200, 300), hole=hole)]
    path = logs.write(tmp_path, entries, segment_bytes=10_000)
    last = 2 + hole
    with open_partition_writer(tmp_path / "t-1", base_offset=last + 5) as writer:
        writer.write([{"value": b"x", "timestamp": 900}])
    for one in (tmp_path / "t-1").iterdir():
        shutil.copy(one, path / one.name)
    assert find(logs.log_of(path), 800) == (last + 5 if hole else last + 1)


def test_a_batch_without_a_timestamp_is_early(tmp_path: Path) -> None:
    batches = [*(Entry("create2", (0,)) for _ in range(8)), Entry("create2", (-1,)), Entry("create2", (5,))]
    log = logs.log_of(logs.write(tmp_path, batches, segment_bytes=10_000), without=NO_INDEXES)
    assert find(log, 1) == 9
