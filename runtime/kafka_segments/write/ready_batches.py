"""Encoded batches from a caller: read as far as appending and indexing need it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.markers import MarkerValue, marker_of
from kafka_segments.errors import OptionError
from kafka_segments.write.following import MarkerAt, completed
from kafka_segments.write.refusals import refused

__all__ = ["read_ready_batches"]


def read_ready_batches(
    encoded: bytes | memoryview, last_offset: int
) -> Iterator[tuple[memoryview, EntryTable, MarkerAt]]:
    """Read batches: all bytes, and tables of their headers, completed, with the markers in them.

    Args:
        encoded: whole batches, messages and wrappers.
        last_offset: their offsets must be greater.

    Raises:
        KafkaFormatError: damage.
        OptionError: an object that is not bytes.
        EncodeError: offsets that do not increase, or zeros after the last batch.
    """
    try:
        data = memoryview(encoded).cast("B")
    except (TypeError, ValueError) as error:
        raise OptionError(f"batches cannot come from type {type(encoded).__name__}: {error}") from error
    source = open_source(data)
    refuse_foreign(source)
    walk = Walk(source, check_crc=True)
    for found in walk.pieces():
        if isinstance(found, Damage):
            raise found.error
        if isinstance(found, Padding):
            raise refused("unwritable", f"padding at position {found.position}")
        is_control = zip(found.values("magic"), found.values("is_control"), strict=True)
        controls = [row for row, (magic, flag) in enumerate(is_control) if magic >= 2 and flag]
        opened = partial(_opened, walk, found)
        records = {row: opened(row)[1] for row in controls}
        entries = completed(found, opened)
        last_offset = _checked(entries, last_offset)
        yield data, entries, partial(_marker_at, records)


def _opened(walk: Walk, entries: EntryTable, row: int) -> tuple[Batch, Record | None]:
    """Read the records of an entry; return it, and the first one; a wrapper has its first offset then."""
    batch, records = open_records(
        walk.scan.batch_at(entries.value(row, "position")),
        walk.payload(entries, row),
        max_decompressed=DEFAULT_MAX_DECOMPRESSED,
        items=walk.scan.items,
    )
    first = next(records, None)
    deque(records, 0)  # an error in any of them
    return batch, first


def _checked(entries: EntryTable, last_offset: int) -> int:
    """Return the last offset of a table; refuse offsets that do not increase."""
    for first, delta in zip(entries.values("base_offset"), entries.values("last_offset_delta"), strict=True):
        if first <= last_offset or not first <= first + delta <= MAX_LONG:
            raise refused("offset_order", f"it comes after offset {last_offset}", offset=first)
        last_offset = first + delta
    return last_offset


def _marker_at(records: Mapping[int, Record | None], row: int) -> tuple[MarkerValue, int] | None:
    record = records[row]
    marker = marker_of(record)
    return None if record is None or marker is None else (marker, record.timestamp)
