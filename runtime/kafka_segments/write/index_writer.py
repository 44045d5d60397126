"""Index files of a segment: which batches get an entry, and the bytes of the entries.

Strategy: as LogSegment.append. An entry of the offset index is made for a batch that begins more than
`index_interval_bytes` after the last one that got an entry, and with it one of the time index, if the
greatest timestamp has grown since its last; closing the segment adds the last one (TimeIndex.maybeAppend).
LogSegment.recover makes the same files from the segment.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from kafka_segments_generated.columns import kafka_offset_index, kafka_time_index

__all__ = ["INDEX_SUFFIXES", "BatchColumns", "Indexes"]

INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
"""Suffixes of the index files; the last exists only if transactions were aborted."""


class BatchColumns(NamedTuple):
    """Of batches that follow each other in a file: a number of each."""

    positions: Sequence[int]
    end_positions: Sequence[int]
    last_offsets: Sequence[int]
    max_timestamps: Sequence[int]


class Indexes:
    """The offset and the time index of one segment.

    Args:
        base_offset: of the segment.
        interval: bytes after which an entry is made (`index.interval.bytes`).
    """

    def __init__(self, base_offset: int, interval: int) -> None:
        self._base_offset, self._interval = base_offset, interval
        self._last = 0  # position of the last batch with an entry
        self._greatest, self._greatest_at, self._in_time_index = -1, base_offset, -1
        self._offsets, self._positions = array("q"), array("q")
        self._times, self._time_offsets = array("q"), array("q")

    def append(self, batches: BatchColumns, start: int, end: int, shift: int) -> None:
        """Add the next batches of the segment.

        Args:
            batches: all of a piece.
            start: number of the first one.
            end: number after the last one.
            shift: what their positions lack of those in the segment.
        """
        due, base_offset = self._last + self._interval - shift, self._base_offset
        greatest, greatest_at = self._greatest, self._greatest_at
        columns = batches.positions, batches.last_offsets, batches.max_timestamps
        for position, last_offset, timestamp in zip(*(one[start:end] for one in columns), strict=True):
            if timestamp > greatest:
                greatest, greatest_at = timestamp, last_offset
            if position > due:
                due = position + self._interval
                self._offsets.append(last_offset - base_offset)
                self._positions.append(position + shift)
                if greatest > self._in_time_index:
                    self._add_time(greatest, greatest_at)
        self._last = due - self._interval + shift
        self._greatest, self._greatest_at = greatest, greatest_at

    def _add_time(self, timestamp: int, offset: int) -> None:
        self._times.append(timestamp)
        self._time_offsets.append(offset - self._base_offset)
        self._in_time_index = timestamp

    def files(self) -> dict[str, bytes]:
        """Return the content of both files, by suffix, when the segment is complete."""
        if self._greatest > self._in_time_index:
            self._add_time(self._greatest, self._greatest_at)
        return {
            ".index": kafka_offset_index.write_columns(self._offsets, self._positions),
            ".timeindex": kafka_time_index.write_columns(self._times, self._time_offsets),
        }
