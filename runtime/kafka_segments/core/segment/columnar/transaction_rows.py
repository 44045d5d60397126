"""Transactions in the scanner's tables: their steps, and excluded rows.

Strategy: for most batches only the header matters, so a table of them is filtered at once. Only control
batches are opened.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import numpy as np

from kafka_segments.core.formats import increment_sequence, wrap_long
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.entry_table import EntryTable
from kafka_segments.core.segment.columnar.scanner import HeaderScan, returned
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.transactions.markers import Markers, steps_of
from kafka_segments.core.segment.transactions.state import DataBatch, ExcludedBatches, Lost, Marker, Step
from kafka_segments.errors import KafkaFormatError
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["ExcludedRows", "iter_steps"]

_DATA = ("producer_id", "producer_epoch", "base_offset", "last_offset_delta", "base_sequence")


class ExcludedRows:
    """Excluded batches, for tables; see `ExcludedBatches`.

    Args:
        excluded: which transactions.
    """

    def __init__(self, excluded: ExcludedBatches) -> None:
        self._excluded = excluded
        self._ranges = {
            producer_id: (np.asarray(firsts, np.int64), np.asarray(lasts, np.int64))
            for producer_id, (firsts, lasts) in excluded.ranges.items()
        }

    def holds(self, batch: Batch) -> bool:
        """Return whether one batch is excluded."""
        return self._excluded.holds(batch)

    def mask(self, entries: EntryTable) -> Any:
        """Return a mask of the rows that are excluded batches."""
        mask = np.zeros(len(entries), bool)
        rows = np.flatnonzero(entries.is_batch() & (entries.column("is_transactional") != 0))
        producers, offsets = entries.column("producer_id")[rows], entries.column("base_offset")[rows]
        for producer_id in np.unique(producers).tolist():
            if producer_id in self._ranges:
                firsts, lasts = self._ranges[producer_id]
                own = rows[producers == producer_id]
                at = np.searchsorted(firsts, offsets[producers == producer_id], "right") - 1
                mask[own] = (at >= 0) & (entries.column("base_offset")[own] <= lasts[at])
        return mask


def iter_steps(source: Source, *, check_crc: bool, max_decompressed: int) -> Iterator[Step]:
    """Yield the steps of a segment; see `state.Step`.

    Args:
        source: the segment's bytes.
        check_crc: verify the checksum of every batch: a wrong one may be a lost marker.
        max_decompressed: bytes that a control batch may decompress to.
    """
    return _Steps(source, check_crc, max_decompressed).steps()


class _Steps:
    """A pass over one source."""

    def __init__(self, source: Source, check_crc: bool, max_decompressed: int) -> None:
        self._source = source
        self._headers = HeaderScan(source, kafka_log_segment, check_crc=check_crc)
        self._scan = Scan(source, check_crc=check_crc, max_decompressed=max_decompressed)
        self._markers = Markers(max_decompressed)

    def steps(self) -> Iterator[Step]:
        position = 0
        while True:
            rows, position, is_trouble = returned(self._headers.scan(position))
            if len(rows):
                yield from self._sound(EntryTable(rows, kafka_log_segment))
            elif not is_trouble:
                return
            if is_trouble:
                position = yield from self._trouble(position)

    def _trouble(self, position: int) -> Generator[Step, None, int]:
        for entry in self._scan.region(position):
            position = entry.end_position
            if isinstance(entry, Batch) and entry.crc_valid is not False:
                yield from steps_of(entry, self._scan, self._markers)
            elif isinstance(entry, Damage):
                yield Lost(entry)
            elif isinstance(entry, Padding):
                yield entry
        return position

    def _sound(self, entries: EntryTable) -> Iterator[Step]:
        has_producer = entries.is_batch() & (entries.column("producer_id") >= 0)
        is_control = entries.column("is_control") != 0
        rows = np.flatnonzero(has_producer & (is_control | (entries.column("is_transactional") != 0)))
        columns = (entries.column(name)[rows].tolist() for name in _DATA)
        for row, producer_id, epoch, base_offset, delta, sequence in zip(
            rows.tolist(), *columns, strict=True
        ):
            if is_control[row]:
                yield from self._control(entries, row, producer_id, base_offset)
            else:
                last = max(base_offset, wrap_long(base_offset + delta))
                last_sequence = -1 if sequence == -1 else increment_sequence(sequence, delta)
                yield DataBatch(producer_id, epoch, base_offset, last, sequence, last_sequence)
        self._scan.sound_offset = entries.last_offset(len(entries) - 1)
        yield from entries.ordering_offsets()

    def _control(self, entries: EntryTable, row: int, producer_id: int, offset: int) -> Iterator[Step]:
        start = entries.value(row, "payload") - self._headers.window_position
        end = entries.value(row, "end_payload") - self._headers.window_position
        is_usual = entries.value(row, "num_records") == 1 and entries.value(row, "codec") == 0
        batch = partial(self._scan.batch_at, entries.value(row, "position"))
        try:
            marker = self._markers.read(
                memoryview(self._headers.window)[start:end], is_usual=is_usual, batch=batch
            )
        except KafkaFormatError as error:
            if row:
                self._scan.sound_offset = entries.last_offset(row - 1)
            yield Lost(self._scan.damage_of(batch(), error, None), producer_id)
            return
        if marker is not None:
            yield Marker(producer_id, offset, marker.is_abort)
