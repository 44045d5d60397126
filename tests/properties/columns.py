"""The columns target as a reader: arrow batches, brought back into rows.

Timestamps are read as the integers that they are: Python has no place for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
from tests.made.encoder import Header, Row
from tests.properties.reading import Reading, Trouble
from tests.timestamps import stored

from kafka_segments import Damage, open_segment


def read_columns(data: bytes) -> Reading:
    """By what `Segment.read_batches` stands on."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_columnar(None, (None, None)):
            if isinstance(event, pa.RecordBatch):
                rows += rows_of(event)
            elif isinstance(event, Damage):
                damage.append(trouble_of(event))
    return Reading(rows, damage)


def trouble_of(damage: Damage) -> Trouble:
    """Damage as the runtime tells it."""
    lost = damage.first_lost_offset, damage.last_lost_offset
    return Trouble(damage.position, damage.end_position, type(damage.error).__name__, lost)


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
