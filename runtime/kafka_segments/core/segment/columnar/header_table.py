"""Headers of all entries as a table, without reading payloads.

Strategy: where batches are large, the generated scanner reads only the bytes it needs, with one short system
call for each; where they are small, reading everything costs less, above all from a disk. The first few
entries decide. Tables begin small and grow, so a caller that stops early has read little. Checksums would
need all bytes, and are not verified.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.formats import TIMESTAMP_TYPE_NAMES
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import load_decoder
from kafka_segments.core.segment.columnar.damage_events import handle_damage
from kafka_segments.core.segment.columnar.entry_table import EntryTable, row_of
from kafka_segments.core.segment.columnar.read_range import Ending, OffsetRange, ReadRange
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import ReadError
from kafka_segments_generated.columns import kafka_log_segment, kafka_log_segment_experimental

__all__ = [
    "HEADERS_SCHEMA",
    "array_of",
    "find_entries",
    "find_last",
    "iter_headers",
    "iter_tables",
    "read_headers",
]

_MAX_ROWS = 1 << 14
_LEN_SHORT = 4096  # of a read
_FAR = 1 << 17  # from header to header: from here on short reads are the cheaper ones
_NUM_FIRST, _GROWTH = 64, 4
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


def _columns_of(module: ModuleType) -> set[str]:
    return {name for content in module.CONTENTS for name in content.columns}


# Every table has the columns of all formats.
_EXPERIMENTAL = _columns_of(kafka_log_segment_experimental) - _columns_of(kafka_log_segment)
_FIELDS = pa.schema(
    [
        pa.field(name, _TYPES[kind])
        for name, kind in zip(kafka_log_segment.BATCH_COLUMNS, kafka_log_segment.BATCH_TYPES, strict=True)
        if name not in _INTERNAL and name not in _EXPERIMENTAL
    ]
)

HEADERS_SCHEMA = pa.schema(
    [
        *_FIELDS,
        pa.field("last_offset", pa.int64()),
        pa.field("compression_name", pa.string()),
        pa.field("timestamp_type_name", pa.string()),
    ]
)
"""Where each entry is (`position`, `end_position`), and the fields of its header, as the schemas name them.

Null is what an entry of this magic does not have, and a missing timestamp (-1 in files). Names are Kafka's,
null for a codec that is not known; `last_offset` is that of a wrapper's last message, too.
"""


def read_headers(source: Source, on_damage: OnDamage) -> pa.Table:
    check_on_damage(on_damage)
    return pa.Table.from_batches(_sound_headers(source, on_damage), HEADERS_SCHEMA)


def _sound_headers(source: Source, on_damage: OnDamage) -> Iterator[pa.RecordBatch]:
    for piece in iter_headers(source):
        if isinstance(piece, Damage):
            handle_damage(piece, piece.error, on_damage)
        else:
            yield _named(piece)


def iter_headers(source: Source, position: int = 0) -> Iterator[EntryTable | Damage]:
    """Yield the headers of entries from a position on as tables, and damage in its place.

    A table is valid until the next one is asked for.
    """
    return _Headers(source).tables(position)


def find_entries(source: Source, offset: int) -> list[int]:
    """Find where reading of an offset and higher ones may begin, by unverified headers.

    Returns:
        Positions of entries, the best first: the first one that may hold the offset or a higher one, and the
            one
        before it, from which on nothing can be missed.
    """
    before: list[int] = []
    for piece in iter_headers(source):
        if isinstance(piece, Damage):
            if piece.touches(offset, None):
                return before
            continue
        rows = np.flatnonzero(piece.in_range(offset, None))
        row = int(rows[0]) if len(rows) else len(piece)
        if row:
            before = [piece.value(row - 1, "position")]
        if row < len(piece):
            return [piece.value(row, "position"), *before]
    return before


def find_last(source: Source, position: int = 0, count: int = 2) -> int | None:
    """Return where the last so many entries begin, or all of them, from a position on; None without any."""
    last: list[int] = []
    for piece in iter_headers(source, position):
        if not isinstance(piece, Damage):
            last += piece.column("position")[-count:].tolist()
            del last[:-count]
    return last[0] if last else None


def iter_tables(source: Source, offsets: OffsetRange, read_range: ReadRange) -> Iterator[EntryTable | Damage]:
    """Yield headers of a part of a segment, in tables valid until the next; damage in its place.

    Args:
        source: the segment's bytes.
        offsets: ends the reading; entries that are out of it, or only partly in it, come too.
        read_range: where to read.
    """
    coverage = read_range.coverage
    ending = Ending(source, offsets, read_range.end_position, check_crc=False)
    previous = read_range.sound_offset
    for piece in iter_headers(source, read_range.position):
        if isinstance(piece, Damage):
            if coverage is not None:
                coverage.damaged()
            yield piece
            continue
        count = ending.num_before(piece, previous)
        wanted = piece.before(count)
        if count:
            if coverage is not None:
                coverage.entries(wanted)
                # The content is not read, so what is missing in it is unknown.
                coverage.has_gaps = coverage.has_gaps or bool(wanted.is_wrapper().any())
            yield wanted
        if count < len(piece):
            if coverage is not None:
                coverage.is_ended = True
            return
        previous = piece.last_offset(len(piece) - 1)


class _Headers:
    """One pass over a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scan = load_decoder(kafka_log_segment.scanner, check_crc=False, whole=False)
        self._slow = Scan(source, headers_only=True)
        self._rows = np.zeros((_MAX_ROWS, kafka_log_segment.WIDTH), np.int64)
        self._state = np.zeros(_NUM_STATE, np.int64)
        self._arguments = self._scan.new_table()
        self._arguments.set("state", self._state.ctypes.data, _NUM_STATE)
        self._arguments.set("table", self._rows.ctypes.data, self._rows.size)
        self._buffer = memoryview(bytearray(_LEN_WINDOW))
        self._window: Any = None
        self._max_rows, self._hops = _NUM_FIRST, True

    def tables(self, position: int) -> Iterator[EntryTable | Damage]:
        """Tables of entries, each good until the next; damage in its place."""
        while position < self._source.size:
            status = self._fill(position)
            entries = EntryTable(self._rows[: self._state[kernels.ROW]], kafka_log_segment)
            if len(entries):
                self._slow.sound_offset = entries.last_offset(len(entries) - 1)
                yield entries
                is_far = self._state[kernels.AT] - position >= _FAR * len(entries)
                self._max_rows, self._hops = min(_GROWTH * self._max_rows, _MAX_ROWS), is_far
            has_moved = self._state[kernels.AT] > position
            position = int(self._state[kernels.AT])
            if status == kernels.DAMAGED or (status == kernels.SHORT and not has_moved):
                position = yield from self._trouble(position)

    def _fill(self, position: int) -> int:
        """Scan on until the table is full, or there is something else; returns the scanner's status."""
        row = 0
        while True:
            status = self._run(position, row)
            at, row = int(self._state[kernels.AT]), int(self._state[kernels.ROW])
            if status != kernels.SHORT or at == position or row == self._max_rows:
                return status
            position = at

    def _run(self, position: int, row: int) -> int:
        state = self._state
        state[kernels.AT] = state[kernels.WINDOW] = position
        state[kernels.ROW] = row
        state[kernels.MAX_ROWS] = self._max_rows
        state[kernels.SIZE] = self._source.size
        state[kernels.FILE] = -1
        window = None if self._hops and self._source.descriptor >= 0 else self._window_at(position)
        if window is None:
            window, size = self._buffer[:_LEN_SHORT], 0
            state[kernels.FILE] = self._source.descriptor
            state[kernels.WINDOW] = -1  # nothing is in it yet
        else:
            size = len(window)
        self._window = window
        state[kernels.LEN_WINDOW] = size
        self._arguments.set("data", pa.py_buffer(window).address, len(window))
        return self._scan(self._arguments)

    def _window_at(self, position: int) -> bytes | memoryview | None:
        """The bytes from there on; None if not all can be read, but the headers perhaps."""
        size = min(_LEN_WINDOW, self._source.size - position)
        try:
            return self._source.window(position, size, self._buffer)
        except ReadError:
            if self._source.descriptor < 0:
                raise
            return None

    def _trouble(self, position: int) -> Generator[EntryTable | Damage, None, int]:
        """Yield entries and damage from where the scanner stopped; return where it can continue."""
        for entry in self._slow.region(position):
            position = entry.end_position
            if isinstance(entry, Batch):
                yield EntryTable(row_of(entry, kafka_log_segment), kafka_log_segment)
            elif isinstance(entry, Damage):
                yield entry
        return position


def _named(entries: EntryTable) -> pa.RecordBatch:
    """Headers as Arrow, with what is made of their fields."""
    fields = [_column(entries, field.name, field.type) for field in _FIELDS]
    lasts = array_of(entries.stated_last_offsets(), pa.int64(), np.zeros(len(entries), bool))
    codecs, kinds = entries.column("compression"), entries.column("timestamp_type")
    # Messages of magic 0 have no timestamps.
    kinds = np.where(entries.column("magic") == 0, len(TIMESTAMP_TYPE_NAMES), kinds)
    names = [_names_of(codecs, ("none", *CODEC_NAMES)), _names_of(kinds, TIMESTAMP_TYPE_NAMES)]
    return pa.RecordBatch.from_arrays([*fields, lasts, *names], schema=HEADERS_SCHEMA)


def _names_of(numbers: Any, names: tuple[str, ...]) -> pa.Array:
    """Names in place of numbers, null where there are no more."""
    absent = numbers >= len(names)
    lengths = np.array([0, *map(len, names)], np.int32).cumsum(dtype=np.int32)
    texts = pa.StringArray.from_buffers(
        len(names), pa.py_buffer(lengths), pa.py_buffer("".join(names).encode())
    )
    indices = array_of(np.where(absent, 0, numbers), pa.int8(), absent)
    return pa.DictionaryArray.from_arrays(indices, texts).dictionary_decode()


def _column(entries: EntryTable, name: str, kind: Any) -> pa.Array:
    values, absent = entries.column(name), ~entries.has(name)
    none = kafka_log_segment.BATCH_NONES.get(name)
    return array_of(values, kind, absent if none is None else absent | (values == none))


def array_of(values: Any, kind: Any, absent: Any) -> pa.Array:
    """Numbers as an Arrow array of a type, null where `absent`.

    `pa.array` would import pandas, `to_pandas_dtype` needs it in pyarrow 18.
    """
    validity = _bits(~absent) if absent.any() else None
    if pa.types.is_boolean(kind):
        data = _bits(values != 0)
    else:
        sign = "u" if pa.types.is_unsigned_integer(kind) else ""  # timestamps are integers, too
        data = pa.py_buffer(np.array(values, f"{sign}int{kind.bit_width}"))  # a copy: tables are filled again
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def _bits(flags: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
