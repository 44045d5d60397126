"""Records from another copy where one is damaged, and records that are too large."""

from __future__ import annotations

import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.query.range_logs import losses, offsets, one, partition, run, write
from tests.query.splits import RECORDED, read, rows, split_of, stored, whole

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import ReadError, RecordTooLargeError
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.model import StoredSegment
from kafka_segments.query.read.split_reader import Reading, read_split


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return partition(tmp_path)


def test_arrow_batches_are_bounded(tmp_path: Path) -> None:
    """One large record must not take all that stand beside it along."""
    values = [b"x" * (3 << 20)] * 8
    records = [record(at, None, value) for at, value in enumerate(values)]
    path = write(tmp_path, 0, batch(0, records, count=8, last_offset_delta=7))
    found = Findings()
    batches = list(read_split(split_of(stored(path), 0, 8), Places(), Reading(("value",)), found))
    assert [row[0] for row in rows(batches)] == values
    assert max(one.nbytes for one in batches) <= 8 << 20


def test_a_record_that_is_too_large_is_named(tmp_path: Path) -> None:
    large = record(2, b"k", b"x" * (20 << 20))
    path = write(tmp_path, 0, batch(0, [record(0), record(1), large], count=3, last_offset_delta=2))
    split = split_of(stored(path), 0, 3)
    with pytest.raises(RecordTooLargeError, match="topic topic, partition 3, offset 2") as caught:
        read(split, ("value",), max_row_size=10 << 20)
    error = caught.value
    assert (error.topic, error.partition, error.offset) == ("topic", 3, 2)
    assert error.size is not None and error.size > 20 << 20
    assert read(split, ("key",), max_row_size=10 << 20)[0] == [(None,), (None,), (b"k",)]


def damaged(path: Path, *places: int) -> Path:
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 1
    path.write_bytes(data)
    return path


def test_the_best_of_copies(log: Path, tmp_path: Path) -> None:
    size = len(one(100))
    others = [tmp_path / name for name in ("b", "c")]
    for other in others:
        shutil.copytree(log, other)
    first = damaged(log / f"{100:020}.log", 70, 5 * size + 70, 5 * size + size + 70, 19 * size + 70)
    second = damaged(others[0] / first.name, 6 * size + 70)
    third = stored(others[1] / first.name)
    split = split_of(stored(first), 100, 200, others=(stored(second), third), following=200)
    got, told = offsets(split, is_best=True)
    assert got == list(range(100, 200))
    assert told.of(Kind.DAMAGE) == told.of(Kind.LOST) == []
    assert "were read from" in str(told.of(Kind.NOTE)[-1])
    got, told = offsets(split)
    assert len(told.of(Kind.DAMAGE)) == 3


def strayed(tmp_path: Path, name: str, base: int, end_offset: int) -> StoredSegment:
    """A copy with other records (keys of a leader that was deposed) from its end on, and behind it."""
    path = write(tmp_path / name, base, run(base, 40 - base // 5, leader_epoch=9))
    return stored(path, end_offset=end_offset)


def test_what_does_not_count_in_a_copy_is_not_taken(log: Path, tmp_path: Path) -> None:
    size = len(one(100))
    first = damaged(log / f"{100:020}.log", *(at * size + 70 for at in range(8, 14)))
    short = strayed(tmp_path, "b", 100, 155)
    split = split_of(stored(first), 100, 200, others=(short,), following=200)
    got, told = offsets(split, is_best=True)
    assert got == [*range(100, 155), *range(170, 200)]
    assert told.of(Kind.DAMAGE) and {one.path for one in told.of(Kind.DAMAGE)} == {str(first)}
    further = strayed(tmp_path, "c", 130, 165), strayed(tmp_path, "d", 160, 200)
    got, told = offsets(replace(split, others=(short, *further)), is_best=True)
    assert got == list(range(100, 200))
    assert told.of(Kind.DAMAGE) == told.of(Kind.LOST) == []
    assert str(further[1].file.path) in str(told.of(Kind.NOTE)[-1])


def test_a_segment_that_is_gone_is_not_read_behind_the_end_of_another(log: Path, tmp_path: Path) -> None:
    split = split_of(stored(log / f"{100:020}.log"), 100, 200, following=200)
    shutil.rmtree(log)
    short = strayed(tmp_path, "b", 100, 155)
    got, told = offsets(replace(split, others=(short,)))
    assert got == list(range(100, 155))
    assert losses(told) == [(155, 199)]
    got, told = offsets(replace(split, others=(short, strayed(tmp_path, "c", 130, 200))))
    assert got == list(range(100, 200)) and losses(told) == []
    assert offsets(replace(split, start=160, others=(short,)))[0] == []


def test_what_is_missing_at_the_end_is_looked_for_in_other_copies(log: Path, tmp_path: Path) -> None:
    """Planning does not notice every segment that is lost behind one."""
    write(log, 100, run(100, 12))
    split = split_of(stored(log / f"{100:020}.log"), 110, 200, following=200)
    assert losses(offsets(split)[1]) == [(160, 199)]
    other = stored(write(tmp_path / "b", 130, run(130, 14)))
    for best in (False, True):
        got, told = offsets(replace(split, others=(other,)), is_best=best)
        assert got == list(range(110, 200)) and told.of(Kind.LOST) == []
    short = stored(write(tmp_path / "c", 130, run(130, 10)))
    got, told = offsets(replace(split, others=(short,)))
    assert got == list(range(110, 180)) and losses(told) == [(180, 199)]
    assert "ends with offset 159, and no other copy has them" in told.of(Kind.LOST)[0].detail
    got, told = offsets(replace(split, others=(other,), cleaned_up_to=1 << 62))
    assert got == list(range(110, 160)) and told.of(Kind.LOST) == []


def test_what_no_copy_has_is_told_of_the_preferred_one(log: Path, tmp_path: Path) -> None:
    size = len(one(100))
    other = tmp_path / "b"
    shutil.copytree(log, other)
    first = damaged(log / f"{100:020}.log", 5 * size + 70)
    second = damaged(other / first.name, 5 * size + 80)
    split = split_of(stored(first), 100, 200, others=(stored(second),), following=200)
    got, told = offsets(split, is_best=True)
    assert got == [at for at in range(100, 200) if not 125 <= at < 130]
    assert [one.path for one in told.of(Kind.DAMAGE)] == [str(first)]


def test_a_copy_that_cannot_be_read_is_no_help(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = damaged(log / f"{100:020}.log", 70)
    other = stored(write(tmp_path / "b", 100, run(100, 20)))
    real = Places.open

    def refused(self, path, *rest):
        if path == other.file.path:
            raise ReadError("not allowed", errno=13, path=path)
        return real(self, path, *rest)

    monkeypatch.setattr(Places, "open", refused)
    split = split_of(stored(first), 100, 200, others=(other,), following=200)
    got, told = offsets(split, is_best=True)
    assert got == list(range(105, 200))
    assert [one.position for one in told.of(Kind.DAMAGE)] == [0]


def test_messages_that_came_already_do_not_come_again(tmp_path: Path) -> None:
    """A wrapper with a damaged message delivers those behind it, before the other copy is asked."""
    source = next(path for path in sorted(RECORDED.rglob("kafka-0*/**/*.log")) if is_wrapped(path))
    assert whole(source)
    copy = tmp_path / "a" / source.name
    copy.parent.mkdir()
    copy.write_bytes(inner_damage(source.read_bytes()))
    assert whole(copy) != whole(source)
    split = split_of(stored(copy), stored(copy).base_offset, None, others=(stored(source),))
    got, told = read(split, is_best=True)
    assert sorted(got) == sorted(whole(source))
    assert told.of(Kind.DAMAGE) == []


def is_wrapped(path: Path) -> bool:
    """Whether the first entry is a wrapper of gzip, with a few messages."""
    data = path.read_bytes()
    return len(data) > 20 and data[16] in (0, 1) and data[17] & 7 == 1 and len(whole(path)) > 10


def inner_damage(data: bytes) -> bytes:
    """The first wrapper with its second message damaged, and right again outside."""
    head = 12 + 4 + 1 + 1 + (8 if data[16] == 1 else 0)
    end = 12 + int.from_bytes(data[8:12], "big")
    len_key = int.from_bytes(data[head : head + 4], "big", signed=True)
    place = head + 4 + max(len_key, 0) + 4
    inner = bytearray(zlib.decompress(data[place:end], wbits=31))
    second = 12 + int.from_bytes(inner[8:12], "big")
    inner[second + 12 + int.from_bytes(inner[second + 8 : second + 12], "big") - 1] ^= 1
    deflater = zlib.compressobj(wbits=31)
    value = deflater.compress(bytes(inner)) + deflater.flush()
    body = data[16 : place - 4] + len(value).to_bytes(4, "big") + value
    body = zlib.crc32(body).to_bytes(4, "big") + body
    return data[:8] + len(body).to_bytes(4, "big") + body + data[end:]
