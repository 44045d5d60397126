"""Errata 1b, of records: varints, lengths, headers, sequences; and what goes with the tables."""

from __future__ import annotations

import zlib

import crc32c
import pytest
from tests.construct.values import batch, message, segment
from tests.errata.bytes_at_hand import TIME, only
from tests.made import build

import kafka_segments
from kafka_segments.errors import CorruptBatchError, EncodeError
from kafka_segments_generated.construct.kafka_varint import KafkaVarint
from kafka_segments_generated.construct.kafka_varlong import KafkaVarlong

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


def test_varints_are_zigzag() -> None:
    for value, coded in ((0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001")):
        assert KafkaVarint.build(value).hex() == coded == build.varint(value).hex()
        assert KafkaVarint.parse(bytes.fromhex(coded)) == value
    assert len(KafkaVarint.build(-INT_MAX - 1)) == 5
    assert len(KafkaVarlong.build(-LONG_MAX - 1)) == 10
    far = 40 << 32
    (record,) = only(build.batch(0, [build.record(timestamp_delta=far)], base_timestamp=5))[1]
    assert record.timestamp == 5 + far


def test_attributes_of_a_record_are_a_byte() -> None:
    """As a varint, 0x80 would go on in the next byte, the timestamp delta."""
    record = build.record(value=b"v", timestamp_delta=3)
    changed = build.patched(record, 1, b"\x80")
    ((one,), (same,)) = (only(build.batch(0, [data]))[1] for data in (changed, record))
    assert one == same


def test_zigzag_of_32_bits() -> None:
    for value in (0, -1, 1, 63, -64, INT_MAX, -INT_MAX - 1):
        by_31 = (value << 1 ^ value >> 31) & 0xFFFF_FFFF
        by_63 = (value << 1 ^ value >> 63) & 0xFFFF_FFFF
        assert by_31 == by_63
        assert build.unsigned_varint(by_31) == KafkaVarint.build(value)


def test_varint_of_100() -> None:
    assert len(KafkaVarint.build(100)) == 2
    sizes = {value: len(KafkaVarint.build(value)) for value in range(-200, 200)}
    assert [value for value, size in sizes.items() if size == 1] == list(range(-64, 64))


def test_space_of_metadata() -> None:
    """For values of 100 bytes without keys: what there is beside the value."""
    value = bytes(100)
    assert len(segment(message(1, 0, TIME, value=value))) - len(value) == 34
    found = set()
    for offset_delta in (0, 63, 64, 999):
        for timestamp_delta in (0, 63, 64, 5000):
            record = build.record(offset_delta, None, value, timestamp_delta=timestamp_delta)
            found.add(len(record) - len(value))
    assert found == {9, 10, 11}
    thousand = [{"value": value} for _ in range(1000)]
    per_message = len(segment(batch(thousand))) / 1000
    assert 109.5 < per_message < 111, "against 134 in magic 1"


def test_attributes_of_a_record_are_not_looked_at() -> None:
    for attributes in (b"\1", b"\x7f", b"\xff"):
        changed = build.patched(build.record(), 1, attributes)
        assert only(build.batch(0, [changed]))[1] == only(build.batch(0, [build.record()]))[1]


def test_keys_of_headers() -> None:
    headers = ((b"\xff\xfe", b"1"), (b"", b"2"), (b"k", None), (b"k", b""))
    (record,) = only(build.batch(0, [build.record(headers=headers)]))[1]
    assert record.headers == headers
    with pytest.raises(CorruptBatchError):
        only(build.batch(0, [build.record(headers=((None, b"1"),))]))


@pytest.mark.parametrize("length", [-1, -2, -(2**31)])
def test_any_negative_length_is_null(length: int) -> None:
    for name in ("len_key", "len_value"):
        (record,) = only(segment(batch([{name: length}])))[1]
        assert (record.key, record.value) == (None, None)
        (old,) = only(segment(message(1, 0, TIME, **{name: length})))[1]
        assert (old.key, old.value) == (None, None)
    (record,) = only(segment(batch([{"headers": [{"key": b"k", "len_value": length}]}])))[1]
    assert record.headers == ((b"k", None),)


def test_sequences_wrap() -> None:
    records = [build.record(delta) for delta in (0, 1, 2, 5)]
    found, read = only(build.batch(0, records, base_sequence=INT_MAX - 1, producer_id=7, last_offset_delta=5))
    assert [one.sequence for one in read] == [INT_MAX - 1, INT_MAX, 0, 3]
    assert found.last_sequence == 3


def test_header_keys_have_a_varint_length() -> None:
    data = segment(batch([{"headers": [{"key": "ключ".encode(), "value": b"v"}]}]))
    assert data.endswith(b"\x10" + "ключ".encode() + b"\x02v"), "8 bytes, zigzag: 0x10"


def test_check_values_of_the_checksums() -> None:
    assert crc32c.crc32c(b"123456789") == 0xE3069283
    assert zlib.crc32(b"123456789") == 0xCBF43926


def test_sizes_follow_from_the_layout() -> None:
    value = bytes(1000)
    assert len(segment(message(0, 0, value=value))) == 12 + 14 + len(value)
    assert len(segment(message(1, 0, TIME, value=value))) == 12 + 22 + len(value)
    body = 1 + 1 + 1 + 1 + len(build.varint(1000)) + len(value) + 1
    assert len(segment(batch([{"value": value}]))) == 61 + len(build.varint(body)) + body
    rows = [{"key": b"k" * at, "value": None if at % 7 == 3 else bytes(11 * at)} for at in range(300)]
    for magic in (0, 1, 2):
        written = kafka_segments.encode_records(rows, magic=magic)
        assert kafka_segments.predicted_size(rows, magic=magic) == len(written) > 400_000


def test_limits_of_size() -> None:
    """The limit is of a batch with all its 12 + 49 bytes; the records' number and sizes do not matter."""
    most = 1_048_588
    room = most - len(segment(batch([{"value": bytes(1_000_000)}]))) + 1_000_000
    assert len(kafka_segments.encode_batch([{"value": bytes(room)}])) == most
    with pytest.raises(EncodeError):
        kafka_segments.encode_batch([{"value": bytes(room + 1)}])
    with pytest.raises(EncodeError):
        kafka_segments.encode_batch([{"value": bytes(room // 2)}] * 2)
