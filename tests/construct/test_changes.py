"""Parsed trees that are changed and built: what follows from the change is derived, the rest is as parsed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crc32c
import pytest
from construct import ConstructError
from tests.codegen.vectors import all_vectors
from tests.construct.trees import construct_of
from tests.construct.values import RECORDED, batch, hooks, message, recorded_entries, segment

from kafka_segments_generated.construct import BuildingError, MissingError, plain
from kafka_segments_generated.construct.kafka_control_record_key import KafkaControlRecordKey
from kafka_segments_generated.construct.kafka_leader_epoch_checkpoint import KafkaLeaderEpochCheckpoint
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.construct.kafka_offset_index import KafkaOffsetIndex
from kafka_segments_generated.construct.kafka_producer_snapshot import KafkaProducerSnapshot
from kafka_segments_generated.construct.kafka_time_index import KafkaTimeIndex
from kafka_segments_generated.construct.kafka_transaction_index import KafkaTransactionIndex
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment as KaitaiSegment
from kafka_segments_generated.kaitai.kafka_producer_snapshot import KafkaProducerSnapshot as KaitaiSnapshot

RECORDS = [
    {"key": b"k0", "value": b"v0", "timestamp_delta": 0},
    {"key": b"k1", "value": None, "timestamp_delta": 5, "headers": [{"key": b"h", "value": b"x"}]},
    {"key": None, "value": b"v2", "timestamp_delta": 3},
]
SOUND = segment(batch(RECORDS, 100, base_timestamp=1000, partition_leader_epoch=4))


def parsed(data: bytes = SOUND, **context: Any) -> Any:
    """The tree of a segment, and the content of its first entry."""
    tree = KafkaLogSegment.parse(data, **context)
    return tree, tree.entries[0].body.content


def by_kaitai(data: bytes) -> Any:
    """The content of the first entry as the Kaitai classes read it, with lengths and checksum looked at."""
    entries = KaitaiSegment.from_bytes(data).entries
    for entry in entries:
        content = entry.body.content
        if entry.body.magic == 2:
            assert content.crc == crc32c.crc32c(content.crc_region)
        else:
            assert content.header.crc == zlib.crc32(content.crc_region)
    assert sum(12 + entry.len_body for entry in entries) == len(data)
    return entries[0].body.content


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", b"another key"), ("value", b"x" * 300), ("key", None), ("value", None), ("value", b"")],
)
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_key_or_value_of_a_batch(name: str, value: bytes | None, index: int) -> None:
    tree, content = parsed()
    setattr(content.records[index].body, name, value)
    found = by_kaitai(KafkaLogSegment.build(tree))
    assert getattr(found.records[index].body, name, None) == value
    assert (found.num_records, found.last_offset_delta, found.max_timestamp) == (3, 2, 1005)
    assert [record.body.offset for record in found.records] == [100, 101, 102]


def test_headers() -> None:
    tree, content = parsed()
    content.records[0].body.headers.append({"key": b"new", "value": None})
    content.records[1].body.headers[0].value = b"changed"
    content.records[2].body.headers = [{"key": b"a", "value": b""}, {"key": b"b", "value": b"c"}]
    found = by_kaitai(KafkaLogSegment.build(tree))
    read = [[(one.key, getattr(one, "value", None)) for one in each.body.headers] for each in found.records]
    assert read == [[(b"new", None)], [(b"h", b"changed")], [(b"a", b""), (b"b", b"c")]]
    tree, content = parsed()
    del content.records[1].body.headers[0]
    assert by_kaitai(KafkaLogSegment.build(tree)).records[1].body.num_headers.value == 0


def test_records_that_are_added_and_taken_away() -> None:
    tree, content = parsed()
    content.records.append({"body": {"value": b"fourth", "timestamp_delta": 9}})
    found = by_kaitai(KafkaLogSegment.build(tree))
    assert (found.num_records, found.last_offset_delta, found.max_timestamp) == (4, 3, 1009)
    assert found.records[3].body.offset == 103
    tree, content = parsed()
    del content.records[0]  # as compaction does: the others keep their offsets
    found = by_kaitai(KafkaLogSegment.build(tree))
    assert [record.body.offset for record in found.records] == [101, 102] and found.num_records == 2
    content.records.append({"body": {"value": b"no place"}})
    with pytest.raises(MissingError, match="place in records does not tell it: element 0 was parsed with 1"):
        KafkaLogSegment.build(tree)
    content.records[-1] = {"body": {"value": b"a place", "offset": 110}}
    assert by_kaitai(KafkaLogSegment.build(tree)).last_offset_delta == 10


def test_offsets_timestamps_and_attributes() -> None:
    tree, content = parsed()
    tree.entries[0].base_offset = 5000
    content.records[2].body.offset = 5007
    content.records[0].body.timestamp = 2000
    content.attributes.is_transactional = True
    content.producer_id = 77
    found = by_kaitai(KafkaLogSegment.build(tree))
    assert [record.body.offset for record in found.records] == [5000, 5001, 5007]
    assert [record.body.timestamp for record in found.records] == [2000, 1005, 1003]
    assert (found.last_offset_delta, found.max_timestamp, found.producer_id) == (7, 2000, 77)
    assert found.attributes.is_transactional


def test_what_is_assigned_is_taken_however_wrong() -> None:
    tree, content = parsed()
    content.records[0].body.value = b"other"
    content.crc = 7
    content.last_offset_delta = 50
    built = KafkaLogSegment.build(tree)
    again = KaitaiSegment.from_bytes(built).entries[0].body.content
    assert (again.crc, again.last_offset_delta, again.records[0].body.value) == (7, 50, b"other")
    content.crc = None  # None is for: derive it
    assert by_kaitai(KafkaLogSegment.build(tree)).last_offset_delta == 50


def test_what_has_nothing_to_do_with_the_change_keeps_its_bytes() -> None:
    """A wrong checksum elsewhere, a compacted batch's last offset, a number longer than needed."""
    compacted = segment(batch([{"value": b"a"}, {"value": b"b"}], last_offset_delta=9))
    wrong = segment(batch([{"value": b"w"}], crc=1))
    tree = KafkaLogSegment.parse(SOUND + compacted + wrong)
    tree.entries[0].body.content.records[0].body.value = b"changed"
    tree.entries[1].body.content.producer_id = 5
    built = KafkaLogSegment.build(tree)
    again = KafkaLogSegment.parse(built).entries
    assert again[1].body.content.last_offset_delta == 9 and again[2].body.content.crc == 1
    assert built.endswith(wrong)


def test_what_was_not_derived_before_the_change_is_asked_for() -> None:
    """Nobody knows how far a batch reached whose last offset came from records that compaction took away."""
    tree, content = parsed(segment(batch([{"value": b"a"}, {"value": b"b"}], last_offset_delta=9)))
    content.records.append({"body": {"offset_delta": 12, "value": b"c"}})
    with pytest.raises(BuildingError, match=r"last_offset_delta\n.*parsed as 9.*gave 1.*gives 12: assign"):
        KafkaLogSegment.build(tree)
    content.last_offset_delta = 12
    assert by_kaitai(KafkaLogSegment.build(tree)).last_offset_delta == 12


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("name", ["key", "value"])
@pytest.mark.parametrize("value", [b"", b"y" * 200, None])
def test_messages(magic: int, name: str, value: bytes | None) -> None:
    tree, content = parsed(segment(message(magic, 7, 5 if magic else None, key=b"k", value=b"v")))
    setattr(content, name, value)
    tree.entries[0].base_offset = 70
    found = by_kaitai(KafkaLogSegment.build(tree))
    assert getattr(found, name, None) == value and found.offset == 70
    if magic:
        content.header.timestamp = 99
        assert by_kaitai(KafkaLogSegment.build(tree)).header.timestamp == 99


def test_wrappers() -> None:
    inner = {"entries": [message(1, 0, 5, value=b"a"), message(1, 1, 6, value=b"b")]}
    data = segment(
        message(1, 11, 6, attributes={"compression": "gzip"}, value_content=inner), codecs=hooks(1)
    )
    tree, content = parsed(data, codecs=hooks(1))
    content.value_content.entries[1].body.content.value = b"another"
    with pytest.raises(BuildingError, match="give a codec for gzip to build with"):
        KafkaLogSegment.build(tree)
    built = KafkaLogSegment.build(tree, codecs=hooks(1))
    by_kaitai(built)
    content = parsed(built, codecs=hooks(1))[1]
    assert [one.body.content.value for one in content.value_content.entries] == [b"a", b"another"]
    content.value_content.entries[0].body.content.value = b"new"
    content.value = b"opaque"
    with pytest.raises(BuildingError, match="value and value_content were both changed"):
        KafkaLogSegment.build(parsed_root(content), codecs=hooks(1))


def parsed_root(content: Any) -> Any:
    return content._parent._parent._parent


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches(codec: str) -> None:
    data = segment(batch(RECORDS, 100, attributes={"compression": codec}), codecs=hooks())
    tree, content = parsed(data, codecs=hooks())
    assert KafkaLogSegment.build(tree) == data  # unchanged: no codec is asked
    content.producer_id = 9
    kept = KafkaLogSegment.build(tree)
    assert by_kaitai(kept).payload == content.payload
    content.records[0].body.value = b"changed"
    again = parsed(KafkaLogSegment.build(tree, codecs=hooks()), codecs=hooks())[1]
    assert again.records[0].body.value == b"changed" and len(again.records) == 3
    content.attributes.compression = "none"
    plain_again = by_kaitai(KafkaLogSegment.build(tree))
    assert [record.body.key for record in plain_again.records[:2]] == [b"k0", b"k1"]


def test_opaque_batches() -> None:
    data = segment(batch(RECORDS, 100, attributes={"compression": "gzip"}), codecs=hooks())
    tree, content = parsed(data)
    content.producer_id = 9
    tree.entries[0].base_offset = 7
    assert by_kaitai(KafkaLogSegment.build(tree)).num_records == 3
    content.attributes.compression = "none"
    with pytest.raises(BuildingError, match="payload was compressed with gzip, and the fields now say none"):
        KafkaLogSegment.build(tree)
    tree, content = parsed(data)
    content.payload = b"another"
    with pytest.raises(MissingError, match=r"num_records|last_offset_delta|max_timestamp"):
        KafkaLogSegment.build(tree)
    content.num_records, content.last_offset_delta, content.max_timestamp = 1, 0, 5
    assert by_kaitai(KafkaLogSegment.build(tree)).payload == b"another"


def test_compressing_a_batch_that_was_not() -> None:
    tree, content = parsed()
    content.attributes.compression = "zstd"
    with pytest.raises(BuildingError, match="give a codec for zstd"):
        KafkaLogSegment.build(tree)
    again = parsed(KafkaLogSegment.build(tree, codecs=hooks()), codecs=hooks())[1]
    assert [record.body.value for record in again.records] == [b"v0", None, b"v2"]


def test_control_records() -> None:
    key = KafkaControlRecordKey.build({"record_type": "commit"})
    values = [{"key": key, "value": bytes([0, 0, 0, 0, 0, 3])}]
    data = segment(batch(values, attributes={"is_control": True}))
    tree, content = parsed(data)
    content.records[0].body.control_key.record_type = "abort"
    content.records[0].body.control_value.content.coordinator_epoch = 9
    found = by_kaitai(KafkaLogSegment.build(tree)).records[0].body
    assert found.control_key.record_type.name == "abort"
    assert found.control_value.content.coordinator_epoch == 9
    tree, content = parsed(data)
    content.records[0].body.key = KafkaControlRecordKey.build({"record_type": "abort"})
    assert by_kaitai(KafkaLogSegment.build(tree)).records[0].body.control_key.record_type.name == "abort"
    content.records[0].body.control_key.version = 7
    with pytest.raises(BuildingError, match="control_key and the fields around do not agree"):
        KafkaLogSegment.build(tree)


def test_files_beside_a_segment() -> None:
    entries = [{"relative_offset": 5, "position": 10}]
    tree = KafkaOffsetIndex.parse(KafkaOffsetIndex.build({"entries": entries}))
    tree.entries[0].position = 11
    tree.entries.append({"relative_offset": 9, "position": 20})
    assert KafkaOffsetIndex.build(tree) == bytes([0, 0, 0, 5, 0, 0, 0, 11, 0, 0, 0, 9, 0, 0, 0, 20])
    tree = KafkaTimeIndex.parse(KafkaTimeIndex.build({"entries": [{"timestamp": 5, "relative_offset": 1}]}))
    tree.entries[0].timestamp = 6
    assert KafkaTimeIndex.parse(KafkaTimeIndex.build(tree)).entries[0].timestamp == 6
    entry = {"producer_id": 1, "first_offset": 2, "last_offset": 3, "last_stable_offset": 4}
    tree = KafkaTransactionIndex.parse(KafkaTransactionIndex.build({"entries": [entry]}))
    tree.entries[0].last_offset = 33
    assert KafkaTransactionIndex.parse(KafkaTransactionIndex.build(tree)).entries[0].last_offset == 33
    tree = KafkaLeaderEpochCheckpoint.parse(b"0\n1\n0 0\n")
    tree.entries[0].start_offset_text = b"7"
    assert KafkaLeaderEpochCheckpoint.build(tree) == b"0\n1\n0 7\n"
    tree.num_entries = 5
    with pytest.raises(BuildingError, match="num_entries is 1, not 5"):
        KafkaLeaderEpochCheckpoint.build(tree)


def test_producer_snapshots() -> None:
    entry = {"producer_id": 1, "epoch": 2}
    tree = KafkaProducerSnapshot.parse(KafkaProducerSnapshot.build({"producer_entries": [entry]}))
    tree.producer_entries[0].epoch = 3
    tree.producer_entries.append({"producer_id": 8, "epoch": 0})
    found = KaitaiSnapshot.from_bytes(KafkaProducerSnapshot.build(tree))
    assert found.crc == crc32c.crc32c(found.crc_region) and found.num_producer_entries == 2
    assert [one.epoch for one in found.producer_entries] == [3, 0]


def test_every_recorded_entry_with_a_change() -> None:
    """One field of each recorded entry: lengths and checksum are right, and nothing else is another."""
    num_changed = 0
    for number, (entry, data) in enumerate(recorded_entries()):
        if entry.body is None or number % 4:
            continue
        tree = KafkaLogSegment.parse(data)
        content = tree.entries[0].body.content
        before = plain(content, derived=True)
        changed: Any = content
        if "header" in content:
            content.key = b"quite another key"
        elif "records" in content and content.records:
            changed = content.records[-1].body
            changed.key = b"quite another key"
        else:
            content.producer_epoch = 1234
        built = KafkaLogSegment.build(tree)
        by_kaitai(built)
        again = KafkaLogSegment.parse(built).entries[0].body.content
        if changed is content:
            names = {name for name, value in plain(again, derived=True).items() if before.get(name) != value}
            assert names <= {"key", "len_key", "header", "crc", "producer_epoch"}
        else:
            assert again.records[-1].body.key == b"quite another key"
            kept = {name: value for name, value in before.items() if name not in ("crc", "records")}
            now = plain(again, derived=True)
            assert kept == {name: now[name] for name in kept}
        num_changed += 1
    assert num_changed > 650


def test_plain_values_follow_too() -> None:
    tree, _ = parsed()
    values = plain(tree)
    added = {"body": {"value": b"x", "timestamp_delta": 50}}
    values["entries"][0]["body"]["content"]["records"].append(added)
    found = by_kaitai(KafkaLogSegment.build(values))
    assert (found.num_records, found.last_offset_delta, found.max_timestamp) == (4, 3, 1050)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: setattr(content, "valeu", 1), "no field 'valeu' in kafka_record_batch_v2"),
        (lambda content: setattr(content, "num_record", 1), "did you mean 'num_records'"),
        (lambda content: setattr(content, "base_offset", 1), "base_offset is a parameter"),
        (lambda content: setattr(content, "crc_region", b""), "only shows bytes of other fields"),
        (lambda content: content.__setitem__("num_record", 1), "did you mean 'num_records'"),
    ],
)
def test_names_that_cannot_be_assigned(change: Callable[[Any], None], message: str) -> None:
    with pytest.raises((AttributeError, KeyError), match=message):
        change(parsed()[1])


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(BuildingError, match=r"no such field in .*record_body: 'valeu'; did you mean 'value'"):
        segment(batch([{"valeu": b"v"}]))


def test_what_does_not_agree_is_refused() -> None:
    tree, content = parsed()
    content.payload = b"other records"
    with pytest.raises(BuildingError, match="payload and the fields around do not agree"):
        KafkaLogSegment.build(tree)
    tree, content = parsed()
    content.records[0].body.sequence = 5
    with pytest.raises(BuildingError, match="sequence is -1, not 5"):
        KafkaLogSegment.build(tree)
    with pytest.raises(ConstructError, match="not an integer from"):
        content.records[0].body.timestamp_delta = 1 << 70


def test_a_part_of_a_tree_is_built_alone() -> None:
    record = parsed()[1].records[0]
    record.body.value = b"alone"
    built = construct_of("kafka_record").build(record)
    again = construct_of("kafka_record").parse(built, max_num_headers=9, is_control=False)
    assert again.body.value == b"alone"


def test_every_recorded_file_beside_a_segment_is_rebuilt() -> None:
    for pattern, schema in (("*.index", "kafka_offset_index"), ("*.snapshot", "kafka_producer_snapshot")):
        paths = sorted(Path(RECORDED).rglob(pattern))
        assert paths
        for path in paths:
            data = path.read_bytes()
            assert construct_of(schema).build(construct_of(schema).parse(data)) == data


STRUCTS = [v for v in all_vectors() if v.error is None and hasattr(construct_of(v.schema), "by_name")]


@pytest.mark.parametrize("vector", STRUCTS, ids=str)
def test_assigning_what_is_there_changes_nothing(vector: Any) -> None:
    declared = construct_of(vector.schema)
    params = dict(zip(declared.params, vector.params, strict=False))
    tree = declared.parse(vector.file.read_bytes(), **params)
    built = declared.build(tree, **params)
    for name in declared.by_name:
        if getattr(tree, name) is not None:
            setattr(tree, name, getattr(tree, name))
    assert declared.build(tree, **params) == built
