"""Entries of a segment in tables, with what their records show; see `verified_entries`.

Strategy: `ColumnarReader` goes through windows of entries, with a decoder that folds the records of each
entry into a few numbers (`folding_decoder`). Entries that it leaves to the exact way, wrappers among them,
are read one by one. The tables of several windows are joined, so that checks go over many entries at once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from kafka_segments.core.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.fused_scan import FusedScan
from kafka_segments.core.segment.columnar.reader import ColumnarReader, Event
from kafka_segments.core.segment.columnar.wrappers import Unwrapping
from kafka_segments.core.segment.records.batch_records import RecordPlace
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.scanner import HeaderScan
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.verified.entry_rows import (
    UNKNOWN_TIMESTAMP,
    TableJoiner,
    VerifiedEvent,
    VerifiedTable,
    by_columns,
)
from kafka_segments.core.segment.verified.folding_decoder import (
    FIRST_OFFSET,
    GREATEST,
    INCREASES,
    LAST_OFFSET,
    NUM_FOUND,
    FoldingDecoder,
)
from kafka_segments.core.segment.verified.verified_entries import (
    VerifiedEntry,
    read_verified,
    verified_entry,
)
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["iter_tables_verified"]


def iter_tables_verified(
    source: Source, *, check_crc: bool, with_records: bool, max_decompressed: int, max_read: int
) -> Iterator[VerifiedEvent]:
    """Return the events of `verified_entries.iter_verified`.

    Raises:
        MissingExtraError: numba is not installed; raised at once.
    """
    if not with_records:
        return _header_events(source, check_crc)
    reader = _WindowReader(source, check_crc=check_crc, max_decompressed=max_decompressed, max_read=max_read)
    return _events_of(reader)


@dataclass(frozen=True, slots=True)
class _Read(SoundBatches):
    """A sound entry that was read record by record, with the damage of its records."""

    entry: VerifiedEntry
    damage: Damage | None


@dataclass(frozen=True, slots=True)
class _Window(SoundBatches):
    """A window of entries.

    Attributes:
        entries: of the window.
        found: what the records of each show; see `FoldingDecoder`. Valid until the next event.
        read: those that were read record by record, by position; `found` has nothing of them.
    """

    entries: EntryTable
    found: Any
    read: dict[int, _Read]


class _WindowReader(ColumnarReader):
    """Reader that yields a `_Window` for its entries, and a `_Read` for sound ones outside windows."""

    def __init__(self, source: Source, *, check_crc: bool, max_decompressed: int, max_read: int) -> None:
        super().__init__(
            source,
            schema=schema_of(("offset", "timestamp_ms")),
            start=None,
            end=None,
            check_crc=check_crc,
            max_decompressed=max_decompressed,
        )
        self._headers = HeaderScan(
            source, kafka_log_segment, check_crc=check_crc, max_window=min(max_read, source.size)
        )
        self._headers.compile()
        self._max_decompressed, self._max_read = max_decompressed, max_read
        self._found = np.zeros((self._headers.max_rows, NUM_FOUND), np.int64)
        self._folding: dict[int, FoldingDecoder] = {}

    def _decoder_of(self, content: int, is_control: bool) -> RecordDecoder:  # noqa: ARG002
        """Return the decoder of a content's records; it yields none, of control batches either."""
        if content not in self._folding:
            package = self._module.__name__.rpartition(".")[0]
            module = import_module(f"{package}.{self._module.CONTENTS[content].decoder}")
            self._folding[content] = FoldingDecoder(module, self._module, content, self._found)
        return self._folding[content]

    def _unwrapping_of(self, decoder: RecordDecoder, content: int) -> Unwrapping | None:  # noqa: ARG002
        """Leave wrappers to be read one by one."""
        return None

    def _exactly(self, batch: Batch, start: RecordPlace) -> Iterator[Event]:  # noqa: ARG002
        """Read an entry record by record, from its first record on."""
        if batch.size > self._max_read:
            yield _Read(1, batch.size, verified_entry(batch), None)
            return
        limit = self._max_decompressed
        found = read_verified(batch, self._scan, check_crc=self._check_crc, max_decompressed=limit)
        yield _Read(1, batch.size, *found)

    def _sound(self, entries: EntryTable, fused: FusedScan | None) -> Iterator[Event]:
        read: dict[int, _Read] = {}
        if fused is not None and fused.stop is None and fused.num_decoded == len(entries):
            self._scan.sound_offset = entries.last_offset(len(entries) - 1)
        else:
            events = super()._sound(entries, fused)
            read = {event.entry.position: event for event in events if isinstance(event, _Read)}
        yield _Window(len(entries), 0, by_columns(entries), self._found[: len(entries)], read)

    def _trouble(self, position: int) -> Generator[Event, None, int]:
        for entry in self._scan.region(position):
            position = entry.end_position
            if not isinstance(entry, Batch):
                yield entry
            elif entry.crc_valid is not False:
                yield from self._exactly(entry, RecordPlace())
        return position


def _events_of(reader: _WindowReader) -> Iterator[VerifiedEvent]:
    """Yield tables made of the events of a reader, and its other events in their places."""
    joiner = TableJoiner()
    for event in reader.events():
        if isinstance(event, _Window):
            for part in _parts(event):
                if isinstance(part, _Read):
                    yield from joiner.take()
                    yield from _of_read(part)
                else:
                    yield from joiner.add(part)
        elif isinstance(event, (_Read, Damage, Padding)):
            yield from joiner.take()
            yield from _of_read(event) if isinstance(event, _Read) else (event,)
    yield from joiner.take()


def _of_read(read: _Read) -> Iterator[VerifiedEvent]:
    yield read.entry
    if read.damage is not None:
        yield read.damage


def _parts(window: _Window) -> Iterator[VerifiedTable | _Read]:
    """Yield a window's entries in order: in tables, but for those that were read record by record."""
    table = _table_of(window.entries, window.found)
    if not window.read:
        yield table
        return
    start = 0
    for row, position in enumerate(window.entries.column("position").tolist()):
        if position in window.read:
            if start < row:
                yield table.part(start, row)
            yield window.read[position]
            start = row + 1
    if start < len(table):
        yield table.part(start, len(table))


def _table_of(entries: EntryTable, found: Any) -> VerifiedTable:
    """Make a table of entries whose records were read."""
    firsts, lasts = entries.column("base_offset"), entries.last_offsets()
    greatest = found[:, GREATEST].copy()
    is_ordered = (found[:, INCREASES] != 0) & (found[:, FIRST_OFFSET] >= firsts)
    is_ordered &= found[:, LAST_OFFSET] <= lasts
    is_batch = entries.is_batch()
    is_empty = is_batch & (entries.column("num_records") <= 0)
    greatest[is_empty | (is_batch & (entries.column("is_control") != 0))] = UNKNOWN_TIMESTAMP
    return VerifiedTable(entries, firsts, lasts, greatest, is_ordered | is_empty)


def _header_events(source: Source, check_crc: bool) -> Iterator[VerifiedEvent]:
    """Yield tables of headers alone, whose checksums are verified if wanted."""
    walk, joiner = Walk(source, check_crc=check_crc, whole=check_crc), TableJoiner()
    sound_offset = walk.scan.sound_offset  # by the name of the file
    for piece in walk.pieces():
        if isinstance(piece, EntryTable):
            entries = by_columns(piece)
            yield from joiner.add(_table_of_headers(entries, sound_offset))
            sound_offset = entries.last_offset(len(entries) - 1)
        else:
            yield from joiner.take()
            yield piece
    yield from joiner.take()


def _table_of_headers(entries: EntryTable, sound_offset: int | None) -> VerifiedTable:
    lasts = entries.last_offsets()
    before = np.append(-1 if sound_offset is None else sound_offset, lasts[:-1])
    firsts = np.where(entries.is_wrapper(), np.minimum(before + 1, lasts), entries.column("base_offset"))
    unknown = np.full(len(entries), UNKNOWN_TIMESTAMP)
    return VerifiedTable(entries, firsts, lasts, unknown, np.ones(len(entries), bool))
