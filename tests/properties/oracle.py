"""Kafka's own reading of a segment (`tests/oracle`) as rows."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from tests.properties.encoder import CREATE_TIME, LOG_APPEND_TIME, NO_TYPE, Row

TYPES = {"NoTimestampType": NO_TYPE, "CreateTime": CREATE_TIME, "LogAppendTime": LOG_APPEND_TIME}


def rows_of(lines: Iterable[str]) -> list[Row]:
    """The records among lines of Kafka's reading."""
    return [row_of(fields) for fields in map(json.loads, lines) if fields["type"] == "record"]


def positions_of(lines: Iterable[str]) -> list[tuple[int, int]]:
    """Position and size of the entries among such lines."""
    found = [fields for fields in map(json.loads, lines) if fields["type"] == "batch"]
    assert all(fields["crc_valid"] for fields in found)
    return [(fields["position"], fields["size"]) for fields in found]


def row_of(fields: dict[str, Any]) -> Row:
    """The record of one line."""
    return Row(
        fields["offset"],
        fields["timestamp"],
        TYPES[fields["timestamp_type"]],
        _bytes(fields["key"]),
        _bytes(fields["value"]),
        tuple((b64decode(header["key"]), _bytes(header["value"])) for header in fields["headers"]),
        fields["control"] is not None,
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
