"""Whole small segments as tables of their headers, one after the other, by one compiled scanner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from kafka_segments.io.storage import Source, open_source
from kafka_segments.segment.batch_records import MAX_NUM_HEADERS
from kafka_segments.segment.columnar.arrow_schema import decoded_schema
from kafka_segments.segment.columnar.decoding import RecordDecoder
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment, kafka_record

__all__ = ["LARGEST_SMALL", "SmallRecords", "last_offsets", "sound_table"]

LARGEST_SMALL = 64 << 10
"""Bytes of a segment that is read at once, at most; the table has room for all its entries."""

_NOTHING = open_source(b"")
_of_thread = threading.local()


def sound_table(source: Source) -> EntryTable | None:
    """Return all entries of a segment of at most `LARGEST_SMALL` bytes, valid until the next call.

    Returns:
        None if anything in it is not a sound entry; or it is empty.

    Raises:
        StoreError: the store stopped giving it.
    """
    with _scanned(source) as (_scan, table):
        return table


@contextmanager
def _scanned(source: Source) -> Iterator[tuple[HeaderScan, EntryTable | None]]:
    """The thread's scanner with a segment in its window, and the segment's entries if all are sound."""
    scan: HeaderScan | None = getattr(_of_thread, "scan", None)
    if scan is None:
        scan = _of_thread.scan = HeaderScan(_NOTHING, kafka_log_segment, check_crc=True)
    scan.turn_to(source)
    try:
        rows, end, is_stuck = returned(scan.scan(0))
        is_whole = len(rows) > 0 and end == source.size and not is_stuck
        yield scan, EntryTable(rows, kafka_log_segment) if is_whole else None
    finally:
        scan.turn_to(_NOTHING)  # it is not kept open


class SmallRecords:
    """Records of small segments one after the other, decoded into the same columns.

    Args:
        schema: of the records; with the column `offset`.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._names = schema.names
        decoded = decoded_schema(schema, True)
        self._decoder = RecordDecoder(kafka_record, decoded, max_items=MAX_NUM_HEADERS)

    def add(self, source: Source, start: int, end: int) -> int | None:
        """Decode a segment that holds each offset in `[start, end)` once, in order, and nothing else.

        Returns:
            How many batches it has; None if anything in it is different: damaged, compressed, a control
            batch, an offset missing. Nothing of it was added then, and `take` comes next.
        """
        before = self._decoder.num_rows
        with _scanned(source) as (scan, table):
            if table is None or not table.is_plain_run(start, end):
                return None
            spans, mark = table.spans(np.arange(len(table)), 0), self._decoder.mark()
            data = scan.address, len(scan.window)
            stop = returned(self._decoder.decode(data, scan.table, spans))
            offsets = self._decoder.values("offset", before)
            is_run = stop is None and len(offsets) == end - start and int(offsets[0]) == start
            if is_run and bool((offsets[1:] - offsets[:-1] == 1).all()):
                return len(table)
            self._decoder.take_back(mark)
        return None

    def take(self) -> pa.RecordBatch | None:
        """Return the rows added since the last call; None if there are none."""
        batch = next(self._decoder.flush(), None)
        return None if batch is None else batch.select(self._names)


def last_offsets(source: Source) -> tuple[int, int] | None:
    """The least and the greatest offset that a batch of such a segment ends with.

    Returns:
        None unless it holds sound batches of magic 2 alone, whose headers agree on where they end.

    Raises:
        StoreError: see `sound_table`.
    """
    table = sound_table(source)
    if table is None or not table.is_batch().all() or table.may_exceed_last_offsets():
        return None
    lasts = table.last_offsets()
    return int(lasts.min()), int(lasts.max())
