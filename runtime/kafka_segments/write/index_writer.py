"""Index files of a segment: which batches get an entry, and the bytes of the entries.

Strategy: as LogSegment.append, batch by batch, in a compiled loop over the table of batches. An entry of the
offset index is made when more than `index_interval_bytes` were appended since the last one, and with it one
of the time index, if the greatest timestamp has grown since its last; closing the segment adds the last one
(TimeIndex.maybeAppend). LogSegment.recover makes the same files from the segment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np

from kafka_segments.core.formats.building import build_transaction_index
from kafka_segments.core.native.engine import load_decoder
from kafka_segments.core.native.kernels import Longs, load, store
from kafka_segments.core.segment.index_files import AbortedTxn
from kafka_segments_generated.columns import kafka_offset_index, kafka_time_index
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_POSITION,
    WIDTH,
)

__all__ = ["INDEX_SUFFIXES", "Indexes", "index_loop"]

INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
"""Suffixes of the index files; the last exists only if transactions were aborted."""

# Slots of the loop's state: number of new entries of each index, bytes since the last entry of the offset
# index, bytes between its entries, the greatest timestamp so far with its offset, the last timestamp in the
# time index; then the position of the table's first batch, and the table's rows.
(
    NUM_OFFSETS,
    NUM_TIMES,
    SINCE,
    INTERVAL,
    GREATEST,
    GREATEST_AT,
    IN_TIME_INDEX,
    BEFORE,
    NUM_ROWS,
) = range(9)


def index_loop() -> Callable[..., int]:
    """Return a function that makes the entries for a table of batches, two numbers each."""

    def index(state: Longs, table: Longs, offsets: Longs, times: Longs) -> int:
        num_offsets, num_times, since = 0, 0, load(state, SINCE)
        greatest, greatest_at = load(state, GREATEST), load(state, GREATEST_AT)
        for row in range(load(state, NUM_ROWS)):
            place = row * WIDTH
            start, end = load(table, place + COL_POSITION), load(table, place + COL_END_POSITION)
            last = load(table, place + COL_BASE_OFFSET) + load(table, place + COL_LAST_OFFSET_DELTA)
            time = load(table, place + COL_MAX_TIMESTAMP)
            if time > greatest:
                greatest, greatest_at = time, last
            if since > load(state, INTERVAL):
                store(offsets, 2 * num_offsets, last)
                store(offsets, 2 * num_offsets + 1, load(state, BEFORE) + start)
                num_offsets += 1
                if greatest > load(state, IN_TIME_INDEX):
                    store(times, 2 * num_times, greatest)
                    store(times, 2 * num_times + 1, greatest_at)
                    store(state, IN_TIME_INDEX, greatest)
                    num_times += 1
                since = 0
            since += end - start
        store(state, NUM_OFFSETS, num_offsets)
        store(state, NUM_TIMES, num_times)
        store(state, SINCE, since)
        store(state, GREATEST, greatest)
        store(state, GREATEST_AT, greatest_at)
        return 0

    return index


class Indexes:
    """The indexes of one segment.

    Args:
        base_offset: of the segment.
        interval: bytes after which an entry is made (`index.interval.bytes`).
    """

    def __init__(self, base_offset: int, interval: int) -> None:
        build_transaction_index(())  # raises for a missing extra before anything is written
        self._base_offset = base_offset
        self._offsets: list[Any] = []
        self._times: list[Any] = []
        self._aborted: list[AbortedTxn] = []
        self._loop = load_decoder(index_loop)
        self._arguments = self._loop.new_table()
        self._state = state = np.zeros(NUM_ROWS + 1, np.int64)
        state[INTERVAL], state[GREATEST], state[IN_TIME_INDEX] = interval, -1, -1
        state[GREATEST_AT] = base_offset
        self._arguments.set("state", state.ctypes.data, state.size)

    def append(self, heads: Any, position: int) -> None:
        """Add batches.

        Args:
            heads: one row for each batch, see `encoder.EncodedBatches`.
            position: of the first one's piece in the segment.
        """
        heads = np.ascontiguousarray(heads)
        offsets, times = np.empty((len(heads), 2), np.int64), np.empty((len(heads), 2), np.int64)
        self._state[BEFORE], self._state[NUM_ROWS] = position, len(heads)
        for name, array in (("table", heads), ("offsets", offsets), ("times", times)):
            self._arguments.set(name, array.ctypes.data, array.size)
        self._loop(self._arguments)
        for parts, found, slot in ((self._offsets, offsets, NUM_OFFSETS), (self._times, times, NUM_TIMES)):
            if self._state[slot]:  # of short pieces most have no entry
                parts.append(found[: self._state[slot]].copy())

    def abort(self, aborted: AbortedTxn) -> None:
        """Add an aborted transaction."""
        self._aborted.append(aborted)

    def files(self) -> dict[str, bytes]:
        """Return the content of each file, by its suffix; the transaction index only if it has entries."""
        state = self._state
        times = list(self._times)
        if state[GREATEST] > state[IN_TIME_INDEX]:
            times.append(np.array([[state[GREATEST], state[GREATEST_AT]]], np.int64))
        offset, time = _joined(self._offsets), _joined(times)
        contents = [
            _entries(
                kafka_offset_index, relative_offset=offset[:, 0] - self._base_offset, position=offset[:, 1]
            ),
            _entries(kafka_time_index, timestamp=time[:, 0], relative_offset=time[:, 1] - self._base_offset),
        ]
        if self._aborted:
            contents.append(build_transaction_index([asdict(one) for one in self._aborted]))
        return dict(zip(INDEX_SUFFIXES, contents, strict=False))


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([np.empty((0, 2), np.int64), *parts])


def _entries(module: ModuleType, **columns: Any) -> bytes:
    """Encode entries of an index, from their columns by name."""
    written: bytes = module.write_columns(*(columns[name].tolist() for name in module.COLUMNS))
    return written
