"""Errata that were found since the tables: magics, offsets, epochs, codecs, checksums and times."""

from __future__ import annotations

from collections import defaultdict

import crc32c
import pytest
from tests.errata.bytes_at_hand import RECORDED, TIME, entries, number, only, recorded, worked_example
from tests.made import build

import kafka_segments
from kafka_segments import open_segment
from kafka_segments.core.codecs import decompress
from kafka_segments.errors import UnsupportedMagicError
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment

OFS_MAGIC, OFS_CRC, OFS_ATTRIBUTES, LEN_HEAD = 16, 17, 21, 61


def test_base_offset_may_have_no_record() -> None:
    batches = [
        (batch, records) for batch, _, records in recorded("kafka-4.3/clean/compact-horizon-0") if records
    ]
    (found,) = [records for batch, records in batches if batch.base_offset == 125]
    assert (found[0].offset, found[-1].offset) == (135, 144)
    (found,) = [records for batch, records in batches if batch.base_offset == 45]
    assert [record.offset for record in found] == [45, 46, 47], "and it ends at 49"


def test_newer_magics() -> None:
    """The checksum does not notice; a reader has to."""
    batch = build.patched(worked_example(), OFS_MAGIC, b"\x03")
    assert crc32c.crc32c(batch[OFS_ATTRIBUTES:]) == int.from_bytes(batch[OFS_CRC:OFS_ATTRIBUTES])
    for magic in (3, 4, 127):
        with pytest.raises(UnsupportedMagicError):
            only(build.patched(batch, OFS_MAGIC, bytes([magic])))


def test_magic_3_is_not_compatible() -> None:
    rows = [{"value": b"hello", "timestamp": TIME}]
    batch = kafka_segments.encode_records(rows, magic=3, experimental_magic3=True)
    with pytest.raises(UnsupportedMagicError):
        only(batch)
    _, (record,) = only(batch, experimental_magic3=True)
    assert record.value == b"hello"
    assert len(batch) < len(kafka_segments.encode_records(rows))


def test_magic_3_has_a_number_of_records() -> None:
    rows = [{"value": b"a"}, {"value": b"b"}, {"value": b"c"}]
    batch = kafka_segments.encode_records(rows, magic=3, experimental_magic3=True)
    found, records = only(batch, experimental_magic3=True)
    assert found.num_records == len(records) == 3


def test_attributes_came_with_magic_0() -> None:
    for place, magic in (("kafka-0.9", 0), ("kafka-0.10.2", 1)):
        batch, data, _ = next(recorded(f"{place}/clean/codec-gzip-0"))
        assert (batch.magic, data[OFS_MAGIC + 1] & 0b111) == (magic, 1), "gzip"
    _, data, _ = next(recorded("kafka-0.10.2/clean/append-time-none-0"))
    assert data[OFS_MAGIC + 1] == 0b1000, "LogAppendTime"


def test_overhead_of_a_record() -> None:
    key = bytes(100)
    record = build.record(1, key, bytes(1024 - len(key)), timestamp_delta=100)
    assert len(record) - 1024 == 11 == sum([2, 1, 2, 1, 2, 2, 1])


def test_aborts_leave_no_gap() -> None:
    partition = "kafka-4.3/clean/transactions-0"
    found = list(recorded(partition))
    assert [record.offset for _, _, records in found for record in records] == list(range(113))
    aborts = [
        records[0] for batch, _, records in found if batch.is_control and records[0].control.type == "ABORT"
    ]
    assert len(aborts) == 8
    first = next(batch for batch, _, _ in found if batch.base_offset == 9)
    assert (first.producer_id, first.num_records) == (1, 3), "aborted at 16, and there"


def test_epochs_grow_with_each_transaction() -> None:
    epochs = defaultdict(list)
    for batch, _, _ in recorded("kafka-4.3/clean/transactions-0"):
        epochs[batch.producer_id, batch.is_control].append(batch.producer_epoch)
    assert epochs[2, False] == list(range(12))
    assert epochs[2, True] == list(range(1, 13)), "of markers: one above"
    before = [batch for batch, _, _ in recorded("kafka-2.8/clean/transactions-0")]
    assert {batch.producer_epoch for batch in before if batch.is_transactional} == {0}


def test_a_log_has_several_codecs() -> None:
    codecs = {batch.compression for batch, _, _ in recorded("kafka-4.3/clean/append-time-0")}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_reflection_of_the_checksums() -> None:
    """With reflection, the lowest bit of each byte comes first; without, the highest."""
    value = reflected = 0xFFFF_FFFF
    for byte in b"123456789":
        value ^= byte << 24
        reflected ^= byte
        for _ in range(8):
            value = (value << 1 ^ (0x1EDC_6F41 if value >> 31 else 0)) & 0xFFFF_FFFF
            reflected = reflected >> 1 ^ (0x82F6_3B78 if reflected & 1 else 0)
    assert int(f"{0x1EDC_6F41:032b}"[::-1], 2) == 0x82F6_3B78
    assert reflected ^ 0xFFFF_FFFF == 0xE306_9283 == crc32c.crc32c(b"123456789")
    assert value ^ 0xFFFF_FFFF != 0xE306_9283


def test_one_checksum_for_all_bytes() -> None:
    for count in (1, 1000):
        batch = kafka_segments.encode_records([{"value": bytes(10)}] * count, batch_size=1 << 20)
        assert number(batch, LEN_HEAD - 4) == count
        assert crc32c.crc32c(batch[OFS_ATTRIBUTES:]) == int.from_bytes(batch[OFS_CRC:OFS_ATTRIBUTES])
        assert len(batch) - OFS_ATTRIBUTES > 10 * count, "all of them are covered"


def test_magic_1_changed_more_than_the_timestamp() -> None:
    old, new = (next(recorded(f"{place}/clean/codec-lz4-0"))[1] for place in ("kafka-0.9", "kafka-0.10.2"))
    assert [wrapped(data)[:7].hex() for data in (old, new)] == ["04224d1860401a", "04224d18604082"]
    inside = []
    for place in ("kafka-0.9", "kafka-0.10.2"):
        _, data, records = next(recorded(f"{place}/clean/compact-gzip-0"))
        messages = KafkaLogSegment.parse(decompress("gzip", wrapped(data))).entries
        inside.append([message.base_offset for message in messages])
        assert [record.offset for record in records] == [3, 8]
    assert inside == [[3, 8], [0, 5]], "absolute, relative"


def wrapped(data: bytes) -> bytes:
    """The value of a wrapper, as it is stored."""
    (entry,) = KafkaLogSegment.parse(data).entries
    value: bytes = entry.body.content.value
    return value


def test_batches_before_0_11() -> None:
    batch, data, records = next(recorded("kafka-0.9/clean/codec-gzip-0"))
    assert (batch.magic, len(records)) == (0, 12)
    assert len(KafkaLogSegment.parse(data).entries) == 1


def test_append_time_keeps_the_producers_times() -> None:
    data = (RECORDED / "kafka-4.3/clean/append-time-0/00000000000000000000.log").read_bytes()
    for found, batch, records in entries(data):
        assert {record.timestamp for record in records} == {found.max_timestamp}
        as_create_time = build.patched(batch, OFS_ATTRIBUTES + 1, bytes([batch[OFS_ATTRIBUTES + 1] & ~8]))
        checksum = crc32c.crc32c(as_create_time[OFS_ATTRIBUTES:]).to_bytes(4)
        with open_segment(build.patched(as_create_time, OFS_CRC, checksum)) as opened:
            times = [one.timestamp for one in list(opened.iter_events())[1:]]
        assert times == [1_700_000_000_000 - 1000 * at for at in range(5)], "as the values say"


def test_append_time_is_in_the_header() -> None:
    for batch, data, records in recorded("kafka-4.3/clean/append-time-0"):
        assert number(data, 27, 8) == 1_700_000_000_000 == batch.base_timestamp
        assert {record.timestamp for record in records} == {number(data, 35, 8)}
