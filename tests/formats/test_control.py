"""Control records: Kafka's seven types, unknown ones, and keys and values that cannot be read."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from tests.made.build import batch, control, record, unsigned_varint

from kafka_segments import Record, open_segment
from kafka_segments.core.formats.control_records import decode_control
from kafka_segments.core.formats.entries import ControlRecord

UUID = bytes(range(16))
UUID_TEXT = "AAECAwQFBgcICQoLDA0ODw"
NO_TAGS = b"\0"
TAGS = b"\x02\x05\x01x\x09\x02yz"  # two unknown tagged fields


def key(type_id: int, version: int = 0, rest: bytes = b"") -> bytes:
    return struct.pack(">hh", version, type_id) + rest


def text(value: str) -> bytes:
    return unsigned_varint(len(value.encode()) + 1) + value.encode()


def leader_change(version: int, tags: bytes = NO_TAGS) -> bytes:
    voter = struct.pack(">i", 1) + (UUID if version else b"") + tags
    return struct.pack(">hi", version, 1) + b"\x02" + voter + b"\x03" + voter * 2 + tags


def voters(tags: bytes = NO_TAGS, host: bytes = text("localhost")) -> bytes:
    endpoint = text("CONTROLLER") + host + struct.pack(">H", 65535) + tags
    voter = struct.pack(">i", 3) + UUID + b"\x02" + endpoint + struct.pack(">hh", 0, 1) + tags + tags
    return struct.pack(">h", 0) + b"\x02" + voter + tags


VOTERS = {
    "version": 0,
    "voters": [
        {
            "voter_id": 3,
            "voter_directory_id": UUID_TEXT,
            "endpoints": [{"name": "CONTROLLER", "host": "localhost", "port": 65535}],
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }
    ],
}
PLAIN, NAMED = {"voter_id": 1}, {"voter_id": 1, "voter_directory_id": UUID_TEXT}


@pytest.mark.parametrize(
    ("type_id", "value", "name", "fields"),
    [
        (0, struct.pack(">hi", 0, 7), "ABORT", {"coordinator_epoch": 7}),
        (1, struct.pack(">hi", 0, -1), "COMMIT", {"coordinator_epoch": -1}),
        (1, struct.pack(">hi", 0, 8) + b"more", "COMMIT", {"coordinator_epoch": 8}),
        (
            1,
            struct.pack(">hi", 5, 8),
            "COMMIT",
            {"coordinator_epoch": 8},
        ),  # EndTransactionMarker reads it as 0
        (
            2,
            leader_change(0),
            "LEADER_CHANGE",
            {"version": 0, "leader_id": 1, "voters": [PLAIN], "granting_voters": [PLAIN, PLAIN]},
        ),
        (
            2,
            leader_change(1, TAGS),
            "LEADER_CHANGE",
            {"version": 1, "leader_id": 1, "voters": [NAMED], "granting_voters": [NAMED, NAMED]},
        ),
        (
            3,
            struct.pack(">hq", 0, -2) + NO_TAGS,
            "SNAPSHOT_HEADER",
            {"version": 0, "last_contained_log_timestamp": -2},
        ),
        (4, struct.pack(">h", 0) + TAGS, "SNAPSHOT_FOOTER", {"version": 0}),
        (5, struct.pack(">hh", 0, 1) + NO_TAGS, "KRAFT_VERSION", {"version": 0, "k_raft_version": 1}),
        (6, voters(), "KRAFT_VOTERS", VOTERS),
        (6, voters(TAGS), "KRAFT_VOTERS", VOTERS),
        (337, b"whatever", "UNKNOWN", None),
        (7, None, "UNKNOWN", None),
        (-1, b"", "UNKNOWN", None),
    ],
)
def test_types(type_id: int, value: bytes | None, name: str, fields: dict[str, Any] | None) -> None:
    assert decode_control(key(type_id), value) == ControlRecord(name, type_id, 0, fields)


def test_larger_key_versions_are_read_as_0() -> None:
    value = struct.pack(">hi", 0, 7)
    assert decode_control(key(1, 9, b"new"), value) == ControlRecord("COMMIT", 1, 9, {"coordinator_epoch": 7})


def test_a_negative_key_version_keeps_kafka_from_the_value() -> None:
    assert decode_control(key(1, -1), struct.pack(">hi", 0, 7)) == ControlRecord("COMMIT", 1, -1, None)


@pytest.mark.parametrize("short", [None, b"", b"\0\0\0"])
def test_keys_that_cannot_be_read(short: bytes | None) -> None:
    assert decode_control(short, struct.pack(">hi", 0, 7)) == ControlRecord("INVALID", None, None, None)


@pytest.mark.parametrize(
    ("type_id", "value"),
    [
        (0, None),
        (0, b""),
        (0, b"\0\0\0\0\0"),
        (1, struct.pack(">hi", -1, 7)),
        (2, leader_change(0)[:-1]),
        (2, b"\0\2" + leader_change(1)[2:]),
        (2, b"\0\0\0\0\0\1\0"),  # an array that is null
        (2, struct.pack(">hi", 0, 1) + b"\xff\xff\xff\xff\x07"),
        (3, struct.pack(">hq", 1, 5) + NO_TAGS),
        (3, struct.pack(">hq", 0, 5)),
        (4, b"\0\0"),
        (5, struct.pack(">hh", 1, 1) + NO_TAGS),
        (6, voters()[:-1]),
        (6, b"\0\1" + voters()[2:]),
    ],
)
def test_values_that_cannot_be_read(type_id: int, value: bytes | None) -> None:
    decoded = decode_control(key(type_id), value)
    assert (decoded.type_id, decoded.version, decoded.value) == (type_id, 0, None)


def test_every_cut_of_a_value_is_survived() -> None:
    for type_id, value in ((2, leader_change(1, TAGS)), (6, voters(TAGS))):
        for size in range(len(value)):
            assert decode_control(key(type_id), value[:size]).value is None


def test_bad_utf8_in_a_name_is_replaced_as_java_does() -> None:
    decoded = decode_control(key(6), voters(host=b"\x03\xffa"))
    assert decoded.value is not None
    assert decoded.value["voters"][0]["endpoints"][0]["host"] == "\ufffda"


def test_only_control_batches_have_control_records() -> None:
    pair = (key(1), struct.pack(">hi", 0, 4))
    records = [e for e in open_segment(control(0, pair, pair)).iter_events() if isinstance(e, Record)]
    assert [e.control and e.control.type for e in records] == ["COMMIT", "COMMIT"]
    assert (records[0].key, records[0].value) == pair
    (plain,) = (e for e in open_segment(batch(0, [record(0, *pair)])).iter_events() if isinstance(e, Record))
    assert plain.control is None
