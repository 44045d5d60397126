"""Messages of magic 0 and 1, plain and wrapped: Kafka's rules for offsets, timestamps and what is wrong."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Any

import pytest
from tests.codegen.vectors import VECTORS
from tests.made.build import batch, message, patched
from tests.made.segments import told

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.errors import ChecksumMismatchError, CorruptBatchError, DecompressionError

GZIP, LOG_APPEND_TIME = 1, 8


def wrapper(offset: int, *inner: bytes, attributes: int = GZIP, **fields: Any) -> bytes:
    return message(offset, gzip.compress(b"".join(inner), mtime=0), attributes=attributes, **fields)


def read(data: bytes, **options: Any) -> tuple[list[Batch], list[Record], list[Damage]]:
    """Batches, records and damage, in the slow way; the fast one must give the same records and damage."""
    with open_segment(data, **options) as segment:
        events = list(segment.iter_events(on_damage="skip"))
        columns = list(segment.iter_columnar(None, (None, None)))
    records = [event for event in events if isinstance(event, Record)]
    damage = [event for event in events if isinstance(event, Damage)]
    assert [told(one) for one in columns if isinstance(one, Damage)] == [told(one) for one in damage]
    rows = [row for one in columns if hasattr(one, "num_columns") for row in one.to_pylist()]
    assert [(row["offset"], row["key"], row["value"]) for row in rows] == [
        (record.offset, record.key, record.value) for record in records
    ]
    return [event for event in events if isinstance(event, Batch)], records, damage


def offsets(data: bytes) -> list[int]:
    _, records, damage = read(data)
    assert damage == []
    return [record.offset for record in records]


def test_plain_messages() -> None:
    batches, records, damage = read(message(3, b"a", magic=0) + message(4, None, time=99))
    assert damage == []
    assert [(one.base_offset, one.num_records) for one in batches] == [(3, 1), (4, 1)]
    first, second = records
    assert (first.offset, first.timestamp, first.timestamp_type) == (3, -1, "NoTimestampType")
    assert (first.key, first.value, first.headers, first.sequence, first.control) == (
        None,
        b"a",
        (),
        -1,
        None,
    )
    assert (second.offset, second.timestamp, second.timestamp_type) == (4, 99, "CreateTime")
    assert second.value is None


def test_many_plain_messages() -> None:
    data = b"".join(message(at, b"%d" % at, magic=at % 2) for at in range(500))
    assert offsets(data + batch(500) + message(501)) == list(range(502))


def test_offsets_in_a_wrapper() -> None:
    absolute = [message(at, magic=0) for at in (3, 8)]
    assert offsets(wrapper(8, *absolute, magic=0)) == [3, 8]
    relative = [message(at) for at in (0, 5)]
    batches, records, _ = read(wrapper(8, *relative))
    assert [record.offset for record in records] == [3, 8]
    assert (batches[0].base_offset, batches[0].last_offset, batches[0].num_records) == (3, 8, 2)
    assert offsets(wrapper(0, *relative)) == [0, 5], "old versions of librdkafka left the wrapper's at 0"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("renumbered_by_cleaning", [(3, 1_500_000_000_052), (8, 1_500_000_000_056)]),
        ("absolute_offsets", [(3, -1), (8, -1)]),
        ("time_of_the_broker", [(at, 1_795_254_330_615) for at in range(13, 18)]),
        ("wrapper_of_old_librdkafka", [(at, 1_500_000_000_000 + at) for at in range(3)]),
    ],
)
def test_vectors_of_wrappers(name: str, expected: list[tuple[int, int]]) -> None:
    data = (VECTORS / "kafka_log_segment" / f"{name}.bin").read_bytes()
    _, records, damage = read(data)
    assert ([(one.offset, one.timestamp) for one in records], damage) == (expected, [])


def test_timestamps_in_a_wrapper() -> None:
    inner = [message(0, time=5), message(1, time=6), message(2, magic=0)]
    _, records, _ = read(wrapper(2, *inner, time=6))
    assert [(one.timestamp, one.timestamp_type) for one in records] == [
        (5, "CreateTime"), (6, "CreateTime"), (-1, "NoTimestampType"),
    ]  # fmt: skip
    _, records, _ = read(wrapper(2, *inner, attributes=GZIP | LOG_APPEND_TIME, time=77))
    assert [(one.timestamp, one.timestamp_type) for one in records] == [
        (77, "LogAppendTime"), (77, "LogAppendTime"), (-1, "NoTimestampType"),
    ]  # fmt: skip
    _, records, _ = read(wrapper(1, message(0, time=5), message(1, magic=0), magic=0))
    assert [(one.offset, one.timestamp, one.timestamp_type) for one in records] == [
        (0, 5, "NoTimestampType"), (1, -1, "NoTimestampType"),
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [1, 12, 20, 28])
def test_a_cut_tail_is_not_there(cut: int) -> None:
    inner = [message(0), message(1)]
    assert offsets(wrapper(1, b"".join([*inner, message(2)])[:-cut])) == [0, 1]


@pytest.mark.parametrize("magic", [2, 3, 127, 128, 255])
def test_an_inner_message_of_another_magic_is_read_as_kafka_reads_it(magic: int) -> None:
    """LegacyRecord asks for magic 0 alone; DeepRecordsIterator hands time and type to magic 1 alone."""
    strange = message(1, b"strange", time=6, attributes=LOG_APPEND_TIME)
    covered = bytes([magic]) + strange[17:]
    strange = strange[:12] + struct.pack(">I", zlib.crc32(covered)) + covered
    _, records, damage = read(wrapper(9, message(0, time=5), strange, message(2, time=7), time=8))
    assert damage == []
    assert [(record.offset, record.timestamp, record.timestamp_type) for record in records] == [
        (7, 5, "CreateTime"),
        (8, 6, "LogAppendTime"),
        (9, 7, "CreateTime"),
    ]
    _, records, damage = read(wrapper(9, message(0), strange[:-1] + b"?", message(2)))
    assert [record.offset for record in records] == [7, 9]
    assert [type(one.error) for one in damage] == [ChecksumMismatchError]


@pytest.mark.parametrize(
    ("data", "error", "delivered"),
    [
        (wrapper(5, message(0), message(1, b"?", attributes=GZIP), message(2)), CorruptBatchError, [3]),
        (wrapper(5), CorruptBatchError, []),
        (wrapper(5, message(0)[:-1]), CorruptBatchError, []),
        (message(5, None, attributes=GZIP), CorruptBatchError, []),
        (wrapper(5, message(0), message(9)), CorruptBatchError, []),
        (wrapper(5, message(0), patched(message(1), 8, b"\0\0\0\x05")), CorruptBatchError, []),
        (wrapper(5, message(0), patched(message(1), 8, b"\xff")), CorruptBatchError, []),
        (wrapper(5, message(0), patched(message(1), 26, b"\x7f"), message(2)), CorruptBatchError, [3]),
        (message(5, b"no gzip", attributes=GZIP), DecompressionError, []),
        (message(5, b"?", attributes=4), DecompressionError, []),
        (message(5, b"?", attributes=6), DecompressionError, []),
    ],
    ids=[
        "nested",
        "empty",
        "cut",
        "null",
        "low offset",
        "small",
        "negative",
        "key",
        "codec",
        "zstd",
        "6",
    ],
)
def test_what_is_wrong_in_a_wrapper(data: bytes, error: type[Exception], delivered: list[int]) -> None:
    batches, records, damage = read(message(2) + data + message(6))
    assert [record.offset for record in records] == [2, *delivered, 6]
    (one,) = damage
    assert type(one.error) is error
    assert (one.position, one.end_position) == (len(message(2)), len(message(2)) + len(data))
    assert (one.first_lost_offset, one.last_lost_offset) == (delivered[-1] + 1 if delivered else 3, 5)
    assert [entry.position for entry in batches] == [0, one.position, one.end_position]


@pytest.mark.parametrize(
    ("wrong", "lost"),
    [([0], (10, 10)), ([1], (11, 11)), ([3], (13, 13)), ([1, 2], (11, 12)), ([0, 3], (10, 13))],
)
def test_inner_checksums(wrong: list[int], lost: tuple[int, int]) -> None:
    inner = [message(at, b"%d" % at) for at in range(4)]
    for at in wrong:
        inner[at] = inner[at][:-1] + b"?"
    data = message(9) + wrapper(13, *inner) + message(14)
    _, records, (damage,) = read(data)
    assert [record.offset for record in records] == [9, *(10 + at for at in range(4) if at not in wrong), 14]
    assert type(damage.error).__name__ == "ChecksumMismatchError"
    assert f"wrong checksums: {len(wrong)}; offset {10 + wrong[0]}" in str(damage.error)
    assert (damage.first_lost_offset, damage.last_lost_offset) == lost
    _, records, found = read(data, check_crc=False)
    assert ([record.offset for record in records], found) == ([*range(9, 15)], [])


def test_a_bound_on_what_is_inside() -> None:
    data = wrapper(1, message(0, bytes(50_000)), message(1))
    _, records, (damage,) = read(data, max_decompressed=50_000)
    assert (records, type(damage.error)) == ([], DecompressionError)
    assert len(read(data, max_decompressed=60_000)[1]) == 2


def test_offsets_wrap_as_in_java() -> None:
    least = -(1 << 63)
    _, records, _ = read(wrapper((1 << 63) - 1, message(5), message(least)))
    assert [record.offset for record in records] == [4, (1 << 63) - 1]
