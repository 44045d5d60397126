"""Index files of a segment without numpy and machine code, batch by batch; see `index_writer`."""

from __future__ import annotations

from array import array

from kafka_segments_generated.columns import kafka_offset_index, kafka_time_index

__all__ = ["PlainIndexes"]


class PlainIndexes:
    """The indexes of one segment.

    Args:
        base_offset: of the segment.
        interval: bytes after which an entry is made (`index.interval.bytes`).
    """

    def __init__(self, base_offset: int, interval: int) -> None:
        self._base_offset, self._interval = base_offset, interval
        self._since = 0
        self._greatest, self._greatest_at, self._in_time_index = -1, base_offset, -1
        self._offsets, self._positions = array("q"), array("q")
        self._times, self._time_offsets = array("q"), array("q")

    def append_entry(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Add a batch, by its place in the segment, its last offset and its greatest timestamp."""
        if max_timestamp > self._greatest:
            self._greatest, self._greatest_at = max_timestamp, last_offset
        if self._since > self._interval:
            self._offsets.append(last_offset - self._base_offset)
            self._positions.append(position)
            if self._greatest > self._in_time_index:
                self._add_time()
            self._since = 0
        self._since += size

    def _add_time(self) -> None:
        self._times.append(self._greatest)
        self._time_offsets.append(self._greatest_at - self._base_offset)
        self._in_time_index = self._greatest

    def files(self) -> dict[str, bytes]:
        """Return the content of each file, by its suffix, when the segment is complete."""
        if self._greatest > self._in_time_index:
            self._add_time()
        return {
            ".index": kafka_offset_index.write_columns(self._offsets, self._positions),
            ".timeindex": kafka_time_index.write_columns(self._times, self._time_offsets),
        }
