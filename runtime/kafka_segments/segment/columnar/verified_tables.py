"""Entries of a segment in tables, with what their records show; see `verified_entries`.

Strategy: `ColumnarReader` decodes the offsets and timestamps of all records, a window of entries at a time.
The rows of a window are those of its entries in order, as many as their headers say: so what is needed of
each entry is found in runs of rows. A window with a wrapper or with damaged records is read entry by entry.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.arrow_schema import schema_of
from kafka_segments.segment.columnar.entry_rows import UNKNOWN_TIMESTAMP, EntryRows, VerifiedTable
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.fused_scan import FusedScan
from kafka_segments.segment.columnar.reader import ColumnarReader, Event
from kafka_segments.segment.columnar.scanner import HeaderScan, returned
from kafka_segments.segment.scan.entry_scan import Scan
from kafka_segments.segment.segment import Segment
from kafka_segments.segment.verified_entries import (
    VerifiedEvent,
    read_verified,
    verified_entry,
)
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["iter_tables_verified"]

_COLUMNS = ("offset", "timestamp_ms")


def iter_tables_verified(
    source: Source, segment: Segment, *, check_crc: bool, with_records: bool, max_decompressed: int
) -> Iterator[VerifiedEvent]:
    """Return the events of `verified_entries.iter_verified`.

    Raises:
        MissingExtraError: numba is not installed; raised at once.
    """
    if not with_records:
        return _Headers(source, segment, check_crc).events()
    reader = _WindowReader(
        source,
        schema=schema_of(_COLUMNS),
        start=None,
        end=None,
        check_crc=check_crc,
        max_decompressed=max_decompressed,
    )
    return _Windows(segment).events(reader)


@dataclass(frozen=True, slots=True)
class _Window(SoundBatches):
    """A window of entries whose rows have come, but for the last ones, with the damage among them.

    Attributes:
        entries: of the window.
        damages: of records.
        rows: offsets and timestamps of the last rows; valid until the next event.
    """

    entries: EntryTable
    damages: tuple[Damage, ...]
    rows: tuple[Any, Any] | None


class _WindowReader(ColumnarReader):
    """Reader that yields a `_Window` after its rows, and sound entries outside of windows as `Batch`."""

    begun: EntryTable | None = None

    def batch_at(self, position: int) -> Batch:
        """Return the sound entry at a position."""
        return self._scan.batch_at(position)

    def _sound(self, entries: EntryTable, fused: FusedScan | None) -> Iterator[Event]:
        self.begun, damages = entries, []
        for event in super()._sound(entries, fused):
            if isinstance(event, Damage):
                damages.append(event)
            elif not isinstance(event, SoundBatches):
                yield event
        self.begun = None
        yield _Window(len(entries), 0, entries, tuple(damages), self._waiting())
        if self._decoder is not None:
            self._decoder.discard()

    def _waiting(self) -> tuple[Any, Any] | None:
        """Return the rows that the decoder holds: for arrow batches of them, windows are too small."""
        decoder = self._decoder
        if decoder is None or not decoder.num_rows:
            return None
        return decoder.values("offset", 0), decoder.values("timestamp", 0)

    def _trouble(self, position: int) -> Generator[Event, None, int]:
        for entry in self._scan.region(position):
            position = entry.end_position
            if not isinstance(entry, Batch):
                yield entry
            elif entry.crc_valid is not False:
                self._scan.note_sound(entry)
                yield entry
        return position


class _Windows:
    """Tables made of the events of a reader."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._early: list[Any] = []  # rows of a fused scan, which come before their entries
        self._rows: EntryRows | None = None

    def events(self, reader: _WindowReader) -> Iterator[VerifiedEvent]:
        for event in reader.events():
            if isinstance(event, pa.RecordBatch):
                self._add(event, reader.begun)
            elif isinstance(event, _Window):
                yield from self._window(event, reader)
            elif isinstance(event, Batch):
                entry, damage = read_verified(self._segment, event)
                yield entry
                if damage is not None:
                    yield damage
            elif isinstance(event, (Damage, Padding)):
                yield event

    def _add(self, rows: pa.RecordBatch, entries: EntryTable | None) -> None:
        columns = rows.column(0).to_numpy(), rows.column(1).to_numpy()
        if entries is None:
            self._early.append(columns)
        else:
            self._rows_of(entries).add(*columns)

    def _rows_of(self, entries: EntryTable) -> EntryRows:
        if self._rows is None:
            self._rows = EntryRows(entries)
            for rows in self._early:
                self._rows.add(*rows)
            self._early = []
        return self._rows

    def _window(self, window: _Window, reader: _WindowReader) -> Iterator[VerifiedEvent]:
        rows, self._rows = self._rows_of(window.entries), None
        if window.rows is not None:
            rows.add(*window.rows)
        if not window.damages and rows.is_complete:
            yield rows.table()
            return
        damages = {one.position: one for one in window.damages}
        for position in window.entries.column("position").tolist():
            yield read_verified(self._segment, reader.batch_at(position))[0]
            if position in damages:
                yield damages.pop(position)
        yield from damages.values()


class _Headers:
    """Tables of headers alone, whose checksums are verified if wanted."""

    def __init__(self, source: Source, segment: Segment, check_crc: bool) -> None:
        self._segment = segment
        self._headers = HeaderScan(source, kafka_log_segment, check_crc=check_crc)
        self._scan = Scan(source, check_crc=check_crc)

    def events(self) -> Iterator[VerifiedEvent]:
        position = 0
        while True:
            rows, position, is_trouble = returned(self._headers.scan(position))
            if len(rows):
                entries = EntryTable(rows, kafka_log_segment)
                yield self._table(entries)
                self._scan.sound_offset = entries.last_offset(len(entries) - 1)
            elif not is_trouble:
                return
            if is_trouble:
                for entry in self._scan.region(position):
                    position = entry.end_position
                    if not isinstance(entry, Batch):
                        yield entry
                    elif entry.crc_valid is not False:
                        self._scan.note_sound(entry)
                        yield verified_entry(entry)

    def _table(self, entries: EntryTable) -> VerifiedTable:
        lasts = entries.last_offsets()
        before = np.append(-1 if self._scan.sound_offset is None else self._scan.sound_offset, lasts[:-1])
        firsts = np.where(entries.is_wrapper(), np.minimum(before + 1, lasts), entries.column("base_offset"))
        unknown = np.full(len(entries), UNKNOWN_TIMESTAMP)
        return VerifiedTable(entries, firsts, lasts, unknown, np.ones(len(entries), bool))
