"""Index files of a segment: which batches get an entry, and the bytes of the entries.

Strategy: as LogSegment.append. An entry of the offset index is made for a batch that begins more than
`index_interval_bytes` after the last one that got an entry, and with it one of the time index, if the
greatest timestamp has grown since its last; closing the segment adds the last one (TimeIndex.maybeAppend).
LogSegment.recover makes the same files from the segment. The loop over the headers is machine code where the
process has some, else interpreted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from kafka_segments.core.native.engine import Compiled, Interpreted, is_loaded
from kafka_segments.core.native.kernels import Longs, load, store
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments_generated.columns import kafka_log_segment, kafka_offset_index, kafka_time_index
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_POSITION,
    WIDTH,
)

__all__ = ["INDEX_SUFFIXES", "Indexes", "index_loop"]

INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
"""Suffixes of the index files; the last exists only if transactions were aborted."""

# Slots of the loop's state: rows; what positions lack of those in the segment; its base offset; bytes between
# entries, and the position that the next one's batch exceeds; the greatest timestamp so far with its offset,
# and the last one in the time index. Output: numbers of new entries.
START, END, SHIFT, BASE, INTERVAL, DUE, GREATEST, GREATEST_AT, IN_INDEX, NUM_OFFSETS, NUM_TIMES = range(11)


def index_loop() -> Callable[..., int]:
    """Return a function that makes the entries for some rows of a table, two numbers each."""

    def index(state: Longs, table: Longs, offsets: Longs, times: Longs) -> int:
        num_offsets, num_times = 0, 0
        greatest, greatest_at = load(state, GREATEST), load(state, GREATEST_AT)
        for row in range(load(state, START), load(state, END)):
            place = row * WIDTH
            position = load(table, place + COL_POSITION) + load(state, SHIFT)
            offset = load(table, place + COL_BASE_OFFSET) - load(state, BASE)
            offset += load(table, place + COL_LAST_OFFSET_DELTA)
            timestamp = load(table, place + COL_MAX_TIMESTAMP)
            if timestamp > greatest:
                greatest, greatest_at = timestamp, offset
            if position > load(state, DUE):
                store(state, DUE, position + load(state, INTERVAL))
                store(offsets, 2 * num_offsets, offset)
                store(offsets, 2 * num_offsets + 1, position)
                num_offsets += 1
                if greatest > load(state, IN_INDEX):
                    store(state, IN_INDEX, greatest)
                    store(times, 2 * num_times, greatest)
                    store(times, 2 * num_times + 1, greatest_at)
                    num_times += 1
        store(state, GREATEST, greatest)
        store(state, GREATEST_AT, greatest_at)
        store(state, NUM_OFFSETS, num_offsets)
        store(state, NUM_TIMES, num_times)
        return 0

    return index


class Indexes:
    """The offset and the time index of one segment.

    Args:
        base_offset: of the segment.
        interval: bytes after which an entry is made (`index.interval.bytes`).
    """

    def __init__(self, base_offset: int, interval: int) -> None:
        is_compiled = is_loaded(kafka_log_segment.scanner) or is_loaded(kafka_log_segment.head_encoder)
        self._run = (Compiled if is_compiled else Interpreted)(index_loop)
        self._state = memoryview(array("q", [0]) * (NUM_TIMES + 1))
        self._state[BASE], self._state[INTERVAL], self._state[DUE] = base_offset, interval, interval
        self._state[GREATEST] = self._state[IN_INDEX] = -1
        self._run.set("state", self._state)
        self._offsets, self._times = array("q"), array("q")

    def append(self, entries: EntryTable, start: int, end: int, shift: int) -> None:
        """Add the next batches of the segment: rows of a table, with what positions lack of those there.

        Args:
            entries: the table; of messages of magic 0 and 1, see `following.completed`.
            start: the first row.
            end: the row after the last one.
            shift: is added to positions.
        """
        state = self._state
        offsets, times = array("q", [0]) * (2 * (end - start)), array("q", [0]) * (2 * (end - start))
        state[START], state[END], state[SHIFT] = start, end, shift
        for name, memory in (("table", entries.memory), ("offsets", offsets), ("times", times)):
            self._run.set(name, memory)
        self._run()
        self._offsets += offsets[: 2 * state[NUM_OFFSETS]]
        self._times += times[: 2 * state[NUM_TIMES]]

    def files(self) -> dict[str, bytes]:
        """Return the content of both files, by suffix, when the segment is complete."""
        offsets, times, state = self._offsets, self._times[:], self._state
        if state[GREATEST] > state[IN_INDEX]:
            times.extend((state[GREATEST], state[GREATEST_AT]))
        return {
            ".index": kafka_offset_index.write_columns(offsets[::2], offsets[1::2]),
            ".timeindex": kafka_time_index.write_columns(times[::2], times[1::2]),
        }
