"""What our two ways say of a segment, in one form.

Timestamps are read as the integers that they are: Python has no place for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import pyarrow as pa
from tests.made.encoder import Header, Row
from tests.made.recorded import TYPES
from tests.timestamps import stored

from kafka_segments import Damage, Record, open_segment


class Trouble(NamedTuple):
    """A damaged region, the name of its error's class, and the offsets that are said to be lost there."""

    position: int
    end_position: int
    error: str
    lost: tuple[int | None, int | None] | None = None

    def place(self) -> tuple[int, int, str]:
        """All but the offsets."""
        return self.position, self.end_position, self.error


class Reading(NamedTuple):
    """All records that were delivered, and all damage, each in the order of the file."""

    rows: list[Row]
    damage: list[Trouble]


def read_rows(data: bytes) -> Reading:
    """By `iter_events`, over the Kaitai classes."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Record):
                rows.append(_row(event))
            elif isinstance(event, Damage):
                damage.append(_trouble(event))
    return Reading(rows, damage)


def _row(record: Record) -> Row:
    return Row(
        record.offset,
        record.timestamp,
        TYPES[record.timestamp_type],
        record.key,
        record.value,
        record.headers,
        record.control is not None,
    )


def _trouble(damage: Damage) -> Trouble:
    lost = damage.first_lost_offset, damage.last_lost_offset
    return Trouble(damage.position, damage.end_position, type(damage.error).__name__, lost)


def read_columns(data: bytes, binary: Literal["copy", "view"] = "copy") -> Reading:
    """By what `Segment.read_batches` stands on; it has no control records."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_columnar(None, (None, None), binary=binary):
            if isinstance(event, pa.RecordBatch):
                rows += rows_of(event)
            elif isinstance(event, Damage):
                damage.append(_trouble(event))
    return Reading(rows, damage)


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of one arrow batch, which is checked."""
    batch.validate(full=True)
    columns = {name: batch.column(name) for name in batch.schema.names}
    return map(
        Row,
        columns["offset"].to_pylist(),
        stored(columns["timestamp"]),
        columns["timestamp_type"].to_pylist(),
        columns["key"].to_pylist(),
        columns["value"].to_pylist(),
        _headers(columns["headers"]),
    )


def _headers(column: pa.ListArray) -> Iterator[tuple[Header, ...]]:
    ends = column.offsets.to_pylist()
    inside = column.values
    pairs = list(zip(inside.field("key").to_pylist(), inside.field("value").to_pylist(), strict=True))
    return (tuple(pairs[start:end]) for start, end in pairwise(ends))


READERS: dict[str, Callable[[bytes], Reading]] = {
    "rows": read_rows,
    "columns": read_columns,
    "views": partial(read_columns, binary="view"),
}


def given_by(name: str, rows: Iterable[Row]) -> list[Row]:
    """Of rows that are right, those that a reader is to give."""
    return [row for row in rows if name == "rows" or not row.is_control]


def assert_read(data: bytes, rows: list[Row]) -> None:
    """Sound bytes: every reader gives these records, and no damage."""
    for name, read in READERS.items():
        reading = read(data)
        assert reading.rows == given_by(name, rows), name
        assert reading.damage == [], name
