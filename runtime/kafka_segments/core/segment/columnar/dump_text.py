"""Text of sound batches of magic 2 in the words of Kafka's tool DumpLogSegments, made column by column.

Strategy: headers come from `header_table`, records from `reader`, and Arrow's kernels join their columns into
text, thousands of lines with one call. The line of a batch is put before that of its first record. Rows wait
until one of a later batch is there: only then is it certain that nothing is wrong with their batch. What is
unusual (damage, a wrong checksum, the old formats) ends the text before it; the caller goes on there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.dumped_batches import BatchesAhead, ControlText, DumpedBatches
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.columnar.reader import ColumnarReader
from kafka_segments.core.segment.columnar.text_columns import (
    binary_array,
    ends_of,
    java_texts,
    joined,
    label_of,
    or_none,
    sizes_of,
    text_of,
    timestamp_types,
)

__all__ = ["DumpedColumns", "SoundText"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them


@dataclass(frozen=True, slots=True)
class DumpedColumns:
    """Parts of records that are printed: metadata as offset and sizes, contents as key and value."""

    has_records: bool
    has_metadata: bool
    has_contents: bool

    @property
    def names(self) -> list[str]:
        """The columns that the text is made of."""
        metadata = ["timestamp_type", "timestamp_ms", "headers", "sequence"]
        if not self.has_records:
            return ["offset"]
        values = ["key", "value"] if self.has_metadata or self.has_contents else []
        return ["offset", *values, *(metadata if self.has_metadata else [])]


class SoundText:
    """One stretch of sound batches.

    Args:
        source: the segment's bytes.
        position: where the stretch begins; an entry begins there.
        columns: what is printed.
        control: has the text of control batches.
        last_offset: of the record before.

    Attributes:
        position: where the stretch ends, once all pieces were taken.
        last_offset: of the last record.
        gaps: offsets that do not follow the offset before them, which is the key.
    """

    def __init__(
        self,
        source: Source,
        position: int,
        columns: DumpedColumns,
        control: ControlText,
        last_offset: int = -1,
    ) -> None:
        self.position, self.last_offset = position, last_offset
        self.gaps: dict[int, int] = {}
        self._columns = columns
        self._headers = BatchesAhead(source, position, control)
        self._rows: list[pa.RecordBatch] = []
        self._reader = ColumnarReader(
            source,
            schema=schema_of(columns.names),
            start=None,
            end=None,
            check_crc=True,
            max_decompressed=DEFAULT_MAX_DECOMPRESSED,
            read_range=ReadRange(position),
        )

    def pieces(self) -> Iterator[memoryview]:
        """Yield the text, in pieces of a few MiB."""
        num_rows = 0
        for event in self._reader.events():
            if isinstance(event, pa.RecordBatch):
                rows: Any = event
                self._rows.append(rows)
                num_rows += rows.num_rows
                num_rows -= yield from self._ready(num_rows - 1)
            elif isinstance(event, Damage | Batch | Padding):
                self._headers.end_at(event.position)
                break
            if self._headers.is_over:
                break
        yield from self._ready(num_rows)

    def _ready(self, num_rows: int) -> Generator[memoryview, None, int]:
        """Yield the text of batches whose records are among the first rows; return how many these had."""
        num_taken = 0
        while True:
            batches = self._headers.take(num_rows - num_taken)
            if batches is not None:
                yield from self._text(batches)
                num_taken += batches.num_rows
                self.position = batches.end_position
            elif not self._headers.pull():
                return num_taken

    def _text(self, batches: DumpedBatches) -> Iterator[memoryview]:
        lines, done = batches.lines(), 0
        first_rows = np.cumsum(batches.counts) - batches.counts
        starts = ends_of(lines)
        self._note_offsets(batches, first_rows)
        row = 0
        while self._columns.has_records and row < batches.num_rows:
            rows = self._next_rows(batches.num_rows - row)
            end = int(np.searchsorted(first_rows, row + len(rows)))
            prefixes = _spread(lines, starts, (done, end), first_rows[done:end] - row, len(rows))
            yield _bytes_of(joined([prefixes, *_row_parts(rows, self._columns)]))
            row, done = row + len(rows), end
        if not self._columns.has_records:
            self._next_rows_dropped(batches.num_rows)
        if starts[done] < starts[-1]:
            yield _bytes_of(lines, done)

    def _next_rows(self, most: int) -> pa.RecordBatch:
        """Remove rows from those that wait: of one Arrow batch, and no more than `most`."""
        first = self._rows[0]
        if len(first) <= most:
            return self._rows.pop(0)
        self._rows[0] = first.slice(most)
        return first.slice(0, most)

    def _next_rows_dropped(self, num_rows: int) -> None:
        while num_rows:
            num_rows -= len(self._next_rows(num_rows))

    def _note_offsets(self, batches: DumpedBatches, first_rows: Any) -> None:
        """Find gaps in the offsets of records, those of control records included."""
        if not self._columns.has_records:
            return
        waiting, found = iter(self._rows), list[Any]([np.empty(0, np.int64)])
        missing = batches.num_rows
        while missing:
            offsets = np.from_dlpack(next(waiting).column("offset"))[:missing]
            found.append(offsets)
            missing -= len(offsets)
        offsets, at = np.concatenate(found), 0
        for place, control in batches.control_offsets:
            row = int(first_rows[place])
            self._note(offsets[at:row])
            self._note(np.array(control, np.int64))
            at = row
        self._note(offsets[at:])

    def _note(self, offsets: Any) -> None:
        if not len(offsets):
            return
        before = np.concatenate([[self.last_offset], offsets[:-1]]).astype(np.int64)
        for row in np.flatnonzero(offsets != before + 1):
            self.gaps[int(before[row])] = int(offsets[row])
        self.last_offset = int(offsets[-1])


def _row_parts(rows: pa.RecordBatch, columns: DumpedColumns) -> list[Any]:
    """The parts of the lines of records, each a column or a text."""
    key = value = None
    if columns.has_metadata or columns.has_contents:
        key, value = rows.column("key"), rows.column("value")
    parts: list[Any] = []
    if columns.has_metadata:
        sequence = rows.column("sequence")
        parts += ["| offset: ", text_of(rows.column("offset")), " "]
        parts += [timestamp_types(rows.column("timestamp_type")), ": ", text_of(rows.column("timestamp_ms"))]
        parts += [" keySize: ", sizes_of(key), " valueSize: ", sizes_of(value), " sequence: "]
        parts.append(or_none(sequence))
        parts += [" headerKeys: [", _header_keys(rows.column("headers")), "]"]
    if columns.has_contents:
        first = " " if columns.has_metadata else "| "
        parts += [label_of(key, f"{first}key: "), java_texts(key)]
        after = " " if columns.has_metadata else label_of(key, " ", first)
        parts += [*_payload_label(value, after), java_texts(value)]
    return [*parts, "\n"]


def _payload_label(value: pa.Array, before: Any) -> list[Any]:
    """The words before values: nothing where one is null."""
    if value.null_count == 0:
        return [before, "payload: "]
    if isinstance(before, str):
        return [label_of(value, f"{before}payload: ")]
    return [pc.if_else(value.is_valid(), before, binary_array([b""])[0]), label_of(value, "payload: ")]


def _header_keys(headers: pa.Array) -> Any:
    """The keys of each record's headers, with commas; a text if there are none at all."""
    keys = headers.flatten().field("key")
    if not len(keys):
        return ""
    starts = headers.offsets
    lists = pa.ListArray.from_arrays(pc.subtract(starts, starts[0]), java_texts(keys))
    return pc.binary_join(lists, binary_array([b","])[0])


def _spread(lines: pa.Array, starts: Any, span: tuple[int, int], rows: Any, num_rows: int) -> pa.Array:
    """Lines as a column: each in the row where its batch begins, several of one row together.

    Args:
        lines: of batches.
        starts: where each of them begins in its buffer, and the last one ends.
        span: which of them.
        rows: the row of each.
        num_rows: of the column.
    """
    first, last = span
    sizes = np.zeros(num_rows + 1, np.int64)
    np.add.at(sizes, rows + 1, np.diff(starts[first : last + 1]))
    data = (lines.buffers()[2] or pa.py_buffer(b"")).slice(int(starts[first]))
    offsets = pa.py_buffer(sizes.cumsum().astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), num_rows, [None, offsets, data])


def _bytes_of(texts: pa.Array, first: int = 0) -> memoryview:
    """Return texts from the first one on, as they stand in the buffer."""
    ends = ends_of(texts)
    return memoryview(texts.buffers()[2].slice(int(ends[first]), int(ends[-1] - ends[first])))
