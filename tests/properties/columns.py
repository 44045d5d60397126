"""The columns target as a reader: arrow batches, brought back into rows.

Timestamps are read as the integers that they are: Python's own have no place for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
from tests.properties.encoder import Header, Message, Row
from tests.properties.reading import Reading, Trouble

from kafka_segments import Damage, open_segment

UNDECODED = "not yet decoded into records"


def read_columns(data: bytes) -> Reading:
    """By `Segment.read_batches`."""
    rows: list[Row] = []
    damage: list[Trouble] = []

    def note(found: Damage) -> None:
        if UNDECODED in str(found.error):
            return
        damage.append(Trouble(found.position, found.end_position, type(found.error).__name__))

    with open_segment(data) as segment:
        for batch in segment.read_batches(on_damage=note):
            rows += _rows(batch)
    return Reading(rows, damage)


def decodes_old() -> bool:
    """Whether messages of magic 0 and 1 are decoded; if not, they are told as damage, which is left out."""
    return bool(read_columns(Message(magic=1).encode()).rows)


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    batch.validate(full=True)
    columns = {name: batch.column(name) for name in batch.schema.names}
    return map(
        Row,
        columns["offset"].to_pylist(),
        columns["timestamp"].view(pa.int64()).to_pylist(),
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
