"""Errata 1b, of messages of magic 0 and 1, of the magics beside each other, and of other files."""

from __future__ import annotations

import gzip
import struct
from collections import Counter

import pytest
from tests.codegen.vectors import VECTORS
from tests.construct.values import message, segment
from tests.errata.bytes_at_hand import RECORDED, TIME, number, only, recorded
from tests.made import build

from kafka_segments import open_segment
from kafka_segments.core.codecs import decompress
from kafka_segments.errors import CorruptBatchError, DecompressionError, UnknownFormatError
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment

GZIP = 1


def test_producers_send_offsets_in_message_sets() -> None:
    """A broker keeps a wrapper of magic 1 as it was sent: inside are entries with offsets, from 0 on."""
    num_inner = 0
    for batch, data, _records in recorded("kafka-0.10.2/clean/kpy-gzip-0"):
        outer = KafkaLogSegment.parse(data).entries[0].body.content
        sent = decompress("gzip", outer.value)
        inner = KafkaLogSegment.parse(sent).entries
        assert [one.base_offset for one in inner] == list(range(batch.num_records))
        assert number(sent, 0, 8) == 0 and number(sent, 8) == inner[0].len_body
        num_inner += len(inner)
    assert num_inner > 10


def test_formats_are_mixed_within_a_segment() -> None:
    magics = [batch.magic for batch, _, _ in recorded("kafka-2.8/clean/mixed-0")]
    runs = [magic for at, magic in enumerate(magics) if at == 0 or magic != magics[at - 1]]
    assert runs == [0, 1, 2, 1, 0, 2]


def test_nested_compression() -> None:
    inner = build.message(0, gzip.compress(build.message(0)), attributes=GZIP)
    with pytest.raises(CorruptBatchError, match="inner message 1 is compressed itself"):
        only(build.message(0, gzip.compress(inner), attributes=GZIP))
    # In magic 2 the payload is records, never a batch.
    nested = build.batch(0, payload=gzip.compress(build.batch(0)), attributes=GZIP)
    with pytest.raises(CorruptBatchError):
        only(nested)


def test_old_messages_are_compressed_too() -> None:
    for magic in (0, 1):
        for codec in ("gzip", "snappy", "lz4"):
            batches = [batch for batch, _, _ in recorded(f"kafka-2.8/clean/old-v{magic}-{codec}-0")]
            assert {(batch.magic, batch.compression) for batch in batches} >= {(magic, codec)}
        with pytest.raises(DecompressionError, match="zstd in a message of magic"):
            only(build.message(0, b"?", magic=magic, attributes=4))


def test_layout_of_old_messages() -> None:
    data = segment(message(1, 7, TIME, key=b"k", len_value=-2))
    offset, size, crc, magic, attributes, time, len_key, key, len_value = struct.unpack(">qiIbbqi1si", data)
    assert (offset, size) == (7, len(data) - 12)
    assert (magic, attributes, time, len_key, key, len_value) == (1, 0, TIME, 1, b"k", -2)
    batch, (record,) = only(data)
    assert (batch.crc, record.value) == (crc, None)
    assert crc >= 0, "unsigned"


def test_features_of_old_messages() -> None:
    kinds = Counter(
        (batch.magic, record.timestamp_type, record.timestamp == -1)
        for magic in (0, 1)
        for codec in ("none", "gzip")
        for batch, _, records in recorded(f"kafka-2.8/clean/v{magic}-{codec}-0")
        for record in records
        if not record.headers
    )
    assert set(kinds) == {(0, "NoTimestampType", True), (1, "CreateTime", False)}
    for batch, _, _ in recorded("kafka-2.8/clean/v1-gzip-0"):
        assert (batch.is_transactional, batch.producer_id, batch.base_sequence) == (False, -1, -1)


def test_what_converts_up() -> None:
    """Cleaning by 2.8 kept the magic; producing to a topic of magic 2 gave a client's magic 0 another."""
    for magic in (0, 1):
        for state in ("before-cleaning", "clean"):
            place = f"kafka-2.8/{state}/v{magic}-compact-gzip-0"
            assert {batch.magic for batch, _, _ in recorded(place)} == {magic}
    up = list(recorded("kafka-2.8/clean/up-gzip-0"))
    assert {(batch.magic, batch.base_timestamp, batch.timestamp_type) for batch, _, _ in up} == {
        (2, -1, "CreateTime")
    }


def test_kafka_0_7_is_refused() -> None:
    for name in ("magic_0", "magic_1_gzip"):
        data = (VECTORS / "kafka_message_0_7" / f"{name}.bin").read_bytes()
        with pytest.raises(UnknownFormatError) as caught:
            open_segment(data)
        assert caught.value.format == "Kafka 0.7"


def test_versions_that_are_not_the_magic() -> None:
    """Five of them, in one recording: each is read under a name of its own."""
    batch, _data, records = next(recorded("kafka-4.3/dynamic-quorum/__cluster_metadata-0"))
    assert batch.magic == 2
    leader_change, kraft_version = records[0].control, records[1].control
    assert leader_change.version == 0, "of the key"
    assert leader_change.value["version"] == 0, "of the message"
    assert kraft_version.value == {"version": 0, "k_raft_version": 1}, "and what that one is about"
    marker = next(batch for batch in recorded("kafka-4.3/clean/transactions-0") if batch[0].is_control)
    assert number(marker[2][0].value, 0, 2) == 0, "of the marker's value"
    snapshot = RECORDED / "kafka-4.3/clean/transactions-0/00000000000000000007.snapshot"
    assert number(snapshot.read_bytes(), 0, 2) == 1, "of the producers' snapshot"


def test_metadata_records_have_frame_version_1() -> None:
    place = "kafka-4.3/dynamic-quorum/__cluster_metadata-0"
    values = [one.value for batch, _, records in recorded(place) if not batch.is_control for one in records]
    assert {value[0] for value in values} == {1}
    assert len(values) > 10


def test_aborted_transactions_have_a_version_of_two_bytes() -> None:
    len_entry, found = 34, []
    for path in sorted((RECORDED / "kafka-4.3/clean/transactions-0").glob("*.txnindex")):
        data = path.read_bytes()
        assert len(data) % len_entry == 0
        found += [struct.unpack_from(">hqqqq", data, start) for start in range(0, len(data), len_entry)]
    assert {version for version, *_ in found} == {0}
    assert {producer_id for _, producer_id, *_ in found} <= {1, 2}
    markers = {
        batch.last_offset for batch, _, _ in recorded("kafka-4.3/clean/transactions-0") if batch.is_control
    }
    assert {last for _, _, _, last, _ in found} <= markers
    assert all(first < last for _, _, first, last, _ in found)
