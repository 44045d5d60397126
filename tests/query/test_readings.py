"""What a task makes of files that are not as they were planned, of losses, of large records."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.query.range_logs import losses, offsets, one, partition, planned, run, write
from tests.query.splits import read, split_of, stored

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import ChecksumMismatchError, ReadError, UnknownFormatError
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.query.read.split_reader import Reading, read_split


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return partition(tmp_path)


def test_a_file_that_is_as_planned(log: Path) -> None:
    got, told = offsets(planned(log, 100, 120, 180, following=200))
    assert got == list(range(120, 180))
    assert told == Findings(12, len(run(120, 12)))


def test_columns_come_in_the_order_asked_for_with_and_without_offset(log: Path) -> None:
    split = planned(log, 100, 198, 200, following=200)
    assert read(split, ("value", "key"))[0] == [(b"v198", b"k198"), (b"v199", b"k199")]
    assert read(split, ("value", "offset"))[0] == [(b"v198", 198), (b"v199", 199)]


def test_a_wrong_hint_is_told_and_costs_nothing(log: Path) -> None:
    late = len(run(100, 10))  # an entry stands there, behind the range's beginning
    got, told = offsets(planned(log, 100, 120, 180, position=late, following=200))
    assert got == list(range(120, 180))
    assert [(note.position, note.topic, note.partition) for note in told.of(Kind.NOTE)] == [
        (late, "topic", 3)
    ]
    assert "the .index is wrong" in str(told.of(Kind.NOTE)[0])


def test_a_right_hint_is_not_told(log: Path) -> None:
    place = len(run(100, 3))
    got, told = offsets(planned(log, 100, 120, 180, position=place, end_position=place, following=200))
    assert got == list(range(120, 180))
    assert told.of(Kind.NOTE) == []


def test_bytes_before_a_right_hint_and_far_behind_the_end_are_not_read(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(log, 300, run(300, 40_000))
    place, behind = len(run(300, 20_000)), len(run(300, 20_100))
    places = []
    real = Places.open

    def watched(*args):
        source = real(*args)
        read, window = source.read, source.window
        monkeypatch.setattr(source, "read", lambda at, size: places.append((at, size)) or read(at, size))
        monkeypatch.setattr(
            source, "window", lambda at, size, to: places.append((at, size)) or window(at, size, to)
        )
        return source

    monkeypatch.setattr(Places, "open", watched)
    split = split_of(stored(path), 100_300, 100_800, position=place, end_position=behind, following=200_300)
    got, told = offsets(split)
    assert got == list(range(100_300, 100_800))
    assert told.of(Kind.LOST) == told.of(Kind.NOTE) == []
    assert min(at for at, _ in places) >= place
    assert max(at + size for at, size in places) <= behind + (64 << 10)


def test_an_offset_that_is_wrong_before_the_end_hides_nothing(tmp_path: Path) -> None:
    data = run(0, 5) + one(9000) + run(30, 10)  # no checksum covers it: it was 25
    path = write(tmp_path, 0, data)
    split = split_of(stored(path), 0, 60, end_position=len(run(0, 11)), following=80)
    assert offsets(split)[0] == [*range(25), *range(30, 60)]


def test_a_deleted_segment_is_found_in_another_copy(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other" / "topic-3"
    shutil.copytree(log, copy)
    split = planned(log, 100, 120, 180, position=1, following=200, copies=(str(log), str(copy)))
    os.remove(split.segment.file.path)
    got, told = offsets(split)
    assert got == list(range(120, 180))
    assert told.of(Kind.LOST) == []
    assert "deleted after planning" in str(told.of(Kind.NOTE)[0])


def test_a_deleted_segment_that_nobody_has_is_a_loss(log: Path) -> None:
    split = planned(log, 100, 120, 180, following=200)
    os.remove(split.segment.file.path)
    got, told = offsets(split)
    assert got == []
    assert losses(told) == [(120, 179)]
    assert split.segment.file.path in told.of(Kind.LOST)[0].detail


def test_a_directory_that_is_gone_is_a_loss_even_where_the_cleaner_was(log: Path) -> None:
    split = planned(log, 100, 120, 180, following=200, cleaned_up_to=1 << 62)
    shutil.rmtree(log)
    assert losses(offsets(split)[1]) == [(120, 179)]


def test_segments_that_were_merged_are_found_by_offset(log: Path) -> None:
    split = planned(log, 100, 110, 200, following=200, position=len(run(100, 1)))
    os.remove(split.segment.file.path)
    swap = write(log, 1, run(0, 18) + run(100, 20)).rename(log / "x.swap")
    swap.rename(log / f"{0:020}.log")
    got, told = offsets(split)
    assert got == list(range(110, 200))
    assert told.of(Kind.LOST) == []


def test_a_segment_that_was_swapped_is_read_by_offset(log: Path) -> None:
    """The cleaner puts another file in its place; what the next segments hold is theirs."""
    split = planned(log, 100, 150, 200, following=200, position=len(run(100, 10)))
    swap = write(log, 1, run(100, 2) + run(150, 9) + run(200, 2)).rename(log / "x.swap")
    swap.rename(split.segment.file.path)
    got, told = offsets(split)
    assert got == list(range(150, 195))
    assert losses(told) == []  # 195 to 199 is a gap between two sound entries


def test_a_segment_that_shrank_lacks_what_is_nowhere_else(log: Path) -> None:
    split = planned(log, 200, 210, 250)
    with open(split.segment.file.path, "r+b") as file:
        file.truncate(len(run(200, 4)))
    got, told = offsets(split)
    assert got == list(range(210, 220))
    assert losses(told) == [(220, 249)]


def test_a_segment_that_was_truncated_and_rolled_goes_on_in_the_next(log: Path) -> None:
    split = planned(log, 200, 210, 250)
    with open(split.segment.file.path, "r+b") as file:
        file.truncate(len(run(200, 4)))
    write(log, 220, run(220, 10))
    got, told = offsets(split)
    assert got == list(range(210, 250))
    assert losses(told) == []


def test_a_newest_segment_that_has_grown_and_rolled_ends_where_it_was_planned(log: Path) -> None:
    split = planned(log, 200, 210, 250)
    with open(split.segment.file.path, "ab") as file:
        file.write(run(250, 3))
    write(log, 265, run(265, 1))
    got, told = offsets(split)
    assert got == list(range(210, 250))
    assert losses(told) == []


@pytest.mark.parametrize("cleaned_up_to", [None, 0])
def test_offsets_missing_at_either_end_of_a_segment_are_lost(log: Path, cleaned_up_to: int | None) -> None:
    write(log, 100, run(110, 16))
    got, told = offsets(planned(log, 100, 100, 200, following=200, cleaned_up_to=cleaned_up_to))
    assert got == list(range(110, 190))
    assert losses(told) == [(100, 109), (190, 199)]


def test_where_the_cleaner_was_they_are_not(log: Path) -> None:
    write(log, 100, run(110, 16))
    assert losses(offsets(planned(log, 100, 100, 200, following=200, cleaned_up_to=1 << 62))[1]) == []
    write(log, 100, run(110, 4) + run(140, 10))  # a gap between batches
    assert losses(offsets(planned(log, 100, 100, 200, following=200))[1]) == []
    holed = batch(120, [record(0), record(3)], count=2, last_offset_delta=4)
    write(log, 100, run(110, 2) + holed + run(125, 10))  # one inside a batch
    assert losses(offsets(planned(log, 100, 100, 200, following=200))[1]) == []


def test_an_empty_segment_before_another_is_lost(log: Path) -> None:
    write(log, 100, b"")
    assert losses(offsets(planned(log, 100, 120, 200, following=200))[1]) == [(120, 199)]


def test_zeros_stand_for_no_offsets(log: Path) -> None:
    write(log, 100, run(100, 10) + bytes(9000))
    got, told = offsets(planned(log, 100, 100, 200, following=200))
    assert got == list(range(100, 150))
    assert losses(told) == [(150, 199)]
    assert told.of(Kind.DAMAGE) == told.of(Kind.PENDING) == []


def test_damage_is_damage_and_no_loss_besides(log: Path) -> None:
    data = bytearray(run(100, 20))
    data[-3] ^= 1
    data[70] ^= 1
    write(log, 100, bytes(data))
    got, told = offsets(planned(log, 100, 100, 200, following=200))
    assert got == list(range(105, 195))
    assert [type(one.error) for one in told.of(Kind.DAMAGE)] == [ChecksumMismatchError] * 2
    assert losses(told) == []


def test_damage_outside_the_range_is_not_told(log: Path) -> None:
    data = bytearray(run(100, 20))
    data[len(run(100, 3)) + 70] ^= 1
    write(log, 100, bytes(data))
    for start, end, count in [(100, 115, 0), (100, 117, 1), (119, 140, 1), (120, 140, 0), (130, 200, 0)]:
        got, told = offsets(planned(log, 100, start, end, following=200))
        assert got == [at for at in range(start, end) if not 115 <= at < 120]
        assert len(told.of(Kind.DAMAGE)) == count, (start, end)


def test_a_batch_that_is_being_written_is_pending(log: Path) -> None:
    data = run(200, 4)
    path = write(log, 200, data[:-7])
    got, told = offsets(split_of(stored(path, is_newest=True), 200, None))
    assert got == list(range(200, 215))
    assert (len(told.of(Kind.PENDING)), told.of(Kind.DAMAGE), told.of(Kind.LOST)) == (1, [], [])
    got, told = offsets(split_of(stored(path), 200, None))
    assert (len(told.of(Kind.DAMAGE)), told.of(Kind.PENDING)) == (1, [])


def test_void_batches_are_left_out(tmp_path: Path) -> None:
    fields = {"attributes": 1 << 4, "producer_id": 7}
    path = write(tmp_path, 0, one(0) + one(5, **fields) + one(10, **fields) + one(15))
    split = split_of(stored(path), 2, 18, excluded=((7, 5, 9),), following=20)
    got, told = offsets(split)
    assert got == [2, 3, 4, *range(10, 18)]
    assert losses(told) == []


def test_findings_may_end_the_reading(log: Path) -> None:
    class Strict(Findings):
        def add(self, finding) -> None:
            raise finding.error

    data = bytearray(run(100, 20))
    data[70] ^= 1
    write(log, 100, bytes(data))
    batches = read_split(planned(log, 100, 100, 200), Places(), Reading(("offset",)), Strict())
    with pytest.raises(ChecksumMismatchError, match=r"position 0: .*\(topic topic, partition 3\)$"):
        list(batches)


def test_what_cannot_be_opened_is_an_error_and_no_loss(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = planned(log, 100, 100, 200)
    monkeypatch.setattr(Places, "open", lambda *_: (_ for _ in ()).throw(ReadError("no", errno=13)))
    with pytest.raises(ReadError, match=r"00100\.log: no \(topic topic, partition 3\)"):
        offsets(split)


def test_another_programs_log_is_refused(tmp_path: Path) -> None:
    from zlib import crc32

    payload = b"hello"
    data = (len(payload) + 6).to_bytes(4, "big") + b"\1\0" + crc32(payload).to_bytes(4, "big") + payload
    path = write(tmp_path, 0, data)
    with pytest.raises(UnknownFormatError, match=r"Kafka 0\.7"):
        offsets(split_of(stored(path), 0, None))


def test_a_form_that_is_not_known_is_named(log: Path) -> None:
    split = split_of(stored(log / f"{100:020}.log", form="sealed"), 100, 200)
    with pytest.raises(ValueError, match="'sealed'"):
        offsets(split)


@pytest.mark.parametrize(("start", "end"), [(120, 120), (150, 130)])
def test_an_empty_range_has_nothing_and_lacks_nothing(log: Path, start: int, end: int) -> None:
    assert offsets(planned(log, 100, start, end, following=200)) == ([], Findings())
