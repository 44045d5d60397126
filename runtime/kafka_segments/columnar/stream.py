"""Arrow batches for those who want nothing but records: what is not sound is raised, told or left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from kafka_segments.columnar.disposal import OnDamage, check_on_damage, dispose
from kafka_segments.columnar.reader import ColumnarReader
from kafka_segments.columnar.schema import schema_of
from kafka_segments.entries import Damage
from kafka_segments.errors import OptionError
from kafka_segments.storage import Source

__all__ = ["read_batches"]


def read_batches(
    source: Source,
    *,
    columns: Sequence[str] | None,
    offsets: tuple[int | None, int | None] | None,
    on_damage: OnDamage,
    check_crc: bool,
    max_decompressed: int,
) -> pa.RecordBatchReader:
    """See `Segment.read_batches`."""
    schema = schema_of(columns)
    start, end = _check_offsets(offsets)
    check_on_damage(on_damage)
    reader = ColumnarReader(
        source, schema=schema, start=start, end=end, check_crc=check_crc, max_decompressed=max_decompressed
    )
    batches = _batches(reader, on_damage, (start, end))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(
    reader: ColumnarReader, on_damage: OnDamage, offsets: tuple[int | None, int | None]
) -> Iterator[pa.RecordBatch]:
    for event in reader.events():
        if isinstance(event, pa.RecordBatch):
            yield event
        elif isinstance(event, Damage) and event.touches(*offsets):
            dispose(event, event.error, on_damage)


def _check_offsets(offsets: Any) -> tuple[int | None, int | None]:
    if offsets is None:
        return None, None
    if not isinstance(offsets, tuple) or len(offsets) != 2 or not all(_is_offset(bound) for bound in offsets):
        raise OptionError(f"offsets must be a pair (start, end) of integers or None, not {offsets!r}")
    start, end = offsets
    return start, end


def _is_offset(bound: Any) -> bool:
    return bound is None or (isinstance(bound, int) and not isinstance(bound, bool))
