"""Where a log ends, and where reading stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.log.memory import MemoryPlaces
from tests.made import build

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_end import find_end, last_sound_batch
from kafka_segments.log.model import LogEnd, LogPiece, PartitionLog, StoredFile, StoredSegment

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
SEGMENTS = [path for path in sorted(RECORDED.rglob("*.log")) if re.fullmatch(r"\d{20}", path.stem)]
NO_NOTES = LogEnd()
MULTI = RECORDED / "kafka-4.3" / "clean" / "multi-0"


def stored(path: Path, *, is_newest: bool = True, index: bool = True) -> StoredSegment:
    beside = {}
    file = path.with_suffix(".index")
    if index and file.exists():
        beside["index"] = StoredFile(str(file), file.stat().st_size, "")
    log = StoredFile(str(path), path.stat().st_size, "")
    return StoredSegment(log, int(path.stem), is_newest, beside)


def in_memory(data: bytes, index: bytes | None = None, base_offset: int = 0) -> tuple[Places, StoredSegment]:
    """A segment behind a network."""
    stem = f"m:/t-0/{base_offset:020}"
    files = {f"{stem}.log": data} | ({} if index is None else {f"{stem}.index": index})
    beside = {} if index is None else {"index": StoredFile(f"{stem}.index", len(index), "")}
    return MemoryPlaces(files), StoredSegment(
        StoredFile(f"{stem}.log", len(data), ""), base_offset, True, beside
    )


def batches(path: Path) -> list[Batch]:
    with open_segment(path) as segment:
        return [entry for entry in segment.iter_entries() if isinstance(entry, Batch)]


def log_of(segment: StoredSegment, end: LogEnd = NO_NOTES, **more: object) -> PartitionLog:
    return PartitionLog("t", 0, (LogPiece(segment.base_offset, None, segment),), end=end, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [True, False])
def test_recorded_segments_end_where_their_batches_do(index: bool) -> None:
    assert len(SEGMENTS) > 250
    for path in SEGMENTS:
        found = find_end(Places(), stored(path, index=index))
        of_all = batches(path)
        last = max((batch.last_offset for batch in of_all), default=int(path.stem) - 1)
        assert found.end_offset == max(last + 1, int(path.stem)), path
        assert found.position == (of_all[-1].end_position if of_all else 0)
        assert found.tail is None
        assert (found.last and found.last.position) == (of_all[-1].position if of_all else None)


def test_with_an_index_the_end_alone_is_read() -> None:
    path = next(path for path in SEGMENTS if path.parent == MULTI)
    places, segment = in_memory(path.read_bytes(), path.with_suffix(".index").read_bytes())
    position = find_end(places, segment).position
    damaged = bytearray(path.read_bytes())
    damaged[: position // 2] = bytes(position // 2)
    places, segment = in_memory(bytes(damaged), path.with_suffix(".index").read_bytes())
    found = find_end(places, segment)
    assert found.position == position


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize(
    "index",
    [b"", b"\0" * 800, b"12345", b"\0\0\0\x01\x7f\xff\xff\xff", b"\0\0\0\x01\0\0\0\x05", b"\xff" * 8, None],
)
def test_an_index_that_lies_costs_time_only(tmp_path: Path, index: bytes | None, remote: bool) -> None:
    path = SEGMENTS[SEGMENTS.index(MULTI / f"{0:020}.log")]
    expected = batches(path)[-1]
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    if index is not None:
        copy.with_suffix(".index").write_bytes(index)
    places, segment = in_memory(path.read_bytes(), index) if remote else (Places(), stored(copy))
    found = find_end(places, segment)
    assert (found.end_offset, found.position) == (expected.last_offset + 1, expected.end_position)


@pytest.mark.parametrize("index", [True, False])
def test_every_way_in_which_a_last_batch_can_be_incomplete(index: bool) -> None:
    path = MULTI / f"{0:020}.log"
    data, entries = path.read_bytes(), batches(path)
    last, before = entries[-1], entries[-2]
    # Zeros alone, as an offset begins, are no beginning.
    cuts = [*range(last.position + 8, last.position + 80), last.end_position - 1]
    for cut in (cut for cut in cuts if cut < last.end_position):
        places, segment = in_memory(data[:cut], path.with_suffix(".index").read_bytes() if index else None)
        found = find_end(places, segment)
        assert (found.end_offset, found.position) == (before.last_offset + 1, before.end_position), cut
        assert found.is_tail_pending, cut
        assert found.tail is not None
        assert (found.tail.position, found.tail.end_position) == (last.position, cut)


def test_a_last_batch_that_is_whole_and_wrong_is_damage() -> None:
    path = MULTI / f"{0:020}.log"
    data, last = bytearray(path.read_bytes()), batches(path)[-1]
    data[-1] ^= 1
    places, segment = in_memory(bytes(data))
    found = find_end(places, segment)
    assert found.end_offset == last.base_offset
    assert found.tail is not None
    assert found.tail.position == last.position
    assert not found.is_tail_pending


def test_zeros_behind_the_end_are_nothing() -> None:
    path = MULTI / f"{0:020}.log"
    last = batches(path)[-1]
    places, segment = in_memory(path.read_bytes() + bytes(100_000))
    found = find_end(places, segment)
    assert (found.end_offset, found.tail, found.ends_in_zeros) == (last.last_offset + 1, None, True)


def test_lower_batches_after_the_highest_do_not_lower_the_end() -> None:
    """Found by tests/invariant (seed 739943, case 27110): two batches came again at the end."""
    data = b"".join(build.batch(offset) for offset in (7, 8, 9, 10, 8, 9))
    places, segment = in_memory(data, base_offset=7)
    found = find_end(places, segment)
    assert (found.end_offset, found.highest) == (11, 10)


def test_an_empty_segment_ends_where_it_begins() -> None:
    places, segment = in_memory(b"", b"", 40)
    assert find_end(places, segment).end_offset == 40


def test_the_last_batch_below_an_offset() -> None:
    path = MULTI / f"{0:020}.log"
    entries = batches(path)
    for index in (True, False):
        segment = stored(path, index=index)
        for before, batch in zip([None, *entries], [*entries, None], strict=True):
            end = 10**9 if batch is None else batch.base_offset
            assert end is not None
            found = last_sound_batch(Places(), segment, end)
            assert (found and found.position) == (before and before.position)


def test_a_broker_that_ran_while_its_files_were_copied() -> None:
    """`running` was copied from under a broker: indexes have zeros, and so has a preallocated segment."""
    for copy in discover(Places(), [str(RECORDED / "kafka-4.3" / "running")]):
        newest = copy.segments[-1]
        of_all = batches(Path(newest.file.path))
        found = find_end(Places(), newest)
        assert found.end_offset == max([newest.base_offset, *(batch.last_offset + 1 for batch in of_all)])
        assert found.tail is None
        assert copy.end.high_watermark is None or copy.end.high_watermark <= found.end_offset
