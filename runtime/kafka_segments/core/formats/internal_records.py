"""Records of Kafka's internal topics as JSON values, by Kafka's definitions of its messages.

Sources: CoordinatorRecordSerde, AbstractApiMessageSerde (metadata), and the generated JSON converters.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from kafka_segments.core.formats.java import java_text
from kafka_segments.errors import DecodeError
from kafka_segments_generated.messages import (
    COORDINATORS,
    METADATA,
    PROTOCOL,
    MessageError,
    Reader,
    read_message,
    short,
)

__all__ = ["read_coordinator_key", "read_coordinator_value", "read_metadata_record"]

_FRAME_VERSION = 1
_HIGHEST_SHORT = (1 << 15) - 1
_GROUP_METADATA = "GroupMetadataValue"
_CONSUMERS = "consumer"  # ConsumerProtocol.PROTOCOL_TYPE
_OF_MEMBERS = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}

Json = dict[str, Any]


def read_coordinator_key(kind: str, key: bytes) -> tuple[int, Json | None]:
    """Read the key of a record in a coordinator's topic.

    Args:
        kind: one of `COORDINATORS`.
        key: of the record.

    Returns:
        The number of the record's type, and its fields; None instead of these for an unknown type.

    Raises:
        DecodeError: it cannot be read; with the text of Kafka's exception.
    """
    reader = Reader(key, java_text)
    number = _version(reader, "key")
    if number not in COORDINATORS[kind]:
        return number, None
    return number, _fields(COORDINATORS[kind][number][0], reader, number, "key")


def read_coordinator_value(kind: str, number: int, value: bytes) -> tuple[int, Json]:
    """Read the value of a record of a known type, as its key; return its version and its fields."""
    reader = Reader(value, java_text)
    version = _version(reader, "value")
    message = COORDINATORS[kind][number][1]
    lowest, highest = message.versions
    if not lowest <= version <= highest:
        raise DecodeError(f"Found an unknown record version {version} for {number} type")
    fields = _fields(message, reader, version, "value")
    if message.name == _GROUP_METADATA and fields.get("protocolType") == _CONSUMERS:
        for member in fields["members"]:
            for name, protocol in _OF_MEMBERS.items():
                member[name] = _protocol(protocol, member[name])
    return version, fields


def _version(reader: Reader, part: str) -> int:
    try:
        return short(reader)
    except MessageError as error:
        raise DecodeError(f"Could not read version from {part}'s buffer.") from error


def _fields(message: Any, reader: Reader, version: int, part: str) -> Json:
    try:
        return read_message(message, reader, version)
    except MessageError as error:
        raise DecodeError(
            f"Could not read record with version {version} from {part}'s buffer due to: {error}."
        ) from error


def _protocol(name: str, encoded: str) -> Json | str:
    """Replace bytes of a consumer, in base64, by what they mean; as they are if that cannot be read."""
    reader = Reader(base64.b64decode(encoded), java_text)
    try:
        return read_message(PROTOCOL[name], reader, short(reader))
    except MessageError:
        return encoded


def read_metadata_record(value: bytes) -> tuple[str, int, Json]:
    """Read the value of a record in `__cluster_metadata`.

    Returns:
        Kafka's name of its type (MetadataRecordType), its version, and its fields.

    Raises:
        DecodeError: it cannot be read; with the text of Kafka's exception.
    """
    reader = Reader(value, java_text)
    frame = _header(reader, "frame version")
    if frame == 0:
        raise DecodeError(
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview "
            "release of KRaft in 2.8 to newer versions are not supported."
        )
    if frame != _FRAME_VERSION:
        raise DecodeError(
            f"Could not deserialize metadata record due to unknown frame version {frame}"
            f"(only frame version {_FRAME_VERSION} is supported)"
        )
    number, version = _header(reader, "type"), _header(reader, "version")
    if number not in METADATA:
        error = f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {number}"
        raise DecodeError(error)
    try:
        fields = read_message(METADATA[number], reader, version)
    except MessageError as error:
        raise DecodeError(f"Failed to deserialize record with type {number}") from error
    if reader.remaining:
        raise DecodeError(f"Found {reader.remaining} byte(s) of garbage after {number}")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", METADATA[number].name).upper(), version, fields


def _header(reader: Reader, name: str) -> int:
    try:
        number = reader.unsigned_varint()
    except MessageError as error:
        raise DecodeError(f"Error while reading {name}") from error
    if number > _HIGHEST_SHORT:
        raise DecodeError(f"Value for {name} was too large.")
    return number
