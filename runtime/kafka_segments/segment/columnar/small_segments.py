"""Whole small segments as tables of their headers, one after the other, by one compiled scanner."""

from __future__ import annotations

import threading

from kafka_segments.io.storage import Source, open_source
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["LARGEST_SMALL", "last_offsets", "sound_table"]

LARGEST_SMALL = 64 << 10
"""Bytes of a segment that is read at once, at most; the table has room for all its entries."""

_of_thread = threading.local()


def sound_table(source: Source) -> EntryTable | None:
    """Return all entries of a segment of at most `LARGEST_SMALL` bytes, valid until the next call.

    Returns:
        None if anything in it is not a sound entry; or it is empty.

    Raises:
        StoreError: the store stopped giving it.
    """
    scan: HeaderScan | None = getattr(_of_thread, "scan", None)
    if scan is None:
        scan = _of_thread.scan = HeaderScan(open_source(b""), kafka_log_segment, check_crc=True)
    scan.turn_to(source)
    try:
        rows, end, is_stuck = returned(scan.scan(0))
    finally:
        scan.turn_to(open_source(b""))  # it is not kept open
    is_whole = len(rows) > 0 and end == source.size and not is_stuck
    return EntryTable(rows, kafka_log_segment) if is_whole else None


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
