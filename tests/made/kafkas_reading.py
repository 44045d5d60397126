"""Kafka's own reading of a segment (`tests/oracle`) as rows."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.made.encoder import CREATE_TIME, LOG_APPEND_TIME, NO_TYPE, Row


class Framed(NamedTuple):
    """An entry as Kafka framed it, its records as Kafka read them."""

    position: int
    end_position: int
    rows: list[Row]


TYPES = {"NoTimestampType": NO_TYPE, "CreateTime": CREATE_TIME, "LogAppendTime": LOG_APPEND_TIME}


def rows_of(lines: Iterable[str]) -> list[Row]:
    """The records among lines of Kafka's reading."""
    return [row for entry in entries_of(lines) for row in entry.rows]


def entries_of(lines: Iterable[str]) -> list[Framed]:
    """The entries in such lines, each with its records."""
    found: list[Framed] = []
    for fields in map(json.loads, lines):
        if fields["type"] == "batch":
            assert fields["crc_valid"]
            found.append(Framed(fields["position"], fields["position"] + fields["size"], []))
        else:
            found[-1].rows.append(_row(fields))
    return found


def _row(fields: dict[str, Any]) -> Row:
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
