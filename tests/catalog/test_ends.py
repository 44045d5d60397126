"""Where a log ends, and where reading stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.catalog.memory import MemoryPlaces

from kafka_segments import open_segment
from kafka_segments.catalog.discovery import discover
from kafka_segments.catalog.ends import find_end, find_read_end, last_sound_batch
from kafka_segments.catalog.model import LogEnd, PartitionLog, Piece, StoredFile, StoredSegment
from kafka_segments.entries import Batch
from kafka_segments.errors import OptionError
from kafka_segments.places import Places

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
    return PartitionLog("t", 0, (Piece(segment.base_offset, None, segment),), end=end, **more)  # type: ignore[arg-type]


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
        assert not found.is_hint_wrong


def test_with_an_index_the_end_alone_is_read() -> None:
    path = next(path for path in SEGMENTS if path.parent == MULTI)
    places, segment = in_memory(path.read_bytes(), path.with_suffix(".index").read_bytes())
    position = find_end(places, segment).position
    damaged = bytearray(path.read_bytes())
    damaged[: position // 2] = bytes(position // 2)
    places, segment = in_memory(bytes(damaged), path.with_suffix(".index").read_bytes())
    found = find_end(places, segment)
    assert (found.position, found.is_hint_wrong) == (position, False)


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
    assert found.is_hint_wrong == (index in (b"\0\0\0\x01\x7f\xff\xff\xff", b"\0\0\0\x01\0\0\0\x05"))


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
        end = find_read_end(places, log_of(segment))
        assert (end.end_offset, end.log_end_offset, end.damage) == (last.base_offset, last.base_offset, None)
        (left,) = end.left_out
        assert (left.first_offset, left.last_offset) == (last.base_offset, None)
        assert left.num_bytes == cut - last.position
        assert f"an incomplete batch at position {last.position}" in left.why


def test_a_last_batch_that_is_whole_and_wrong_is_damage() -> None:
    path = MULTI / f"{0:020}.log"
    data, last = bytearray(path.read_bytes()), batches(path)[-1]
    data[-1] ^= 1
    places, segment = in_memory(bytes(data))
    end = find_read_end(places, log_of(segment))
    assert end.log_end_offset == last.base_offset
    assert end.damage is not None
    assert end.damage.position == last.position
    assert end.left_out == ()
    # While a broker writes, nobody can say so: in a file with room the bytes come last.
    live = find_read_end(places, log_of(segment, LogEnd(True, 0)))
    assert live.damage is None
    assert live.left_out[-1].first_offset == last.base_offset


def test_zeros_behind_the_end_are_nothing() -> None:
    path = MULTI / f"{0:020}.log"
    last = batches(path)[-1]
    places, segment = in_memory(path.read_bytes() + bytes(100_000))
    end = find_read_end(places, log_of(segment))
    assert (end.end_offset, end.left_out, end.damage) == (last.last_offset + 1, (), None)


def test_an_empty_segment_ends_where_it_begins() -> None:
    places, segment = in_memory(b"", b"", 40)
    assert find_end(places, segment).end_offset == 40
    assert find_read_end(places, log_of(segment)).end_offset == 40
    empty = PartitionLog("t", 0, (), log_start_offset=7)
    assert find_read_end(places, empty).end_offset == 7


@pytest.mark.parametrize(
    ("mode", "is_live", "high_watermark", "start", "end"),
    [
        ("default", False, 20, None, 40),
        ("default", False, None, None, 40),
        ("default", True, 20, None, 20),
        ("default", True, None, None, 0),
        ("default", True, None, 5, 5),
        ("default", True, 3, 5, 5),
        ("default", True, 999, None, 40),
        ("high-watermark", False, 20, None, 20),
        ("high-watermark", True, 20, None, 20),
        ("log-end", True, 20, None, 40),
        ("log-end", False, None, None, 40),
    ],
)
def test_modes(mode: str, is_live: bool, high_watermark: int | None, start: int | None, end: int) -> None:
    path = RECORDED / "kafka-4.3" / "clean" / "multi-0" / f"{0:020}.log"
    segment = stored(path)
    log_end = find_end(Places(), segment).end_offset
    end = log_end if end == 40 else end
    log = log_of(segment, LogEnd(is_live, high_watermark), log_start_offset=start)
    found = find_read_end(Places(), log, mode)  # type: ignore[arg-type]
    assert (found.end_offset, found.log_end_offset) == (end, log_end)
    left = [(one.first_offset, one.last_offset) for one in found.left_out]
    assert left == ([(end, log_end - 1)] if end < log_end else [])
    if left:
        assert "endingOffsets=log-end" in found.left_out[0].why
        assert str(high_watermark or 0) in found.left_out[0].why


def test_an_end_that_is_not_known_or_does_not_exist() -> None:
    log = log_of(stored(MULTI / f"{0:020}.log"), copies=("/d/t-0",))
    with pytest.raises(OptionError, match="no high watermark is noted for partition t-0") as caught:
        find_read_end(Places(), log, "high-watermark")
    assert caught.value.path == "/d/t-0"
    with pytest.raises(OptionError, match="give 'default'"):
        find_read_end(Places(), log, "latest")  # type: ignore[arg-type]


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
