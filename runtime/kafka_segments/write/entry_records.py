"""Whole entries in memory: their headers, and their records as Arrow with the number of each entry's.

Strategy: the columnar reader decodes all entries at once. The headers of batches say how many records they
have, and offsets where the messages of a wrapper end. Where these do not agree with what was read, entries
are read one by one, and those that are damaged are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.columnar.reader import ColumnarReader
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments.errors import MissingCodecError
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["RECORD_COLUMNS", "EntryRecords", "entry_heads", "read_entry_records", "read_small_entries"]

RECORD_COLUMNS = ("offset", "timestamp_ms", "key", "value", "headers")
"""Columns of the records, as `encode_records` takes them."""


_MAX_ARENAS = 64  # of several MiB of addresses each


@dataclass(frozen=True, slots=True)
class EntryRecords:
    """Sound entries with their records.

    Attributes:
        heads: int64, one row for each entry as a scanner returns it; positions count from the first byte.
        num_records: int64, data records of each entry; 0 for control batches.
        records: the data records of all entries, in order; columns `RECORD_COLUMNS`.
        damages: what is damaged; entries without a sound header are in none of the tables.
    """

    heads: Any
    num_records: Any
    records: pa.RecordBatch
    damages: tuple[Damage, ...] = ()

    @property
    def table(self) -> EntryTable:
        """The headers as a table."""
        return EntryTable(self.heads, kafka_log_segment)

    @property
    def num_bytes(self) -> int:
        """Bytes of all entries."""
        table = self.table
        return int((table.column("end_position") - table.column("position")).sum())


def read_entry_records(
    data: bytes | memoryview, *, max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
) -> EntryRecords:
    """Read entries that follow each other in memory.

    Args:
        data: whole entries, the first one at the first byte.
        max_decompressed: bytes that one batch may decompress to.

    Raises:
        MissingCodecError: the package of a codec is not installed.
    """
    found = read_small_entries(data, max_decompressed=max_decompressed, max_content=None)
    assert found is not None  # there is no bound
    return found


def read_small_entries(
    data: bytes | memoryview,
    *,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    max_content: int | None,
    items: ItemBudget | None = None,
) -> EntryRecords | None:
    """Read entries, as `read_entry_records`, unless their records take much memory.

    Args:
        data: whole entries, the first one at the first byte.
        max_decompressed: bytes that one batch may decompress to.
        max_content: bytes that all records may take as Arrow, about; None is no bound.
        items: budget of records that are read one by one, for several calls; None for one of its own.

    Returns:
        The entries; None if their records take more.

    Raises:
        MissingCodecError: the package of a codec is not installed.
    """
    bounds = _Bounds(max_decompressed, max_content, items)
    try:
        return _read_whole(data, bounds)
    except _TooMuchError:
        return None


class _TooMuchError(Exception):
    """Records that take more memory than they may."""


@dataclass(slots=True)
class _Bounds:
    max_decompressed: int
    max_content: int | None
    items: ItemBudget | None

    def check(self, content: int) -> None:
        if self.max_content is not None and content > self.max_content:
            raise _TooMuchError


def entry_heads(data: bytes | memoryview) -> Any:
    """Read the headers of entries that follow each other in memory: int64, a row as in `EntryRecords`."""
    tables = [piece.rows.copy() for piece in iter_headers(open_source(data)) if isinstance(piece, EntryTable)]
    return np.concatenate(tables) if tables else np.zeros((0, kafka_log_segment.WIDTH), np.int64)


def _read_whole(data: bytes | memoryview, bounds: _Bounds) -> EntryRecords:
    batches, damages = _read(data, bounds)
    heads = entry_heads(data)
    if not damages:
        records = _joined(batches)
        counts = _counts(EntryTable(heads, kafka_log_segment), records)
        if counts is not None:
            return EntryRecords(heads, counts, records)
    return _one_by_one(data, heads, tuple(damages), bounds)


def _read(data: bytes | memoryview, bounds: _Bounds) -> tuple[list[pa.RecordBatch], list[Damage]]:
    reader = ColumnarReader(
        open_source(data),
        schema=schema_of(RECORD_COLUMNS),
        start=None,
        end=None,
        check_crc=True,
        max_decompressed=bounds.max_decompressed,
        read_range=ReadRange(items=bounds.items),
    )
    batches, damages, content = [], [], 0
    for event in reader.events():
        if isinstance(event, pa.RecordBatch):
            batches.append(event)
            content += batches[-1].nbytes
            bounds.check(content)
        elif isinstance(event, Damage):
            if isinstance(event.error, MissingCodecError):
                raise event.error
            damages.append(event)
    return batches, damages


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    schema = schema_of(RECORD_COLUMNS)
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema)


def _counts(entries: EntryTable, records: pa.RecordBatch) -> Any:
    """Return the records of each entry; None if headers and records contradict each other."""
    is_batch = entries.is_batch()
    counts = np.where(is_batch, entries.column("num_records"), 1)
    counts[is_batch & (entries.column("is_control") != 0)] = 0
    is_wrapper = entries.is_wrapper()
    if is_wrapper.any():
        offsets = records.column("offset").to_numpy()
        ends = np.searchsorted(offsets, entries.last_offsets(), side="right")
        counts = np.where(is_wrapper, np.diff(ends, prepend=0), counts)
        if not _are_told_apart(entries, is_wrapper, offsets, ends, counts):
            return None
    is_right = counts.size == 0 or counts.min() >= 0
    return counts if is_right and counts.sum() == records.num_rows else None


def _are_told_apart(entries: EntryTable, is_wrapper: Any, offsets: Any, ends: Any, counts: Any) -> bool:
    """Return whether offsets show which records a wrapper has: each ends with its own offset.

    That may be wrong, as no checksum covers it. Offsets in wrappers of magic 0 do not depend on it; in
    magic 1 they are counted back from it, but not below 0.
    """
    num_wrappers = int(is_wrapper.sum())
    if (np.diff(offsets) <= 0).any() or counts[is_wrapper].min() < 1:
        return False
    if num_wrappers > 1 and (entries.column("magic")[is_wrapper] == 0).any():
        return False
    is_at_zero = is_wrapper & (ends == counts) & (offsets[0] == 0)
    is_own_end = offsets[ends[is_wrapper] - 1] == entries.last_offsets()[is_wrapper]
    return bool(is_own_end.all()) and not (num_wrappers > 1 and is_at_zero.any())


def _one_by_one(
    data: bytes | memoryview, heads: Any, damages: tuple[Damage, ...], bounds: _Bounds
) -> EntryRecords:
    sound, counts, content = [], [], 0
    batches: list[pa.RecordBatch] = []
    joined: list[pa.RecordBatch] = []
    for row, read in _each(memoryview(data), EntryTable(heads, kafka_log_segment), bounds):
        sound.append(row)
        batches += read
        content += sum(batch.nbytes for batch in read)
        bounds.check(content)
        counts.append(sum(batch.num_rows for batch in read))
        if len(batches) >= _MAX_ARENAS:  # each batch, however small, keeps the memory that it was read into
            joined.append(_joined(batches))
            batches.clear()
    records = _joined([*joined, *batches])
    return EntryRecords(heads[sound], np.array(counts, np.int64), records, damages)


def _each(
    data: memoryview, entries: EntryTable, bounds: _Bounds
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    for row in range(len(entries)):
        piece = data[entries.value(row, "position") : entries.value(row, "end_position")]
        batches, damages = _read(piece, bounds)
        if not damages:
            yield row, batches
