"""Errata 1a: the worked example of the chapter, built from values and read again."""

from __future__ import annotations

from datetime import UTC, datetime

import crc32c
import pytest
from tests.construct.values import batch, message, segment
from tests.errata.bytes_at_hand import TIME, entries, number, only, recorded, worked_example
from tests.made import build

import kafka_segments

EXAMPLE = worked_example()
LEN_HEAD = 61
OFS_LENGTH, OFS_EPOCH, OFS_MAGIC, OFS_CRC, OFS_BASE_TIMESTAMP = 8, 12, 16, 17, 27
TIME_OF_THE_CHAPTER = 0x0000_018D_0000_0000


def test_batch_length_of_the_worked_example() -> None:
    assert EXAMPLE[OFS_LENGTH:OFS_EPOCH] == bytes.fromhex("00000049")
    assert number(EXAMPLE, OFS_LENGTH) == 73 == len(EXAMPLE) - 12


def test_batch_length_is_not_counted_from_the_magic() -> None:
    assert len(EXAMPLE[OFS_EPOCH:]) == 73
    assert len(EXAMPLE[OFS_MAGIC:]) == 69


def test_record_length_of_the_worked_example() -> None:
    for start in (LEN_HEAD, LEN_HEAD + 12):
        assert EXAMPLE[start] == 0x16
        assert EXAMPLE[start] >> 1 == 11 == sum([1, 1, 1, 1, 1, len(b"hello"), 1])


@pytest.mark.parametrize(("len_value", "len_length"), [(5, 1), (57, 1), (58, 2), (8000, 2), (9000, 3)])
def test_record_length_excludes_itself(len_value: int, len_length: int) -> None:
    built = segment(batch([{"value": bytes(len_value)}]))[LEN_HEAD:]
    length = build.varint(len(built) - len_length)
    assert built.startswith(length) and len(length) == len_length


def test_timestamp_of_the_worked_example() -> None:
    assert TIME_OF_THE_CHAPTER == 1_705_102_016_512
    said = datetime.fromtimestamp(TIME_OF_THE_CHAPTER / 1000, UTC)
    assert said.isoformat(timespec="milliseconds") == "2024-01-12T23:26:56.512+00:00"
    assert datetime.fromtimestamp(TIME / 1000, UTC).isoformat() == "2024-04-24T23:06:40+00:00"
    start = OFS_BASE_TIMESTAMP
    assert EXAMPLE[start : start + 8] == bytes.fromhex("0000018f125c7400")
    assert only(EXAMPLE)[0].base_timestamp == TIME


def test_leader_epoch_of_producers() -> None:
    assert only(EXAMPLE)[0].partition_leader_epoch == -1
    stored = build.patched(EXAMPLE, OFS_EPOCH, bytes.fromhex("00000007"))
    ((found, _bytes, records),) = entries(stored)
    assert (found.partition_leader_epoch, found.crc_valid) == (7, True)
    assert [record.value for record in records] == [b"hello", b"world"]
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        stored = recorded(f"kafka-4.3/clean/rdkafka-{codec}-0")
        assert min(found.partition_leader_epoch for found, _, _ in stored) >= 0, "librdkafka sent -1"


def test_size_of_the_worked_example() -> None:
    assert len(EXAMPLE) == 85 == LEN_HEAD + 12 + 12
    assert only(EXAMPLE)[0].size == 85


def test_the_worked_example_in_magic_1() -> None:
    messages = [segment(message(1, at, TIME, value=value)) for at, value in enumerate((b"hello", b"world"))]
    assert [len(one) for one in messages] == [39, 39]
    assert [number(one, OFS_LENGTH) for one in messages] == [39 - 12, 39 - 12]
    both = b"".join(messages)
    assert len(both) == 78 < len(EXAMPLE)
    assert [records[0].value for _, _, records in entries(both)] == [b"hello", b"world"]


def test_checksum_of_the_worked_example() -> None:
    for time, checksum in ((TIME, "dbda21c9"), (TIME_OF_THE_CHAPTER, "34b3a4c0")):
        built = worked_example(time)
        rows = [{"value": value, "timestamp": time} for value in (b"hello", b"world")]
        assert kafka_segments.encode_records(rows) == built, "by Construct and by the compiled encoders"
        assert built[OFS_CRC : OFS_CRC + 4].hex() == checksum
        assert f"{crc32c.crc32c(built[OFS_CRC + 4 :]):08x}" == checksum
        found, records = only(built)
        assert f"{found.crc:08x}" == checksum and found.crc_valid
        assert [(one.offset, one.timestamp, one.value) for one in records] == [
            (0, time, b"hello"), (1, time, b"world"),
        ]  # fmt: skip
