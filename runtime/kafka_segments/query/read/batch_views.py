"""Batch headers and control records of a range, as rows; and the number of its records by headers.

Strategy: as for records (`split_reader`). A batch belongs to the range with its last offset, so that each
comes once however a log is cut. Damage at a cut is reported by both ranges, as either may have lost records;
its path and position identify it.

Where headers show anything but sound batches in ascending order, or cannot count exactly (compressed messages
of magic 0 and 1, a batch with gaps that is partly inside), there is no number, and the caller reads records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.entries import Batch, Damage, Record, SoundBatches
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.arrow_schema import NONE, TIMESTAMP
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.header_table import BATCHES_SCHEMA, iter_tables, overview
from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split, lower
from kafka_segments.query.read.segment_finder import Found
from kafka_segments.query.read.split_reader import Reading, SplitReader

__all__ = ["BATCHES_SCHEMA", "CONTROL_SCHEMA", "count_rows", "read_batches", "read_control"]

CONTROL_SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP, nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("type", pa.string(), nullable=False),
        pa.field("type_id", pa.int32()),
        pa.field("version", pa.int32()),
        pa.field("value", pa.string()),
    ]
)
"""Control records: `type` is Kafka's name, UNKNOWN or INVALID; `value` is JSON, with names in snake_case."""


def read_batches(split: Split, places: Places, findings: Findings) -> Iterator[pa.RecordBatch]:
    """Yield a row for each batch of a range, of `BATCHES_SCHEMA`; errors and findings as for `read_split`.

    Checksums and compressed data are not read: damage inside a batch is not found.
    """
    return _Batches(split, places, Reading(()), findings).batches()


def read_control(
    split: Split, places: Places, reading: Reading, findings: Findings
) -> Iterator[pa.RecordBatch]:
    """Yield the control records of a range, of `CONTROL_SCHEMA`; other batches are read by header only."""
    return _Control(split, places, reading, findings).batches()


class _Batches(SplitReader):
    """Reader of headers as rows."""

    is_consumer = False

    def events(self, source: Source, offsets: tuple[int, int | None], read_range: ReadRange) -> Iterator[Any]:
        previous = read_range.sound_offset
        for piece in iter_tables(source, OffsetRange(*offsets), read_range):
            if isinstance(piece, Damage):
                yield piece
                continue
            owned = _owned(piece, OffsetRange(*offsets), previous)
            if owned.any():
                chosen = piece.chosen(owned)
                yield overview(chosen)
                yield chosen.count(None, None)
            previous = piece.last_offset(len(piece) - 1)


class _Control(SplitReader):
    """Reader of control records as rows."""

    is_consumer = False

    def events(self, source: Source, offsets: tuple[int, int | None], read_range: ReadRange) -> Iterator[Any]:
        bound = self.reading.max_decompressed
        scan = Scan(source, check_crc=self.reading.check_crc, max_decompressed=bound)
        wanted = OffsetRange(*offsets)
        for piece in iter_tables(source, wanted, read_range):
            if isinstance(piece, Damage):
                yield piece
                continue
            is_control = piece.is_batch() & (piece.column("is_control") != 0) & piece.in_range(*offsets)
            for row in np.flatnonzero(is_control).tolist():
                if row:
                    scan.sound_offset = piece.last_offset(row - 1)
                yield from self._entry(scan, piece.value(row, "position"), wanted)
            scan.sound_offset = piece.last_offset(len(piece) - 1)

    def _entry(self, scan: Scan, position: int, wanted: OffsetRange) -> Iterator[Any]:
        """Yield the rows of the batch at a position, or its damage."""
        for entry in scan.entries(position):
            if isinstance(entry, Damage):
                yield entry
                return
            if isinstance(entry, Batch) and entry.crc_valid is not False:
                yield from self._records(scan, entry, wanted)
                return

    def _records(self, scan: Scan, batch: Batch, wanted: OffsetRange) -> Iterator[Any]:
        records: list[Record] = []
        damage = None
        payload, bound = scan.payload(batch), self.reading.max_decompressed
        try:
            opened = open_records(batch, payload, max_decompressed=bound, items=scan.items)
            records.extend(opened[1])
        except KafkaFormatError as error:
            damage = scan.damage_of(batch, error, records[-1].offset if records else None)
        rows = [record for record in records if wanted.holds(record.offset)]
        if rows:
            yield _control_rows(batch, rows)
        yield SoundBatches(1, batch.size)
        if damage is not None:
            yield damage


def _owned(entries: EntryTable, offsets: OffsetRange, previous: int | None) -> Any:
    """Mask of the entries whose last offset is in the range."""
    lasts = entries.last_offsets()
    # Old versions of librdkafka left 0 in wrappers: their offset then follows from the previous entry.
    for row in np.flatnonzero(entries.is_wrapper() & (lasts == 0)).tolist():
        before = previous if row == 0 else int(lasts[row - 1])
        lasts[row] = 0 if before is None else before + 1
    owned = np.ones(len(entries), bool)
    if offsets.start is not None:
        owned &= lasts >= offsets.start
    if offsets.end is not None:
        owned &= lasts < offsets.end
    return owned


def _control_rows(batch: Batch, records: list[Record]) -> pa.RecordBatch:
    controls = [record.control for record in records]
    same = [batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch]
    fixed = [[None if value == NONE else value] * len(records) for value in same]
    columns: list[list[Any]] = [
        [record.offset for record in records],
        [record.timestamp for record in records],
        *fixed,
        [control.type for control in controls if control is not None],
        [control.type_id for control in controls if control is not None],
        [control.version for control in controls if control is not None],
        [_json(control.value) for control in controls if control is not None],
    ]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, CONTROL_SCHEMA.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=CONTROL_SCHEMA)


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def count_rows(split: Split, places: Places, offsets: tuple[int, int | None]) -> int | None:
    """Count the rows of a split with some offsets; None if the headers alone do not say how many there are.

    Checksums and records are not read: damage inside a batch does not show.
    """
    if split.excluded:
        return None
    findings = Findings()
    reader = _Counter(split, places, findings, offsets)
    try:
        for _event in reader.batches():
            return None  # rows of another segment, which only a reading reader has
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return None  # the caller's reader meets it again
    return None if findings.findings else reader.num_rows


class _Counter(SplitReader):
    """One pass over the headers of a split."""

    def __init__(
        self, split: Split, places: Places, findings: Findings, bounds: tuple[int, int | None]
    ) -> None:
        super().__init__(split, places, Reading(()), findings)
        self._bounds = bounds
        self._counts: list[EntryCounts] = []
        self._is_ascending = True

    @property
    def num_rows(self) -> int | None:
        """The records counted; None if they are not exact."""
        is_exact = self._is_ascending and all(one.is_exact and not one.unknown for one in self._counts)
        return sum(one.num_data for one in self._counts) if is_exact else None

    def new_counts(self, found: Found, start: int, end: int | None) -> EntryCounts:  # noqa: ARG002
        end = lower(end, self._split.asked[1], self._bounds[1])
        counts = EntryCounts(max(start, self._bounds[0]), end)
        self._counts.append(counts)
        return counts

    def events(self, source: Source, offsets: tuple[int, int | None], read_range: ReadRange) -> Iterator[Any]:
        for piece in iter_tables(source, OffsetRange(*offsets), read_range):
            if isinstance(piece, Damage):
                yield piece
            else:
                self._counts[-1].entries(piece)
                yield piece.count(*offsets)
        coverage = read_range.coverage
        if coverage is not None and (coverage.falls or coverage.misplaced or coverage.before):
            self._is_ascending = False
