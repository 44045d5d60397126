"""The headers of all entries as a table, without their payloads.

Strategy: the generated scanner asks the system itself for the few bytes that it needs of each entry, so that
a batch costs one short read. Checksums would need all bytes, and are not verified.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.columnar.disposal import dispose
from kafka_segments.columnar.table import EntryTable, row_of
from kafka_segments.disposal import OnDamage, check_on_damage
from kafka_segments.entries import Batch, Damage
from kafka_segments.framing import Scan
from kafka_segments.native.engine import load_decoder
from kafka_segments.storage import Source
from kafka_segments_generated.columns import _support as support
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["HEADERS_SCHEMA", "read_headers"]

_MAX_ROWS = 1 << 14
_LEN_FILE_WINDOW = 4096  # small batches share a read
_LEN_WINDOW = 1 << 20
_NUM_STATE = 16
_INTERNAL = ("content", "payload", "end_payload", "codec", "len_body")
_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "timestamp[ms, UTC]": pa.timestamp("ms", tz="UTC"),
}

HEADERS_SCHEMA = pa.schema(
    [
        pa.field(name, _TYPES[kind])
        for name, kind in zip(kafka_log_segment.BATCH_COLUMNS, kafka_log_segment.BATCH_TYPES, strict=True)
        if name not in _INTERNAL
    ]
)
"""Where each entry is (`position`, `end_position`), and the fields of its header, as the schemas name them.

Null is what an entry of this magic does not have.
"""


def read_headers(source: Source, on_damage: OnDamage) -> pa.Table:
    """See `Segment.read_headers`."""
    check_on_damage(on_damage)
    return pa.Table.from_batches(_Headers(source, on_damage).batches(), HEADERS_SCHEMA)


class _Headers:
    """One pass over a source."""

    def __init__(self, source: Source, on_damage: OnDamage) -> None:
        self._source = source
        self._on_damage = on_damage
        self._scan = load_decoder(kafka_log_segment.scanner, check_crc=False, whole=False)
        self._slow = Scan(source, headers_only=True)
        self._rows = np.zeros((_MAX_ROWS, kafka_log_segment.WIDTH), np.int64)
        self._state = np.zeros(_NUM_STATE, np.int64)
        self._arguments = self._scan.new_table()
        self._arguments.set("state", self._state.ctypes.data, _NUM_STATE)
        self._arguments.set("table", self._rows.ctypes.data, self._rows.size)
        self._buffer = memoryview(bytearray(_LEN_FILE_WINDOW if source.descriptor >= 0 else _LEN_WINDOW))
        self._window: Any = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        position = 0
        while position < self._source.size:
            status = self._run(position)
            entries = EntryTable(self._rows[: self._state[support.ROW]], kafka_log_segment)
            if len(entries):
                self._slow.sound_offset = entries.last_offset(len(entries) - 1)
                yield _arrow(entries)
            has_moved = self._state[support.AT] > position
            position = int(self._state[support.AT])
            if status == support.DAMAGED or (status == support.SHORT and not has_moved):
                position = yield from self._trouble(position)

    def _run(self, position: int) -> int:
        state = self._state
        state[support.AT] = state[support.WINDOW] = position
        state[support.ROW] = 0
        state[support.MAX_ROWS] = _MAX_ROWS
        state[support.SIZE] = self._source.size
        state[support.FILE] = self._source.descriptor
        if self._source.descriptor >= 0:
            self._window, size = self._buffer, 0
            state[support.WINDOW] = -1  # nothing is in it yet
        else:
            size = min(_LEN_WINDOW, self._source.size - position)
            self._window = self._source.window(position, size, self._buffer)
        state[support.LEN_WINDOW] = size
        self._arguments.set("data", pa.py_buffer(self._window).address, len(self._window))
        return self._scan(self._arguments)

    def _trouble(self, position: int) -> Generator[pa.RecordBatch, None, int]:
        """What the scanner does not take; returns where it can go on."""
        for entry in self._slow.entries(position):
            if isinstance(entry, Damage):
                dispose(entry, entry.error, self._on_damage)  # pyright: ignore[reportArgumentType]
            elif isinstance(entry, Batch):
                yield _arrow(EntryTable(row_of(entry, kafka_log_segment), kafka_log_segment))
            return entry.end_position
        return self._source.size


def _arrow(entries: EntryTable) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [_column(entries, field.name, field.type) for field in HEADERS_SCHEMA], schema=HEADERS_SCHEMA
    )


def _column(entries: EntryTable, name: str, kind: Any) -> pa.Array:
    """A column from its buffers: `pa.array` would import pandas."""
    values = entries.column(name)
    absent = ~entries.has(name)
    validity = _bits(~absent) if absent.any() else None
    if pa.types.is_boolean(kind):
        data = _bits(values != 0)
    else:
        width = np.int64 if pa.types.is_timestamp(kind) else kind.to_pandas_dtype()
        data = pa.py_buffer(np.array(values, width))  # always a copy: the table is filled again
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def _bits(flags: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
