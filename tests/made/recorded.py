"""The recorded files, and what Kafka's own classes read from them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
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


VECTORS = Path(__file__).resolve().parents[1] / "vectors"


@dataclass(frozen=True)
class Recorded:
    """A file of `tests/vectors/recorded`, by its name there."""

    name: str

    @cached_property
    def data(self) -> bytes:
        """Its bytes."""
        return (VECTORS / "recorded" / self.name).read_bytes()

    @cached_property
    def entries(self) -> list[Framed]:
        """Its entries, in their order."""
        text = (VECTORS / "oracle" / f"{self.name}.jsonl").read_text(encoding="utf-8")
        return entries_of(text.splitlines())

    @cached_property
    def rows(self) -> list[Row]:
        """Its records, as Kafka read them."""
        return [row for entry in self.entries for row in entry.rows]

    @cached_property
    def starts(self) -> list[int]:
        """Where its entries begin, and where the last one ends."""
        return [0, *(entry.end_position for entry in self.entries)]

    @cached_property
    def row_counts(self) -> list[int]:
        """How many records there are before each entry, and in all."""
        return list(accumulate((len(entry.rows) for entry in self.entries), initial=0))


def _files() -> list[Recorded]:
    root = VECTORS / "recorded"
    paths = [path for path in root.rglob("*") if path.suffix in (".log", ".checkpoint") and path.is_file()]
    return [Recorded(path.relative_to(root).as_posix()) for path in sorted(paths)]


FILES = _files()


def distinct() -> list[Recorded]:
    """One file of each content: many were recorded in several states of the broker, unchanged."""
    return list({file.data: file for file in FILES}.values())
