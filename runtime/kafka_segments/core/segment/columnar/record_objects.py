"""Records as objects, made from columns: several times as fast as one by one from the bytes.

Strategy: a batch goes through the generated decoder, small ones together with those after them in a walk; the
columns become lists, and these records. What the decoder refuses is left to `batch_records`, which is exact
and describes errors.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats import Body
from kafka_segments.core.formats.entries import Batch, Header
from kafka_segments.core.native.engine import address_of
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.decoding import RecordDecoder, Stop
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.core.segment.records.batch_records import MAX_NUM_HEADERS, RecordPlace
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

__all__ = ["RowDecoder"]

_NUM_ROWS = 4096
_SMALL = 512  # records of a batch that is decoded together with others
_FEW = 3  # records of a batch by itself, from which on decoding is faster than one by one
_NUM_BYTES = 1 << 20


class RowDecoder:
    """Decoder of the records of one batch after the other; for one thread."""

    def __init__(self) -> None:
        schema = schema_of(["offset", "timestamp_ms", "key", "value", "headers"])
        capacity = Capacity(_NUM_ROWS, _NUM_BYTES, _NUM_ROWS)
        self._decoder, self._messages = (
            RecordDecoder(module, schema, capacity=capacity, max_items=MAX_NUM_HEADERS)
            for module in (kafka_record, kafka_message_legacy)
        )
        self._walk: Walk | None = None
        self._ahead: dict[int, list[Body]] = {}  # by the position of a batch
        self._end = -1  # of the last one that was asked for

    def follow(self, walk: Walk) -> None:
        """Decode ahead the batches of a walk, which are asked for in its order."""
        self._walk = walk
        self._ahead.clear()

    def bodies(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Iterable[Body], None, RecordPlace | None]:
        """Yield the records of a batch of magic 2 up to what only `batch_records` can judge.

        Args:
            batch: its header.
            payload: the records' bytes, decompressed.
            max_items: headers that one record may have.

        Returns:
            Where to go on; None if these are all, and all is sound.
        """
        self._decoder.max_items = max_items
        found = self.ahead(batch)
        if found is not None:
            yield found
            return None
        if (batch.num_records or 0) < _FEW:
            return RecordPlace()
        head = row_of(batch, kafka_log_segment).memory
        spans = np.array([[0, len(payload), 0]], np.int64)
        bases = np.array([batch.base_offset or 0])
        steps = self._decoder.decode(memoryview(payload), (address_of(head), len(head)), spans)
        stopped = yield from _flushed(self._decoder, steps, lambda _start, count: np.repeat(bases, count))
        return None if stopped is None else stopped.start

    def ahead(self, batch: Batch) -> list[Body] | None:
        """Return the records of an entry that was decoded with others; None if it is decoded alone."""
        if batch.compression != "none" or (batch.num_records or 0) >= _SMALL:
            return None
        is_next, self._end = batch.position == self._end, batch.end_position
        if batch.position not in self._ahead:
            self._ahead.clear()
            if is_next and self._walk is not None and self._walk.table is not None:
                self._decode_ahead(self._walk, self._walk.table, batch)
        return self._ahead.pop(batch.position, None)

    def _decode_ahead(self, walk: Walk, table: EntryTable, batch: Batch) -> None:
        """Decode a batch together with those after it."""
        row = bisect_left(table.values("position"), batch.position)
        rows, counts = _small_rows(table, row)
        if len(rows) < 2 or table.value(row, "position") != batch.position:
            return
        size = len(walk.window)
        spans = table.spans(rows, walk.window_position)
        if spans[0, 0] < 0 or spans[-1, 1] > size:
            return
        decoder = self._decoder if batch.magic >= 2 else self._messages
        data = memoryview(walk.window)
        steps = decoder.decode(data, (address_of(table.memory), len(table.memory)), spans)
        bases = np.repeat(table.column("base_offset")[rows], counts)
        found: list[Body] = []
        flushed = _flushed(decoder, steps, lambda start, count: bases[start : start + count])
        while True:
            try:
                found.extend(next(flushed))
            except StopIteration as stop:
                num_sound = len(rows) if stop.value is None else stop.value.batch
                break
        ends = np.cumsum(counts[:num_sound]).tolist()
        places = table.column("position")[rows[:num_sound]].tolist()
        parts = (found[start:end] for start, end in zip([0, *ends], ends, strict=False))
        self._ahead = dict(zip(places, parts, strict=True))


def _flushed(
    decoder: RecordDecoder,
    steps: Generator[pa.RecordBatch, None, Stop | None],
    bases: Callable[[int, int], Any],
) -> Generator[Iterable[Body], None, Stop | None]:
    """Yield the records of steps; `bases` gives the base offsets of so many of them, from one on."""
    num_done = 0
    while True:
        try:
            rows = next(steps)
        except StopIteration as stop:
            stopped: Stop | None = stop.value
            break
        yield _bodies(rows, bases(num_done, len(rows)))
        num_done += len(rows)
    for rows in decoder.flush():
        yield _bodies(rows, bases(num_done, len(rows)))
    return stopped


def _small_rows(table: EntryTable, first: int) -> tuple[Any, Any]:
    """Return a row and those after it, small uncompressed entries alike, and how many records each has."""
    rows = np.arange(first, min(len(table), first + _NUM_ROWS))
    contents, is_batch = table.column("content")[rows], table.is_batch()[rows]
    counts = np.where(is_batch, table.column("num_records")[rows], 1)
    is_small = (contents == contents[:1]) & (table.column("codec")[rows] == 0)
    is_small &= (counts > 0) & (counts < _SMALL) & (np.cumsum(counts) <= _NUM_ROWS)
    is_small &= ~is_batch | (table.column("is_control")[rows] == 0)
    count = int(np.argmin(is_small)) if not is_small.all() else len(rows)
    return rows[:count], counts[:count]


def _bodies(rows: pa.RecordBatch, bases: Any) -> Iterator[Body]:
    offsets = np.from_dlpack(rows.column("offset"))
    deltas = np.subtract(offsets, bases)  # which wraps, as Java's
    timestamps = np.from_dlpack(rows.column("timestamp_ms"))
    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    numbers = offsets.tolist(), timestamps.tolist(), deltas.tolist()
    return map(Body._make, zip(*numbers, keys, values, _headers(rows.column("headers")), strict=True))


def _headers(column: pa.Array) -> Iterable[tuple[Header, ...]]:
    if not len(column.values):
        return [()] * len(column)
    ends = column.offsets.to_pylist()
    pairs = list(zip(column.values.field(0).to_pylist(), column.values.field(1).to_pylist(), strict=True))
    return (tuple(pairs[start:end]) for start, end in pairwise(ends))
