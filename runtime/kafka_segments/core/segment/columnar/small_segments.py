"""Whole small segments as tables of their headers, one after the other, by one compiled scanner."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.batch_records import MAX_NUM_HEADERS
from kafka_segments.core.segment.columnar.arrow_schema import decoded_schema, schema_of
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.entry_table import CONTROL, PLAIN, SKIPPED, EntryTable
from kafka_segments.core.segment.columnar.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment, kafka_record

__all__ = [
    "UNKNOWN",
    "SmallRecords",
    "SmallTimes",
    "read_times",
    "sound_table",
]

UNKNOWN = -(1 << 63)
"""In place of the least timestamp: there may be any."""

_TIMES = schema_of(["offset", "timestamp_ms"])
_NOTHING = open_source(b"")
_of_thread = threading.local()


def sound_table(source: Source) -> EntryTable | None:
    """Return all entries of a segment of at most `contents.LARGEST_SMALL` bytes, valid until the next call.

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
    with _scanner(source) as scan:
        rows, end, is_stuck = returned(scan.scan(0))
        is_whole = len(rows) > 0 and end == source.size and not is_stuck
        yield scan, EntryTable(rows, kafka_log_segment) if is_whole else None


@contextmanager
def _scanner(source: Source) -> Iterator[HeaderScan]:
    scan: HeaderScan | None = getattr(_of_thread, "scan", None)
    if scan is None:
        scan = _of_thread.scan = HeaderScan(_NOTHING, kafka_log_segment, check_crc=True)
    scan.turn_to(source)
    try:
        yield scan
    finally:
        scan.turn_to(_NOTHING)  # it is not kept open


@dataclass(frozen=True, slots=True)
class SmallTimes:
    """Timestamps of a small, sound and ordered segment, by the headers of all its batches.

    Attributes:
        first_offset: of the first batch.
        last_offsets: of each batch of many segments.
        latest: the greatest timestamp up to each batch's end, likewise.
        start: index of the segment's first batch in these.
        end: index after its last one.
        has_append_time: whether any batch has log append time.
        earliest: no record has a lower timestamp; `UNKNOWN` if that is not known, None if it was not read.
    """

    first_offset: int
    last_offsets: Sequence[int]
    latest: Sequence[int]
    start: int
    end: int
    has_append_time: bool
    earliest: int | None = None

    @property
    def last_offset(self) -> int:
        """Of the last batch."""
        return self.last_offsets[self.end - 1]

    @property
    def greatest(self) -> int:
        """The greatest timestamp."""
        return self.latest[self.end - 1]

    def last_below(self, timestamp: int) -> tuple[int, int] | None:
        """Look up the batches before the first one with this timestamp or a later one.

        Returns:
            Their last offset and greatest timestamp; None if there are none.
        """
        if self.greatest < timestamp:
            at = self.end
        else:
            at = bisect_left(self.latest, timestamp, self.start, self.end)
        return None if at == self.start else (self.last_offsets[at - 1], self.latest[at - 1])


def read_times(
    data: memoryview, ends: Sequence[int], earliest_from: int | None = None
) -> list[SmallTimes | None]:
    """Read the timestamps of small segments that stand one after the other, in one pass.

    Args:
        data: the segments.
        ends: the position after each one; none is empty.
        earliest_from: also decode the records of segments with this timestamp or a later one, for `earliest`.

    Returns:
        For each segment; None unless it has sound batches of magic 2 alone, of ascending offsets, whose
        headers agree on where they end. None also if its beginning completes a batch of the one before it.
    """
    rows = _sound_rows(data, ends)
    table = EntryTable(rows, kafka_log_segment)
    first_rows, end_rows = _rows_between(table, [0, *ends[:-1]], ends)
    is_first = np.zeros(len(rows) + 1, bool)
    is_first[first_rows] = True
    times, kinds = table.column("max_timestamp"), table.column("timestamp_type")
    is_wrong = ~table.is_batch() | table.exceeds_last_offsets()
    is_wrong[1:] |= table.is_disordered() & ~is_first[1:-1]
    is_earlier = np.zeros(len(rows), bool)
    is_earlier[1:] = (times[1:] < times[:-1]) & ~is_first[1:-1]
    num_wrong, num_append, num_earlier = (
        _num_between(one, first_rows, end_rows) for one in (is_wrong, kinds != 0, is_earlier)
    )
    columns = table.column("base_offset"), table.last_offsets(), times
    firsts, lasts, latest = (column.tolist() for column in columns)
    earliest: Sequence[int | None] = [None] * len(ends)
    if earliest_from is not None and len(rows):
        is_asked = _reduced(np.maximum, times, first_rows, end_rows) >= earliest_from
        earliest = _earliest(data, rows, first_rows, end_rows, is_asked & (first_rows < end_rows))
    found: list[SmallTimes | None] = []
    bounds = first_rows.tolist(), end_rows.tolist()
    of_each = zip(*bounds, num_wrong, num_append, num_earlier, earliest, strict=True)
    for first, end, wrong, append, earlier, least in of_each:
        if first == end or wrong:
            found.append(None)
            continue
        if earlier:
            latest[first:end] = accumulate(latest[first:end], max)
        found.append(SmallTimes(firsts[first], lasts, latest, first, end, append > 0, least))
    return found


def _sound_rows(data: memoryview, ends: Sequence[int]) -> Any:
    """The scanner's rows of all sound entries; what follows any other entry in its segment is left out."""
    tables, position = [], 0
    with _scanner(open_source(data)) as scan:
        while position < len(data):
            rows, end, is_stuck = returned(scan.scan(position))
            tables.append(rows.copy())
            position = ends[bisect_right(ends, end)] if is_stuck or end == position else end
    return np.concatenate(tables) if tables else np.zeros((0, kafka_log_segment.WIDTH), np.int64)


def _rows_between(table: EntryTable, starts: Sequence[int], ends: Sequence[int]) -> tuple[Any, Any]:
    """First row and the one after the last for each segment; both 0 unless entries are all that it has."""
    positions, end_positions = table.column("position"), table.column("end_position")
    first_rows = np.searchsorted(positions, starts)
    end_rows = np.searchsorted(end_positions, ends) + 1
    last_row = len(table) - 1
    is_whole = np.zeros(len(ends), bool)
    if last_row >= 0:
        is_whole = (first_rows < end_rows) & (end_rows <= len(table))
        is_whole &= positions[np.minimum(first_rows, last_row)] == starts
        is_whole &= end_positions[np.minimum(end_rows - 1, last_row)] == ends
    return np.where(is_whole, first_rows, 0), np.where(is_whole, end_rows, 0)


def _earliest(
    data: memoryview, rows: Any, first_rows: Any, end_rows: Any, is_asked: Any
) -> Sequence[int | None]:
    """The least timestamp of a record of each segment that is asked for, `UNKNOWN` if not all are plain."""
    table = EntryTable(rows, kafka_log_segment)
    begun = np.zeros(len(rows) + 1, np.int64)
    np.add.at(begun, first_rows[is_asked], 1)
    np.add.at(begun, end_rows[is_asked], -1)
    kinds = table.kinds(None, None)
    is_plain = (kinds == PLAIN) & (np.cumsum(begun)[:-1] > 0)
    times = _decoded_times(data, rows, table.spans(np.flatnonzero(is_plain), 0))
    num_records = np.concatenate([[0], np.cumsum(np.where(is_plain, table.column("num_records"), 0))])
    is_known = np.array(_num_between(~np.isin(kinds, [PLAIN, SKIPPED, CONTROL]), first_rows, end_rows)) == 0
    is_known &= len(times) == num_records[-1]
    starts, ends = num_records[first_rows], num_records[end_rows]
    is_known &= starts < ends
    starts, ends = np.where(is_known, starts, 0), np.where(is_known, ends, 0)
    least = np.where(is_known, _reduced(np.minimum, times, starts, ends), UNKNOWN)
    return [one if asked else None for one, asked in zip(least.tolist(), is_asked.tolist(), strict=True)]


def _reduced(function: np.ufunc, values: Any, starts: Any, ends: Any) -> Any:
    """A function of the values of each part `[start, end)`; anything for an empty part."""
    bounds = np.stack([starts, ends], axis=1).ravel()
    return function.reduceat(np.append(values, 0), bounds)[::2] if len(bounds) else bounds


def _decoded_times(data: memoryview, rows: Any, spans: Any) -> Any:
    """The timestamps of the records in some batches; none if one of them is damaged."""
    decoder = RecordDecoder(kafka_record, _TIMES, max_items=MAX_NUM_HEADERS)
    steps = decoder.decode((pa.py_buffer(data).address, len(data)), (rows.ctypes.data, rows.size), spans)
    found = [np.zeros(0, np.int64)]
    try:
        while True:
            found.append(next(steps).column("timestamp_ms").to_numpy())
    except StopIteration as end:
        if end.value is not None:
            return found[0]
    return np.concatenate([*found, *(batch.column("timestamp_ms").to_numpy() for batch in decoder.flush())])


def _num_between(mask: Any, first_rows: Any, end_rows: Any) -> list[int]:
    """The number of rows of each segment that a mask has."""
    num = np.concatenate([[0], np.cumsum(mask)])
    return list((num[end_rows] - num[first_rows]).tolist())


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
