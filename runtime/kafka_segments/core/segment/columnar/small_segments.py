"""Timestamps of many small segments in one pass of the compiled scanner."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["SmallTimes", "read_times"]


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
    """

    first_offset: int
    last_offsets: Sequence[int]
    latest: Sequence[int]
    start: int
    end: int
    has_append_time: bool

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


def read_times(data: memoryview, ends: Sequence[int]) -> list[SmallTimes | None]:
    """Read the timestamps of small segments that stand one after the other, in one pass.

    Args:
        data: the segments.
        ends: the position after each one; none is empty.

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
    found: list[SmallTimes | None] = []
    bounds = first_rows.tolist(), end_rows.tolist()
    of_each = zip(*bounds, num_wrong, num_append, num_earlier, strict=True)
    for first, end, wrong, append, earlier in of_each:
        if first == end or wrong:
            found.append(None)
            continue
        if earlier:
            latest[first:end] = accumulate(latest[first:end], max)
        found.append(SmallTimes(firsts[first], lasts, latest, first, end, append > 0))
    return found


def _sound_rows(data: memoryview, ends: Sequence[int]) -> Any:
    """The scanner's rows of all sound entries; what follows any other entry in its segment is left out."""
    tables, position = [], 0
    scan = HeaderScan(open_source(data), kafka_log_segment, check_crc=True)
    while position < len(data):
        entries, end, is_stuck = returned(scan.scan(position))
        tables.append(entries.rows.copy())
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


def _num_between(mask: Any, first_rows: Any, end_rows: Any) -> list[int]:
    """The number of rows of each segment that a mask has."""
    num = np.concatenate([[0], np.cumsum(mask)])
    return list((num[end_rows] - num[first_rows]).tolist())
