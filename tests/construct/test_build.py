"""What is built from plain values: recorded entries byte for byte, changed ones rightly, damage as asked."""

from __future__ import annotations

import copy
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import crc32c
import pytest
from construct import ConstructError
from tests.codegen.vectors import all_vectors
from tests.construct.trees import construct_of, parse
from tests.construct.values import (
    batch,
    hooks,
    message,
    names_in,
    plain_values,
    recorded_entries,
    segment,
    segments,
)
from tests.forms import pick
from tests.made import build as by_hand

from kafka_segments_generated.construct import BuildingError, MissingError, plain
from kafka_segments_generated.construct.kafka_control_record_key import KafkaControlRecordKey
from kafka_segments_generated.construct.kafka_control_record_value import KafkaControlRecordValue
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.construct.kafka_message_0_7 import KafkaMessage07
from kafka_segments_generated.construct.kafka_record_batch_v2 import KafkaRecordBatchV2
from kafka_segments_generated.construct.redpanda_batch_header import RedpandaBatchHeader
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment as KaitaiSegment

# What plain values cannot say: headers that were not read, longer varints than needed, a file without its
# first lines.
NOT_REBUILT = {
    "kafka_record/too_many_headers",
    "kafka_varint/high_bits_of_the_fifth_byte",
    "kafka_varint/longer_than_needed",
    "kafka_varlong/high_bits_of_the_tenth_byte",
    "kafka_offset_checkpoint/empty",
    "kafka_leader_epoch_checkpoint/empty",
    "kafka_log_segment_experimental/every_magic",
    "kafka_log_segment_experimental/three_layouts",  # the fields do not show which of the layouts it is
}

# What is behind: what a later version adds, a value of an unknown type, records of another format.
LEFT_BEHIND = {
    "kafka_control_record_key/later_version",
    "kafka_control_record_value/unknown_type",
    "redpanda_batch_header/worked_example",
    "kafka_producer_snapshot/bytes_behind",
}


def content_of(entry: Any) -> Any:
    """What is in an entry, None if it is cut off or padding."""
    return None if entry.body is None else entry.body.content


def test_every_recorded_entry_is_rebuilt_from_plain_values() -> None:
    seen: Counter[str] = Counter()
    for entry, data in recorded_entries():
        values = plain_values(entry)
        if entry.body is not None:
            assert not any(name.startswith("len_") or name == "crc" for name in names_in(values))
        elif entry.partial is not None:
            values["len_body"] = entry.len_body  # of what is cut off, nothing else tells the size
        assert segment(values) == data
        seen[kind_of(entry)] += 1
    print(dict(seen))
    assert seen["batch"] > 600 and seen["opaque batch"] > 190 and seen["message"] > 1900


def kind_of(entry: Any) -> str:
    content = content_of(entry)
    if content is None:
        return "padding" if entry.padding is not None else "partial"
    if "header" in content._struct.names:
        return "message"
    return "batch" if "records" in content else "opaque batch"


@pytest.mark.long
def test_every_recorded_file_is_rebuilt_from_its_tree() -> None:
    for path in segments()[:: pick(3, 1)]:
        data = path.read_bytes()
        tree = KafkaLogSegment.parse(data)
        assert KafkaLogSegment.build(tree) == data
        assert KafkaLogSegment.build(plain(tree)) == data


@pytest.mark.long
def test_after_a_change_everything_else_follows() -> None:
    num_changed = 0
    for entry, data in islice(recorded_entries(), 0, None, pick(4, 1)):
        if entry.body is None:
            continue
        values = plain_values(entry)
        for changed, say in changes(values):
            built = segment(changed)
            again = KafkaLogSegment.parse(built).entries
            assert len(again) == 1 and checked(built), say
            assert plain_values(again[0]) == changed, say
            assert built != data
            num_changed += 1
    assert num_changed > pick(750, 3000)


def changes(values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The same values with one of them changed."""
    content = values["body"]["content"]
    if "header" in content:
        for name in ("key", "value"):
            changed = copy.deepcopy(values)
            changed["body"]["content"][name] = b"quite another " + name.encode()
            yield changed, name
        return
    changed = copy.deepcopy(values)
    changed["body"]["content"]["producer_id"] = 1 << 60
    yield changed, "producer_id"
    if content.get("records"):
        changed = copy.deepcopy(values)
        changed["body"]["content"]["records"][-1]["body"]["value"] = bytes(200)
        yield changed, "value"


def checked(data: bytes) -> bool:
    """Whether an entry's length and checksum are right, as other code than ours sees it."""
    entry = KaitaiSegment.from_bytes(data).entries[0]
    content = entry.body.content
    if entry.len_body != len(data) - 12:
        return False
    if entry.body.magic == 2:
        return bool(content.crc == crc32c.crc32c(content.crc_region))
    return bool(content.header.crc == zlib.crc32(content.crc_region))


@pytest.mark.parametrize("vector", [v for v in all_vectors() if v.error is None], ids=str)
def test_every_vector_is_rebuilt(vector: Any) -> None:
    data = vector.file.read_bytes()
    tree = parse(vector.schema, vector.params, data)
    declared = construct_of(vector.schema)
    params = dict(zip(getattr(declared, "params", ()), vector.params, strict=False))
    if str(vector) not in NOT_REBUILT:
        built = declared.build(plain(tree), **params)
        assert built == data[: len(built)]
        assert (len(built) < len(data)) == (str(vector) in LEFT_BEHIND)
    if not str(vector).endswith("_checkpoint/empty"):
        assert data.startswith(declared.build(tree, **params))


def test_values_alone_make_what_a_writer_by_hand_makes() -> None:
    records = [
        {"value": b"v"},
        {
            "key": b"k",
            "value": None,
            "timestamp_delta": 5,
            "headers": [{"key": b"h"}, {"key": b"", "value": b""}],
        },
        {"offset_delta": 9, "value": b""},
    ]
    header = {"partition_leader_epoch": 0, "base_timestamp": 1000}
    by_values = segment(batch(records, 100, **header))
    assert by_values == by_hand.batch(
        100,
        [
            by_hand.record(0),
            by_hand.record(1, b"k", None, ((b"h", None), (b"", b"")), timestamp_delta=5),
            by_hand.record(9, None, b""),
        ],
        last_offset_delta=9,
        base_timestamp=1000,
        max_timestamp=1005,
    )
    assert segment(message(1, 5, 7, value=b"v")) == by_hand.message(5, time=7)
    assert segment(message(0, 5, value=None)) == by_hand.message(5, None, magic=0)


def test_nothing_but_a_list_is_needed() -> None:
    assert KafkaLogSegment.build({"entries": []}) == b""
    empty = KafkaRecordBatchV2.build({})
    tree = KafkaRecordBatchV2.parse(empty, base_offset=0)
    assert (len(empty), tree.num_records, tree.last_offset_delta, tree.max_timestamp) == (49, 0, 0, -1)
    assert tree.crc == crc32c.crc32c(empty[9:])


def test_offsets_and_timestamps_may_be_given_as_such() -> None:
    records = [{"offset": 100, "timestamp": 7000}, {"offset": 105, "timestamp": 7003, "value": b"v"}]
    given = segment(batch(records, 100, base_timestamp=7000))
    deltas = [{}, {"offset_delta": 5, "timestamp_delta": 3, "value": b"v"}]
    assert given == segment(batch(deltas, 100, base_timestamp=7000))
    with pytest.raises(BuildingError, match="offset is 105, not 106"):
        segment(batch([{"offset": 106, "offset_delta": 5}], 100))


def test_enums_by_name_or_number() -> None:
    by_name = {"attributes": {"timestamp_type": "log_append_time", "is_control": True}}
    by_number = {"attributes": {"timestamp_type": 1, "is_control": 1}}
    assert KafkaRecordBatchV2.build(by_name) == KafkaRecordBatchV2.build(by_number)
    unknown = KafkaRecordBatchV2.build({"attributes": {"compression": 7}})
    assert KafkaRecordBatchV2.parse(unknown).attributes.compression == 7
    with pytest.raises(ConstructError):
        KafkaRecordBatchV2.build({"attributes": {"compression": "brotli"}})


def test_markers_from_values() -> None:
    key = KafkaControlRecordKey.build({"record_type": "commit"})
    value = KafkaControlRecordValue.build({"content": {"coordinator_epoch": 3}}, record_type="commit")
    assert (key, value) == (bytes([0, 0, 0, 1]), bytes([0, 0, 0, 0, 0, 3]))
    built = segment(batch([{"key": key, "value": value}], attributes={"is_control": True}))
    body = KafkaLogSegment.parse(built).entries[0].body.content.records[0].body
    assert body.control_key.record_type == "commit" and body.control_value.content.coordinator_epoch == 3
    voters = {"leader_id": 1, "voters": [{"voter_id": 1}, {"voter_id": 2}], "granting_voters": []}
    built = KafkaControlRecordValue.build({"content": voters}, record_type=2)
    assert built == bytes.fromhex("0000 00000001 03 00000001 00 00000002 00 01 00")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_by_the_callers_codecs(codec: str) -> None:
    records = [{"key": b"k", "value": bytes(1000)}, {"value": None}]
    values = batch(records, 7, attributes={"compression": codec})
    with pytest.raises(BuildingError, match="give a codec"):
        segment(values)
    built = segment(values, codecs=hooks())
    assert len(built) < 500 and checked(built)
    tree = KafkaLogSegment.parse(built, codecs=hooks()).entries[0]
    assert [record.body.offset for record in content_of(tree).records] == [7, 8]
    assert segment(plain(tree), codecs=hooks()) == built
    opaque = KafkaLogSegment.parse(built).entries[0]
    assert "records" not in content_of(opaque)
    assert segment(plain_values(opaque)) == built


def test_a_wrapper_of_messages() -> None:
    inner = {"entries": [message(1, 0, 5, value=b"a"), message(1, 1, 6, value=b"b")]}
    values = message(1, 11, 6, attributes={"compression": "gzip"}, value_content=inner)
    built = segment(values, codecs=hooks(1))
    assert checked(built)
    tree = KafkaLogSegment.parse(built, codecs=hooks(1)).entries[0]
    assert [content_of(one).value for one in content_of(tree).value_content.entries] == [b"a", b"b"]
    assert segment(plain(tree), codecs=hooks(1)) == built


def test_two_views_of_the_same_bytes() -> None:
    key = KafkaControlRecordKey.build({"record_type": "abort"})
    control = {"attributes": {"is_control": True}}
    once = segment(batch([{"key": key}], **control))
    assert once == segment(batch([{"key": key, "control_key": {"record_type": "abort"}}], **control))
    with pytest.raises(BuildingError, match="other bytes"):
        segment(batch([{"key": key, "control_key": {"record_type": "commit"}}], **control))


def test_damage_as_asked() -> None:
    sound = segment(batch([{"value": b"v"}, {"value": b"w"}]))
    values = batch([{"value": b"v"}, {"value": b"w"}])
    content = values["body"]["content"]
    assert differing(sound, segment({**values, "body": {"content": {**content, "crc": 0}}})) == {
        17,
        18,
        19,
        20,
    }
    assert differing(sound, segment({**values, "len_body": 1 << 24})) <= {8, 9, 10, 11}
    # The checksum covers the count, and is right all the same.
    lying = segment({**values, "body": {"content": {**content, "num_records": 3}}})
    assert differing(sound, lying) - {17, 18, 19, 20} == {60} and checked(lying)
    wrong_magic = segment({**values, "body": {"content": {**content, "magic": 3}}})
    assert differing(sound, wrong_magic) == {16}
    record = content["records"][0]["body"]
    longer = segment(batch([{**record, "len_value": 100}, {"value": b"w"}]))
    assert len(longer) == len(sound) + 1 and checked_crc(longer)
    null = segment(batch([{"len_key": -5, "value": b"v"}]))
    assert KafkaLogSegment.parse(null).entries[0].body.content.records[0].body.len_key == -5


def checked_crc(data: bytes) -> bool:
    return int.from_bytes(data[17:21], "big") == crc32c.crc32c(data[21:])


def differing(one: bytes, other: bytes) -> set[int]:
    """Positions at which bytes of the same length differ."""
    assert len(one) == len(other)
    return {at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]}


def test_a_magic_written_over_opaque_content() -> None:
    built = segment({"base_offset": 1, "body": {"magic": 9, "content": bytes(20)}})
    assert built[16] == 9 and len(built) == 32


def test_entries_that_are_none() -> None:
    padding = {"padding": bytes(100)}
    assert segment(padding) == bytes(112)
    partial = {"base_offset": None, "len_body": None, "partial": b"\0\0\1"}
    assert segment(partial) == b"\0\0\1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"entries": [{"body": {"content": {}}}]}, "nothing tells which of the cases it is"),
        ({"entries": [batch([{"valeu": b"v"}])]}, "no such field in kafka_record::record_body: 'valeu'"),
        ({"entries": [batch([{"value": "text"}])]}, "bytes are wanted, not str"),
        ({"entries": [batch([{"timestamp_delta": 1 << 70}])]}, "not an integer from"),
        ({"entries": [batch([{}], producer_id=1 << 63)]}, "given value"),
        ({"entries": [message(0, 0, 5)]}, "timestamp is given, but its condition"),
        ({"entries": [batch([{}], payload=b"other")]}, "other bytes are given for the same place"),
        ({"entries": [batch([{"value": b"v", "control_key": {"record_type": 0}}])]}, "its condition says"),
        ({"entries": 5}, "a list is wanted"),
        (b"", "a mapping of fields is wanted"),
        ({"entries": [batch([{"headers": [{"value": b""}]}])]}, "not given"),
    ],
)
def test_what_cannot_be_built(values: Any, message: str) -> None:
    with pytest.raises(ConstructError, match=message):
        KafkaLogSegment.build(values)


def test_what_follows_from_records_is_wanted_where_they_are_opaque() -> None:
    opaque = {"attributes": {"compression": "gzip"}, "payload": b"?"}
    with pytest.raises(MissingError, match="follows from records, but payload was given instead"):
        KafkaRecordBatchV2.build(opaque)
    told = {"num_records": 1, "last_offset_delta": 0, "max_timestamp": -1}
    assert KafkaRecordBatchV2.build(opaque | told).endswith(b"?")


def test_checksums_of_other_formats() -> None:
    built = KafkaMessage07.build(
        {"body": {"magic": 1, "attributes": {"reserved": 0, "compression": 0}, "payload": b"x"}}
    )
    assert KafkaMessage07.parse(built).body.crc == zlib.crc32(b"x")
    vector = next(v for v in all_vectors() if v.schema == "redpanda_batch_header")
    header = RedpandaBatchHeader.parse(vector.file.read_bytes())
    changed = RedpandaBatchHeader.build(plain(header) | {"base_offset": 77})
    assert RedpandaBatchHeader.parse(changed).header_crc == crc32c.crc32c(changed[4:])
