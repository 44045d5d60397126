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
    return [_row(found) for found in map(json.loads, lines) if found["type"] == "record"]


def positions_of(lines: Iterable[str]) -> list[tuple[int, int]]:
    """Position and size of the entries among such lines."""
    found = [line for line in map(json.loads, lines) if line["type"] == "batch"]
    assert all(batch["crc_valid"] for batch in found)
    return [(batch["position"], batch["size"]) for batch in found]


def _row(found: dict[str, Any]) -> Row:
    return Row(
        found["offset"],
        found["timestamp"],
        TYPES[found["timestamp_type"]],
        _bytes(found["key"]),
        _bytes(found["value"]),
        tuple((b64decode(header["key"]), _bytes(header["value"])) for header in found["headers"]),
        found["control"] is not None,
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
