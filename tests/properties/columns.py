"""The columns target as a reader: arrow batches, brought back into rows.

Timestamps are read as the integers that they are: Python has no place for all of them. The runtime does not
decode old messages yet and hands them out as entries; the target does, see `columns_old`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
from tests.properties import columns_old
from tests.properties.encoder import Header, Row
from tests.properties.reading import Reading, Trouble

from kafka_segments import Batch, Damage, open_segment


def read_columns(data: bytes) -> Reading:
    """By what `Segment.read_batches` stands on; that one calls old messages damage."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_columnar(None, (None, None)):
            if isinstance(event, pa.RecordBatch):
                rows += _rows(event)
            elif isinstance(event, Damage):
                damage.append(trouble_of(event))
            elif isinstance(event, Batch) and is_undecoded(event):
                found, error = columns_old.read(data[event.position : event.end_position])
                rows += found
                if error is not None:
                    damage.append(Trouble(event.position, event.end_position, error))
    return Reading(rows, damage)


def is_undecoded(batch: Batch) -> bool:
    """Whether it is a sound message of magic 0 or 1, with a codec of its time."""
    return batch.magic < 2 and batch.crc_valid is True and batch.compression not in (None, "zstd")


def trouble_of(damage: Damage) -> Trouble:
    """Damage as the runtime tells it."""
    lost = damage.first_lost_offset, damage.last_lost_offset
    return Trouble(damage.position, damage.end_position, type(damage.error).__name__, lost)


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
