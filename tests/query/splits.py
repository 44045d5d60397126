"""Splits of segments for the tests, and what is read from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_segments import open_segment
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split, StoredFile, StoredSegment
from kafka_segments.query.read.split_reader import Reading, read_split

RECORDED = Path(__file__).parents[1] / "vectors" / "recorded"
COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")


def recorded() -> list[Path]:
    """Every recorded segment that has anything in it."""
    return sorted(path for path in RECORDED.rglob("*.log") if path.stat().st_size)


def stored(path: Path, base_offset: int | None = None, **others: Any) -> StoredSegment:
    """A file as a listing shows it now."""
    entry = Places().entry(str(path))
    assert entry is not None
    if base_offset is None:
        base_offset = first_offset_in_name(path.name)
    assert base_offset is not None
    file = StoredFile(entry.path, entry.size, entry.identity, entry.modified_ns)
    return StoredSegment(file, base_offset, **others)


def split_of(segment: StoredSegment, start: int, end: int | None, **others: Any) -> Split:
    return Split("topic", 3, start, end, segment, **others)


def read(split: Split, columns: Sequence[str] = COLUMNS, **how: Any) -> tuple[list[Any], Findings]:
    """Rows of a split, and what was told."""
    found = Findings()
    batches = list(read_split(split, Places(), Reading(columns, **how), found))
    return rows(batches), found


def rows(batches: list[pa.RecordBatch]) -> list[Any]:
    """Rows that can be compared."""
    found = []
    for batch in batches:
        batch.validate(full=True)
        columns = [batch.column(name) for name in batch.schema.names]
        columns = [one.view(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in columns]
        found += zip(*(column.to_pylist() for column in columns), strict=True)
    return found


def whole(path: Path, columns: Sequence[str] = COLUMNS) -> list[Any]:
    """All sound rows of a file."""
    with open_segment(path) as segment:
        return rows(list(segment.read_batches(columns=list(columns), on_damage="skip")))
