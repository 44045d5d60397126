"""Control records: the meaning of keys and values in control batches.

Strategy: the generated classes read them; this module has the names for users and other programs (those of
Kafka's message JSON, in snake_case) and the results for keys and values that cannot be read. Kafka's rules:
ControlRecordType, EndTransactionMarker, ControlRecordUtils.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from kaitaistruct import KaitaiStruct, ValidationNotEqualError

from kafka_segments.core.formats.entries import ControlRecord
from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, name, stream
from kafka_segments_generated.kaitai.kafka_control_record_key import KafkaControlRecordKey
from kafka_segments_generated.kaitai.kafka_control_record_value import KafkaControlRecordValue

__all__ = ["MAX_LEN_VALUE", "decode_control", "decode_control_as_version_0"]

Fields = dict[str, Any]

_VERSION = "version"
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"  # Uuid.ZERO_UUID

MAX_LEN_VALUE = 64 << 10
"""Bytes of a control record's value that are looked at.

A tagged field has two bytes at least and takes about 500 in memory. Kafka's own values are far smaller: so
much holds the names and addresses of a thousand voters.
"""


def decode_control(key: bytes | None, value: bytes | None) -> ControlRecord:
    """The meaning of one record of a control batch.

    A key that is null or too short gives the type INVALID, a type that Kafka does not know UNKNOWN, and a
    value that is null, too short, of an unknown version or longer than `MAX_LEN_VALUE` None. A larger key
    version is read as version 0.
    """
    parsed = None if key is None else _read_key(key)
    if parsed is None:
        return ControlRecord("INVALID", None, None, None)
    version, type_id, type_name = parsed
    if type_name is None:
        return ControlRecord("UNKNOWN", type_id, version, None)
    content = None
    # Kafka refuses keys of a negative version (ControlRecordType.parseTypeId), and never gets to the value.
    if value is not None and version >= 0:
        content = _read_value(type_id, value[:MAX_LEN_VALUE])
    if content is None:
        return ControlRecord(type_name.upper(), type_id, version, None)
    # The version of a marker that ends a transaction is not shown.
    hidden = [_VERSION] if isinstance(content, KafkaControlRecordValue.EndTxnMarker) else []
    return ControlRecord(type_name.upper(), type_id, version, _fields_of(content, *hidden))


def decode_control_as_version_0(key: bytes | None, value: bytes | None) -> ControlRecord:
    """The meaning of a control record as Kafka's tools have it, which read values of KRaft as version 0.

    So they do whatever version a value has, and then say that one (ControlRecordUtils). Of version 1 of
    LEADER_CHANGE, which a quorum with dynamic voters writes, little makes sense then.
    """
    found = decode_control(key, value)
    if value is None or found.type in {"ABORT", "COMMIT", "UNKNOWN", "INVALID"}:
        return found
    version, changed = _with_version_0(value[:MAX_LEN_VALUE])
    if version == 0:
        return found
    read = decode_control(key, changed)
    if read.value is None:
        return read
    fields: Fields = read.value | {"version": version}
    if version >= 1 and read.type == "LEADER_CHANGE":
        for name in ("voters", "granting_voters"):
            fields[name] = [voter | {"voter_directory_id": _NO_DIRECTORY} for voter in fields[name]]
    return replace(read, value=fields)


def _read_key(key: bytes) -> tuple[int, int, str | None] | None:
    """A control record's key: version, type number, and the type's name if it has one; None if too short."""
    try:
        parsed = KafkaControlRecordKey(stream(key))
    except PARSE_ERRORS:
        return None
    return parsed.version, int(parsed.record_type), name(parsed.record_type)


def _with_version_0(value: bytes) -> tuple[int, bytes]:
    """The version of a control record's value of KRaft, and the value with version 0 in its place.

    All of them begin with their version, and the footer of a snapshot allows no other than 0.
    """
    try:
        KafkaControlRecordValue.SnapshotFooterRecord(stream(value))
    except ValidationNotEqualError as error:
        end = error.io.pos()
        return error.actual, bytes(end) + value[end:]
    except PARSE_ERRORS:  # too short: so it is for every other type
        pass
    return 0, value


def _read_value(type_id: int, value: bytes) -> Any:
    """A control record's value, as the generated class has it; None if too short or of an unknown version."""
    try:
        enum = KafkaControlRecordKey.ControlRecordType
        return KafkaControlRecordValue(enum(type_id), stream(value)).content
    except PARSE_ERRORS:
        return None


def _fields_of(content: KaitaiStruct, *hidden: str) -> Fields:
    """The fields that Kafka's definitions have, by name: no counts, and not those that are `hidden`."""
    return {
        name: _plain(value)
        for name, value in vars(content).items()
        if not name.startswith(("_", "num_", "tagged_")) and name not in hidden
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, KafkaControlRecordValue.CompactString):
        return _text(value)
    if isinstance(value, KaitaiStruct):
        return _fields_of(value, _VERSION)
    return _uuid(value) if isinstance(value, bytes) else value


def _uuid(data: bytes) -> str:
    """A Uuid as Kafka prints it: 22 characters of base64url."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _text(string: Any) -> str:
    # Java puts U+FFFD in place of what is not UTF-8.
    return bytes(string.data).decode("utf-8", "replace")
