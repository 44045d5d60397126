"""Identifying fields of all entries of a segment, by their headers, for comparing copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafka_segments.formats.entries import Damage
from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.header_table import iter_headers

__all__ = ["MarkRow", "iter_mark_rows"]

MarkRow = tuple[int, int, int, int, int, "int | None", int, int, int, bool]
"""Position, first and last offset, checksum, magic, number of records, leader epoch, producer id, base
sequence, and whether there is a delete horizon."""


def iter_mark_rows(source: Source) -> Iterator[MarkRow]:
    """Yield the identifying fields of the entries of a segment; damage is left out."""
    for entries in iter_headers(source):
        if not isinstance(entries, Damage):
            yield from _rows(entries)


def _rows(entries: EntryTable) -> Iterator[MarkRow]:
    is_batch = entries.is_batch()

    def of_batches(name: str, none: int = -1) -> list[int]:
        values: list[int] = np.where(is_batch, entries.column(name), none).tolist()
        return values

    columns = (
        entries.column("position").tolist(),
        entries.column("base_offset").tolist(),
        entries.last_offsets().tolist(),
        entries.column("crc").tolist(),
        entries.column("magic").tolist(),
        of_batches("num_records", 1),
        of_batches("partition_leader_epoch"),
        of_batches("producer_id"),
        of_batches("base_sequence"),
        (np.where(is_batch, entries.column("has_delete_horizon"), 0) != 0).tolist(),
    )
    yield from zip(*columns, strict=True)
