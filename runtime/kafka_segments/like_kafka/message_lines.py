"""Text of DumpLogSegments for keys and values; of internal topics JSON, as its decoders of messages print."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_segments.core.formats import java_integer, java_text
from kafka_segments.core.formats.internal_records import (
    read_coordinator_key,
    read_coordinator_value,
    read_metadata_record,
)
from kafka_segments.errors import CorruptBatchError, DecodeError

__all__ = [
    "DECODERS",
    "MAX_LEN_MESSAGE",
    "MESSAGE_PARSERS",
    "Decoder",
    "MessageParser",
    "json_text",
]

Decoder = Callable[[bytes], str]
DECODERS: dict[str, Decoder] = {
    "StringDecoder": java_text,
    "IntegerDecoder": lambda data: str(java_integer(data, is_long=False)),
    "LongDecoder": lambda data: str(java_integer(data, is_long=True)),
}
"""What becomes of keys or values, by classes of org.apache.kafka.tools.api."""

MessageParser = Callable[[int, bytes | None, bytes | None], tuple[str | None, str | None]]
"""Makes the texts of key and value, None for those that are not printed, of an offset and both as bytes."""

MAX_LEN_MESSAGE = 4 << 20
"""Bytes of a key or value that are read: as JSON values and text, they take a hundred times the memory."""
_LARGE, _SMALL = 1e7, 1e-3  # outside these Java writes exponents


def json_text(value: Any) -> str:
    """JSON as Jackson writes it: escapes with upper-case digits, numbers as Java has them."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(name)}:{json_text(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        return _double(value)
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(r"\\(u[0-9a-f]{4}|.)", lambda match: _escape_of_jackson(match[1]), text)


def _escape_of_jackson(escape: str) -> str:
    return f"\\u{escape[1:].upper()}" if len(escape) > 1 else f"\\{escape}"


def _double(value: float) -> str:
    """A number as Double.toString writes it; in quotes if it is not a number (Jackson)."""
    if not math.isfinite(value):
        return f'"{json.dumps(value)}"'
    if value == 0 or _SMALL <= abs(value) < _LARGE:
        return repr(value)
    digits, _, exponent = f"{value:.17e}".partition("e")
    for precision in range(1, 17):
        shorter, _, power = f"{value:.{precision}e}".partition("e")
        if float(f"{shorter}e{power}") == value:
            digits, exponent = shorter, power
            break
    return f"{digits}E{int(exponent)}"


def _coordinator_texts(
    kind: str, offset: int, key: bytes | None, value: bytes | None
) -> tuple[str | None, str | None]:
    """CoordinatorRecordMessageParser.parse."""
    if key is None:
        raise CorruptBatchError(
            f"the record of offset {offset} has no key, as the messages of this topic have"
        )
    try:
        number, fields = read_coordinator_key(kind, key)
        if fields is None:
            return f"Unknown record type {number} at offset {offset}, skipping.", None
        text = json_text({"type": str(number), "data": fields})
        if value is None:
            return text, "<DELETE>"
        version, fields = read_coordinator_value(kind, number, value)
        return text, json_text({"version": str(version), "data": fields})
    except DecodeError as error:
        return f"Error at offset {offset}, skipping. {error.detail}", None


def _check_size(offset: int, *parts: bytes | None) -> None:
    size = max(0 if one is None else len(one) for one in parts)
    if size > MAX_LEN_MESSAGE:
        detail = f"the record of offset {offset} has a key or value of {size} bytes; this reader takes "
        raise CorruptBatchError(f"{detail}{MAX_LEN_MESSAGE} for messages of internal topics")


def _metadata_texts(offset: int, _key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    """ClusterMetadataLogMessageParser.parse."""
    _check_size(offset, value)
    try:
        name, version, fields = read_metadata_record(value or b"")
    except DecodeError as error:
        return None, f"Error at {offset}, skipping. {error.detail}"
    return None, json_text({"type": name, "version": version, "data": fields})


MESSAGE_PARSERS: dict[str, MessageParser] = {
    "offsets-decoder": partial(_coordinator_texts, "group"),
    "transaction-log-decoder": partial(_coordinator_texts, "transaction"),
    "cluster-metadata-decoder": _metadata_texts,
    "share-group-state-decoder": partial(_coordinator_texts, "share"),
}
"""The tool's options, and what they print; the first one that was given counts."""
