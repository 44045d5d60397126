"""Errata 1b, of batches: lengths, attributes, offsets and times, control batches."""

from __future__ import annotations

import struct
from collections import Counter

import crc32c
import pytest
from tests.codegen.vectors import VECTORS
from tests.errata.bytes_at_hand import RECORDED, entries, number, only, recorded, worked_example
from tests.made import build

from kafka_segments import Record, open_segment
from kafka_segments.core.codecs import decompress
from kafka_segments.errors import ChecksumMismatchError, DecompressionError, UnsupportedMagicError

LEN_OVERHEAD = 12  # offset and size
OFS_ATTRIBUTES = 21


def test_batch_length_counts_from_the_leader_epoch() -> None:
    position = 0
    for batch, data, _records in recorded("kafka-4.3/clean/codec-none-0"):
        assert (batch.position, batch.size) == (position, LEN_OVERHEAD + number(data, 8))
        assert number(data, LEN_OVERHEAD) == batch.partition_leader_epoch >= 0, "there it begins"
        position += batch.size
    assert position > 70_000


def test_codec_5_is_unknown() -> None:
    with pytest.raises(DecompressionError, match="unknown compression codec 5; Kafka has 0 to 4"):
        only(build.batch(attributes=0b101))
    (batch,) = open_segment(build.batch(attributes=0b101)).iter_entries()
    assert (batch.compression, batch.compression_id) == (None, 5)
    (batch,) = open_segment(build.batch(attributes=0b001)).iter_entries()
    assert (batch.compression, batch.timestamp_type) == ("gzip", "CreateTime")


def test_bit_6_is_the_delete_horizon() -> None:
    seen = Counter()
    for batch, data, _records in recorded("kafka-4.3/clean/compact-horizon-0"):
        has_bit = number(data, OFS_ATTRIBUTES, 2) >> 6 & 1
        assert batch.delete_horizon_ms == (batch.base_timestamp if has_bit else None)
        seen[has_bit] += 1
    assert seen[0] and seen[1]


def test_records_have_no_checksums() -> None:
    """Whoever changes a record need set the batch's checksum alone; a message of magic 1 has its own."""
    changed = build.batch(0, [build.record(value=b"changed"), build.record(1)])
    assert [one.value for one in only(changed)[1]] == [b"changed", b"v"]
    with pytest.raises(ChecksumMismatchError):
        only(build.message(0, b"hello")[:-1] + b"!")


def test_leader_epoch_is_a_counter() -> None:
    epochs = [batch.partition_leader_epoch for batch, _, _ in recorded("kafka-4.3/clean/multi-0")]
    assert epochs == sorted(epochs)
    assert len(set(epochs)) == 2, "two elections of one broker"
    brokers = RECORDED / "kafka-4.3" / "clean" / "meta.properties"
    assert brokers.read_text().count("node.id=1\n") == 1


def test_last_offset_delta_after_cleaning() -> None:
    num_gaps = num_empty = num_earlier = 0
    for batch, data, records in recorded("kafka-4.3/clean/compact-horizon-0"):
        last_offset_delta = number(data, 23)
        assert batch.last_offset == batch.base_offset + last_offset_delta
        num_gaps += batch.num_records < last_offset_delta + 1
        num_empty += batch.num_records == 0
        num_earlier += bool(records) and records[-1].offset < batch.last_offset
    assert num_gaps > num_empty > 0
    assert num_earlier > 0


def test_size_field_leaves_out_twelve_bytes() -> None:
    empty = build.batch(0, [])
    assert (number(empty, 8), len(empty)) == (49, 61)


def test_order_of_the_header() -> None:
    header = {
        "partition_leader_epoch": 0x11, "attributes": {"is_transactional": True}, "producer_id": 0x22,
        "producer_epoch": 0x33, "base_sequence": 0x44, "max_timestamp": 0x55, "last_offset_delta": 0x66,
    }  # fmt: skip
    built = worked_example(0x77, **header)
    found = struct.unpack_from(">qiibIhiqqqhii", built)
    crc = found[4]
    assert found == (0, len(built) - 12, 0x11, 2, crc, 1 << 4, 0x66, 0x77, 0x55, 0x22, 0x33, 0x44, 2)
    assert only(built)[0].crc == crc


def test_base_and_max_timestamps() -> None:
    for batch, _, records in recorded("kafka-4.3/clean/append-time-0"):
        assert {one.timestamp for one in records} == {batch.max_timestamp} != {batch.base_timestamp}
    horizons = emptied = 0
    for batch, _, records in recorded("kafka-4.3/clean/compact-horizon-0"):
        if batch.delete_horizon_ms is not None:
            assert records[0].timestamp < batch.base_timestamp == batch.delete_horizon_ms
            horizons += 1
        if batch.num_records == 0:
            assert batch.base_timestamp == -1 < batch.max_timestamp
            emptied += 1
    assert horizons and emptied


def test_producer_ids_do_not_survive_a_restart() -> None:
    """Two producers without a transactional id, one after the other."""
    sent = {
        (batch.producer_id, batch.producer_epoch) for batch, _, _ in recorded("kafka-4.3/clean/idempotent-0")
    }
    assert len({producer_id for producer_id, _epoch in sent}) == 2
    assert {epoch for _producer_id, epoch in sent} == {0}


def test_emptied_batches_are_not_compressed() -> None:
    num_emptied = 0
    for batch, data, _records in recorded("kafka-4.3/clean/compact-removed-0"):
        if batch.num_records == 0:
            assert (len(data), batch.compression, batch.delete_horizon_ms) == (61, "none", None)
            assert batch.base_timestamp == -1 and batch.producer_id >= 0
            num_emptied += 1
    assert num_emptied > 3


def test_lz4_is_a_standard_frame() -> None:
    for batch, data, records in recorded("kafka-4.3/clean/codec-lz4-0"):
        payload = data[61:]
        assert batch.compression == "lz4"
        assert payload[:7].hex() == "04224d18" + "60" + "40" + "82", "magic, FLG, BD and their checksum"
        assert payload[-4:] == bytes(4), "the end mark"
        assert len(decompress("lz4", payload)) > len(records)


def test_seven_types_of_control_records() -> None:
    names = [
        "ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION",
        "KRAFT_VOTERS", "UNKNOWN",
    ]  # fmt: skip
    for type_id, name in enumerate(names):
        (record,) = only(build.control(0, (struct.pack(">hh", 0, type_id), b"")))[1]
        assert (record.control.type, record.control.type_id) == (name, type_id)
    places = ["transactions-0", "../dynamic-quorum/__cluster_metadata-0"]
    batches = [one for place in places for one in recorded(f"kafka-4.3/clean/{place}")]
    batches += recorded("kafka-4.3/dynamic-quorum/__cluster_metadata-0", "checkpoint")
    found = {one.control.type for _, _, records in batches for one in records if one.control}
    assert found == set(names[:-1])


def test_control_batches_of_several_records() -> None:
    first, _data, records = next(recorded("kafka-4.3/dynamic-quorum/__cluster_metadata-0"))
    assert first.is_control and first.num_records == len(records) == 3
    markers = [one for one in recorded("kafka-4.3/clean/transactions-0") if one[0].is_control]
    assert {batch.num_records for batch, _, _ in markers} == {1}


def test_control_batches_of_kraft_are_not_transactional() -> None:
    kinds = {"kafka-4.3/dynamic-quorum/__cluster_metadata-0": False, "kafka-4.3/clean/transactions-0": True}
    for place, is_transactional in kinds.items():
        control = [batch for batch, _, _ in recorded(place) if batch.is_control]
        assert {batch.is_transactional for batch in control} == {is_transactional}


def test_values_of_control_records_are_known() -> None:
    (marker,) = only(build.control(0, (bytes.fromhex("00000001"), bytes.fromhex("000000000009"))))[1]
    assert marker.control.value == {"coordinator_epoch": 9}
    for _, _, records in recorded("kafka-4.3/dynamic-quorum/__cluster_metadata-0", "checkpoint"):
        assert all(one.control.value["version"] == 0 for one in records)


def test_control_keys_of_later_versions() -> None:
    value = bytes.fromhex("000000000009")
    (later,) = only(build.control(0, (bytes.fromhex("00050001") + b"more", value)))[1]
    assert (later.control.type, later.control.version) == ("COMMIT", 5)
    assert later.control.value == {"coordinator_epoch": 9}
    (negative,) = only(build.control(0, (bytes.fromhex("ffff0001"), value)))[1]
    assert negative.control.value is None


def test_horizon_of_a_committed_marker() -> None:
    """Its transaction was committed, and nothing is left of it: cleaning took the records."""
    markers = [
        (batch, records[0])
        for batch, _, records in recorded("kafka-4.3/clean/compact-horizon-0")
        if batch.is_control and batch.delete_horizon_ms is not None
    ]
    assert {record.control.type for _, record in markers} == {"COMMIT"}
    for marker, _ in markers:
        data = [
            one
            for one, _, _ in recorded("kafka-4.3/clean/compact-horizon-0")
            if one.producer_id == marker.producer_id and one.producer_epoch == marker.producer_epoch - 1
        ]
        assert data == []


def test_upper_attribute_bits_are_ignored() -> None:
    """The vector has bits 7 to 15 set, all that mean nothing; test_wild_oracle.py has Kafka read it."""
    body = (VECTORS / "kafka_record_batch_v2" / "reserved_bits.bin").read_bytes()
    data = struct.pack(">qi", 0, len(body)) + body
    assert data[OFS_ATTRIBUTES : OFS_ATTRIBUTES + 2] == b"\xff\x80"
    found, records = only(data)
    plain, same = only(worked_example())
    assert records == same
    names = ["compression", "timestamp_type", "is_transactional", "is_control", "delete_horizon_ms"]
    assert [getattr(found, name) for name in names] == [getattr(plain, name) for name in names]
    assert [one.value for one in read_columns(data)] == [b"hello", b"world"]


def read_columns(data: bytes) -> list[Record]:
    """By the compiled decoders."""
    from kafka_segments.core.segment.segment import fast_rows

    events = open_segment(data).iter_events(rows=fast_rows())
    return [event for event in events if isinstance(event, Record)]


def test_what_the_checksum_leaves_out() -> None:
    data = worked_example()
    for position in range(21):
        changed = bytearray(data)
        changed[position] ^= 1
        crc = number(data, 17) & 0xFFFF_FFFF
        assert crc32c.crc32c(bytes(changed[21:])) == crc, "whatever is before the attributes"
    with open_segment(build.patched(data, 0, struct.pack(">q", 700))) as moved:
        assert [one.offset for one in moved.iter_events() if isinstance(one, Record)] == [700, 701]


def test_magic_3_was_never_shipped() -> None:
    data = build.patched(worked_example(), 16, b"\3")
    assert crc32c.crc32c(data[21:]) == number(data, 17) & 0xFFFF_FFFF
    with pytest.raises(UnsupportedMagicError):
        list(entries(data))
    assert len(build.batch(0, [])) == 61
    for size, greatest in ((1, 63), (2, 8191), (3, 1_048_575)):
        assert len(build.varint(greatest)) == size and len(build.varint(greatest + 1)) == size + 1
        assert len(build.unsigned_varint(2 * greatest + 1)) == size
