"""Damage and padding in their places: the rows of the contract's table, where regions end, what is lost."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests import work
from tests.io.test_storage import break_blocks
from tests.made.build import batch, control, message, patched, record

from kafka_segments import Batch, Damage, Padding, open_segment
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.core.segment.segment import Segment

# Four batches of two records: offsets 0-1, 2-3, 4-5, 6-7.
BATCHES = [batch(offset, [record(0, b"k", b"value"), record(1)]) for offset in (0, 2, 4, 6)]
SIZE = len(BATCHES[0])
GOOD = b"".join(BATCHES)
NAME = "00000000000000000000.log"


def opened(tmp_path: Path, data: bytes, name: str = NAME, **options: bool) -> Segment:
    (tmp_path / name).write_bytes(data)
    return open_segment(tmp_path / name, **options)


def told(segment: Segment) -> list[object]:
    """Events in short: base offsets of batches, tuples of damage and padding; records left out."""
    short: list[object] = []
    for event in segment.iter_events(on_damage="skip"):
        if isinstance(event, Batch):
            short.append(event.base_offset if event.crc_valid is not False else f"bad {event.base_offset}")
        elif isinstance(event, Damage):
            lost = (event.first_lost_offset, event.last_lost_offset)
            short.append((type(event.error).__name__, event.position, event.end_position, *lost))
        elif isinstance(event, Padding):
            short.append(("padding", event.position, event.end_position))
    return short


def test_a_sound_segment(tmp_path: Path) -> None:
    assert told(opened(tmp_path, GOOD)) == [0, 2, 4, 6]
    assert told(opened(tmp_path, b"")) == []


def test_a_wrong_checksum(tmp_path: Path) -> None:
    data = patched(GOOD, SIZE + 70, b"\xff")
    assert told(opened(tmp_path, data)) == [
        0,
        "bad 2",
        ("ChecksumMismatchError", SIZE, 2 * SIZE, 2, 3),
        4,
        6,
    ]
    assert told(opened(tmp_path, data, headers_only=True)) == [0, 2, 4, 6]
    (error,) = [e.error for e in open_segment(data).iter_entries("skip") if isinstance(e, Damage)]
    assert error.detail.startswith("stored 0x") and ", computed 0x" in error.detail


def test_unchecked_checksums_are_no_damage(tmp_path: Path) -> None:
    data = patched(GOOD, SIZE + 17, b"\xff\xff\xff\xff")
    assert told(opened(tmp_path, data, check_crc=False)) == [0, 2, 4, 6]
    crcs = [e.crc_valid for e in open_segment(data, check_crc=False).iter_entries() if isinstance(e, Batch)]
    assert crcs == [None] * 4


@pytest.mark.parametrize(
    "length", [b"\0\0\0\0", b"\0\0\0\x0d", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x30"]
)
def test_a_length_that_cannot_be(tmp_path: Path, length: bytes) -> None:
    data = patched(GOOD, SIZE + 8, length)
    assert told(opened(tmp_path, data)) == [0, ("LengthMismatchError", SIZE, 2 * SIZE, 2, 3), 4, 6]


@pytest.mark.parametrize("length", [b"\0\0\0\x31", b"\0\0\0\x50"])
def test_a_length_that_is_too_small_for_the_checksum(tmp_path: Path, length: bytes) -> None:
    data = patched(GOOD, SIZE + 8, length)
    assert told(opened(tmp_path, data)) == [0, "bad 2", ("ChecksumMismatchError", SIZE, 2 * SIZE, 2, 3), 4, 6]


def test_a_message_of_magic_1_without_room_for_its_timestamp(tmp_path: Path) -> None:
    data = message(0) + b"\0" * 11 + b"\x01" + b"\0\0\0\x10" + b"abcd" + b"\x01" + b"x" * 11 + message(2)
    short = told(opened(tmp_path, data))
    assert short[0] == 0 and short[-1] == 2
    assert [entry[0] for entry in short[1:-1] if isinstance(entry, tuple)] == ["LengthMismatchError"]


@pytest.mark.parametrize("kept", [1, 16, 17, 60, 61, SIZE - 1])
def test_a_file_that_ends_inside_an_entry(tmp_path: Path, kept: int) -> None:
    segment = opened(tmp_path, GOOD[: 3 * SIZE + kept])
    # One byte of a base offset is a zero, and zeros to the end are padding.
    last = ("padding",) if kept == 1 else ("TruncatedError",)
    lost = () if kept == 1 else (6, None)
    assert told(segment) == [0, 2, 4, (*last, 3 * SIZE, 3 * SIZE + kept, *lost)]


def test_a_length_beyond_the_end_in_the_middle(tmp_path: Path) -> None:
    data = patched(GOOD, SIZE + 8, b"\x7f\xff\xff\xff")
    assert told(opened(tmp_path, data)) == [0, ("TruncatedError", SIZE, 2 * SIZE, 2, 3), 4, 6]


@pytest.mark.parametrize("magic", [3, 127, 0xFF, 0x80])
def test_an_unknown_magic(tmp_path: Path, magic: int) -> None:
    data = patched(GOOD, SIZE + 16, bytes([magic]))
    assert told(opened(tmp_path, data)) == [0, ("UnsupportedMagicError", SIZE, 2 * SIZE, 2, 3), 4, 6]


@pytest.mark.parametrize("num_zeros", [1, 16, 17, 5000])
def test_zeros_to_the_end_are_padding(tmp_path: Path, num_zeros: int) -> None:
    size = len(GOOD)
    assert told(opened(tmp_path, GOOD + bytes(num_zeros))) == [
        0,
        2,
        4,
        6,
        ("padding", size, size + num_zeros),
    ]
    assert told(opened(tmp_path, bytes(num_zeros))) == [("padding", 0, num_zeros)]


def test_zeros_that_do_not_reach_the_end_are_damage(tmp_path: Path) -> None:
    data = BATCHES[0] + bytes(500) + BATCHES[1]
    assert told(opened(tmp_path, data)) == [0, ("LengthMismatchError", SIZE, SIZE + 500, None, None), 2]


def test_a_write_cut_short_in_a_preallocated_file(tmp_path: Path) -> None:
    torn = batch(8, [record(0, None, b"x" * 500)])
    data = GOOD + torn[:200] + bytes(10_000)
    size, end = len(GOOD), len(GOOD) + 200
    assert told(opened(tmp_path, data)) == [
        0,
        2,
        4,
        6,
        "bad 8",
        ("ChecksumMismatchError", size, end, 8, None),
        ("padding", end, len(data)),
    ]


def test_a_damaged_last_batch_ends_where_it_says_before_padding(tmp_path: Path) -> None:
    data = patched(GOOD, 3 * SIZE + 70, b"\xff") + bytes(3000)
    assert told(opened(tmp_path, data))[3:] == [
        "bad 6",
        ("ChecksumMismatchError", 3 * SIZE, 4 * SIZE, 6, None),
        ("padding", 4 * SIZE, len(data)),
    ]


def test_an_entry_past_the_end_of_a_preallocated_file(tmp_path: Path) -> None:
    data = GOOD + patched(BATCHES[0], 8, b"\x0f\0\0\0")[:60] + bytes(1000)
    (damage, padding) = told(opened(tmp_path, data))[4:]
    zeros = len(data.rstrip(b"\0"))
    assert damage == ("TruncatedError", len(GOOD), zeros, 8, None)
    assert padding == ("padding", zeros, len(data))


def test_garbage_between_entries_is_searched_through(tmp_path: Path) -> None:
    garbage = random.Random(4).randbytes(3000)
    data = BATCHES[0] + garbage + BATCHES[2] + BATCHES[3]
    (damage,) = [e for e in told(opened(tmp_path, data)) if isinstance(e, tuple)]
    assert damage[1:] == (SIZE, SIZE + 3000, 2, 3)


def test_a_segment_inside_a_value_is_not_taken_for_the_next_entry(tmp_path: Path) -> None:
    carrier = batch(2, [record(0, None, GOOD), record(1)])
    size = len(carrier)
    data = BATCHES[0] + patched(carrier, 61, b"\xff\xff") + BATCHES[2]
    assert told(opened(tmp_path, data)) == [0, "bad 2", ("ChecksumMismatchError", SIZE, SIZE + size, 2, 3), 4]
    # Its length gone, the carrier is searched; entries at or below the last sound offset are passed over.
    data = BATCHES[1] + patched(batch(4, [record(0, None, BATCHES[0] + BATCHES[1])]), 8, b"\xff") + batch(5)
    assert told(opened(tmp_path, data))[-1] == 5
    assert told(opened(tmp_path, data))[1][0] == "LengthMismatchError"  # type: ignore[index]


def test_the_name_is_the_floor_of_a_search_at_the_start(tmp_path: Path) -> None:
    carrier = patched(batch(500, [record(0, None, BATCHES[0])]), 8, b"\xff")
    data = carrier + batch(501)
    first = told(opened(tmp_path, data, "00000000000000000500.log"))[0]
    assert first == ("LengthMismatchError", 0, len(carrier), 500, 500)
    assert told(opened(tmp_path, data, "other.log"))[1] == 0


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("00000000000000000042.log", 42),
        ("topic-0/00000000000000000042.log.deleted", 42),
        ("00000000000000000042.log.swap", 42),
        ("00000000000000000042-0000000001.checkpoint", None),
        ("00000000000000000042.index", None),
        ("42.log", None),
        ("x00000000000000000042.log", None),
        ("٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٤٢.log", None),
        ("-", None),
    ],
)
def test_offsets_in_names(name: str, offset: int | None) -> None:
    assert first_offset_in_name(name) == offset


def test_lost_offsets_are_null_where_unknown_or_none(tmp_path: Path) -> None:
    broken_first = patched(GOOD, 16, b"\x09")
    assert told(opened(tmp_path, broken_first))[0][3:] == (0, 1)  # type: ignore[index]
    assert told(opened(tmp_path, broken_first, "unnamed"))[0][3:] == (None, 1)  # type: ignore[index]
    inserted = BATCHES[0] + b"garbage, of which nothing is known" + BATCHES[1]
    assert told(opened(tmp_path, inserted))[1][3:] == (None, None)  # type: ignore[index]


def test_a_checksum_that_is_right_does_not_make_the_records_right(tmp_path: Path) -> None:
    wrong = batch(2, [record(0), record(1)], count=3)
    data = BATCHES[0] + wrong + BATCHES[2]
    size = len(wrong)
    # Offsets 2 and 3 were delivered, so that nothing is known to be lost.
    assert told(opened(tmp_path, data)) == [0, 2, ("CorruptBatchError", SIZE, SIZE + size, None, None), 4]
    wrong = batch(2, [record(0), b"\x01" * 9], last_offset_delta=5)
    data = BATCHES[0] + wrong + batch(9) + patched(batch(10), 60, b"\x09")
    size = SIZE + len(wrong)
    assert told(opened(tmp_path, data))[2] == ("CorruptBatchError", SIZE, size, 3, 8)


def test_the_last_sound_offset_is_that_of_the_last_record_delivered(tmp_path: Path) -> None:
    wrong = batch(2, [record(0), b"\x01" * 9], last_offset_delta=5)
    bad_magic = patched(batch(8), 16, b"\x09")
    data = BATCHES[0] + wrong + bad_magic + batch(9)
    start = SIZE + len(wrong)
    assert told(opened(tmp_path, data))[2:] == [
        ("CorruptBatchError", SIZE, start, 3, 8),
        ("UnsupportedMagicError", start, start + len(bad_magic), 3, 8),
        9,
    ]


def test_a_batch_of_which_no_record_was_delivered_does_not_count_as_sound(tmp_path: Path) -> None:
    wrong = batch(2, count=-1, last_offset_delta=5)
    data = BATCHES[0] + wrong + b"x" * 60
    start = SIZE + len(wrong)
    assert told(opened(tmp_path, data))[2:] == [
        ("CorruptBatchError", SIZE, start, 2, None),
        ("TruncatedError", start, start + 60, 2, None),
    ]


def test_old_entries_tell_their_offset_if_plain(tmp_path: Path) -> None:
    data = message(5, magic=0) + message(6) + message(9, b"packed", attributes=1)
    entries = [e for e in open_segment(data).iter_entries() if isinstance(e, Batch)]
    assert [(e.base_offset, e.last_offset, e.num_records) for e in entries] == [
        (5, 5, 1),
        (6, 6, 1),
        (None, 9, None),
    ]
    assert [e.timestamp_type for e in entries] == ["NoTimestampType", "CreateTime", "CreateTime"]
    assert [e.max_timestamp for e in entries] == [-1, 7, 7]
    assert [e.compression for e in entries] == ["none", "none", "gzip"]
    assert all(e.crc_valid and e.base_timestamp is None and e.producer_id == -1 for e in entries)
    heads = [e for e in open_segment(data, headers_only=True).iter_entries() if isinstance(e, Batch)]
    assert [(e.base_offset, e.num_records) for e in heads] == [(None, None)] * 3
    wrong = patched(data, len(message(5, magic=0)) + 20, b"\xff")
    assert told(opened(tmp_path, wrong))[:3] == [5, "bad 6", ("ChecksumMismatchError", 27, 62, 6, None)]


@pytest.mark.parametrize("codec", [4, 5, 6, 7])
@pytest.mark.parametrize("magic", [0, 1])
def test_codecs_that_the_old_formats_never_had(tmp_path: Path, codec: int, magic: int) -> None:
    data = (
        message(0, magic=magic)
        + message(1, b"packed", magic=magic, attributes=codec)
        + message(2, magic=magic)
    )
    short = told(opened(tmp_path, data))
    assert [e[0] for e in short if isinstance(e, tuple)] == ["DecompressionError"]
    assert short[0] == 0 and short[-1] == 2


def test_an_unreadable_payload_costs_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = [batch(offset, [record(0, None, os.urandom(9000))]) for offset in range(4)]
    data = b"".join(large)
    path = tmp_path / NAME
    path.write_bytes(data)
    break_blocks(monkeypatch, (len(large[0]) + 5000) // 4096)
    size = len(large[0])
    with open_segment(path) as segment:
        assert told(segment) == [0, ("ReadError", size, 2 * size, 1, 1), 2, 3]
        (damage,) = [e for e in segment.iter_entries("skip") if isinstance(e, Damage)]
    assert "Errno 5" in damage.error.detail
    with open_segment(path, headers_only=True) as segment:
        assert told(segment) == [0, 1, 2, 3]
    with open_segment(path, check_crc=False) as segment:
        assert told(segment) == [0, ("ReadError", size, 2 * size, 1, 1), 2, 3]


def test_an_unreadable_header_starts_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = [batch(offset, [record(0, None, b"x" * 900)]) for offset in range(30)]
    size = len(small[0])
    (tmp_path / NAME).write_bytes(b"".join(small))
    break_blocks(monkeypatch, 2)
    first, after = 8192 // size, -(-12288 // size)
    with open_segment(tmp_path / NAME) as segment:
        assert told(segment) == [
            *range(first),
            ("ReadError", first * size, after * size, first, after - 1),
            *range(after, 30),
        ]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    with opened(tmp_path, GOOD * 20_000) as segment:
        os.truncate(tmp_path / NAME, 2 * SIZE + 20)
        *_, last = segment.iter_entries("skip")
        assert isinstance(last, Damage)
        assert (last.position, last.end_position) == (2 * SIZE, 4 * SIZE * 20_000)
        assert type(last.error).__name__ == "ReadError" and "shrank" in last.error.detail


def test_padding_with_an_unreadable_block_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = GOOD + bytes(20_000)
    (tmp_path / NAME).write_bytes(data)
    break_blocks(monkeypatch, 2)
    with open_segment(tmp_path / NAME) as segment:
        assert told(segment)[4:] == [
            ("ReadError", len(GOOD), 12288, 8, None),
            ("padding", 12288, len(data)),
        ]


def test_everything_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(GOOD)
    break_blocks(monkeypatch, 0)
    with open_segment(tmp_path / NAME) as segment:
        assert told(segment) == [("ReadError", 0, len(GOOD), 0, None)]


@pytest.mark.parametrize(
    "unit", [b"\0\0\x01\0\0\0\x02\x01", b"\0\0\0\x40\0\0\0\0\0\0\0\0\x02", b"\x01", b"\0\0\0\x01"]
)
def test_a_search_through_what_looks_like_entries_everywhere_is_not_quadratic(unit: bytes) -> None:
    data = b"\x7f" * 30 + unit * (40_000 // len(unit)) + GOOD + os.urandom(4 << 20)
    # Each candidate costs two pieces of the grid of checksums, whatever length it claims.
    with work.at_most(200 * 40_000), work.reads_at_most(6000 * 40_000):
        (first, *_) = told(open_segment(data))
    assert first[2] == 30 + 40_000 // len(unit) * len(unit)  # type: ignore[index]


def test_control_batches_are_batches(tmp_path: Path) -> None:
    (entry,) = open_segment(control(7, (b"\0\0\0\1", b"\0\0\0\0\0\3"))).iter_entries()
    assert isinstance(entry, Batch)
    assert (entry.is_control, entry.is_transactional, entry.base_offset) == (True, False, 7)


@pytest.mark.parametrize(
    ("name", "before", "lost"),
    [
        ("99999999999999999999.log", b"", (None, None)),  # no offset of a Java long
        ("a.log", batch((1 << 63) - 1), (None, None)),  # none is above it
        ("a.log", batch((1 << 63) - 2, last_offset_delta=5), ((1 << 63) - 1, None)),  # wraps around
        ("a.log", batch(10, last_offset_delta=-3), (11, None)),
    ],
)
def test_lost_offsets_are_those_of_a_long(
    tmp_path: Path, name: str, before: bytes, lost: tuple[int | None, int | None]
) -> None:
    path = tmp_path / name
    path.write_bytes(before + batch(0)[:30])
    with open_segment(path) as segment:
        (damage,) = (entry for entry in segment.iter_entries("skip") if isinstance(entry, Damage))
    assert (damage.first_lost_offset, damage.last_lost_offset) == lost
