"""Entries in memory and their records as Arrow, in pieces that are encoded in other forms.

Strategy: a run is decoded at once. Where its records take too much memory, or not all of it is sound, it is
read again in halves, and these too, down to a single entry, which is then left out. What all records take is
bounded by what they are on the disk, so that a small file is never expensive: all of it is encoded in every
form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.scan.entry_scan import Scan, with_offsets
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import DecompressionError, KafkaFormatError, MissingCodecError
from kafka_segments.sizes.stretches import MAX_OF_ENTRY
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.given_batches import GivenBatch
from kafka_segments.write.inputs import Incoming, iter_incoming

__all__ = ["NO_TIMESTAMP", "EntryPiece", "PieceReader"]

NO_TIMESTAMP = -1
"""As RecordBatch.NO_TIMESTAMP."""

_COLUMNS = ("offset", "timestamp_ms", "key", "value", "headers")
_EXPANSION, _ALWAYS_ALLOWED = 200, 64 << 20
_TOO_MUCH = (
    f"left out: its records take more than {MAX_OF_ENTRY >> 20} MiB of memory, or those of all entries so "
    f"far more than {_EXPANSION} times their bytes"
)
_Part = tuple[EntryTable, Any, pa.RecordBatch]  # entries, and the number of the records of each
_LEN_GATHERED = BatchOptions().batch_size


@dataclass(frozen=True, slots=True)
class EntryPiece:
    """Sound entries that Kafka would take, with their records.

    Attributes:
        table: their headers.
        num_records: int64, data records of each entry; 0 for control batches.
        records: the data records of all entries, in order, for an encoder.
        len_records: bytes that these take.
        batches: the batches that they are in; those that messages without a wrapper are gathered in.
        num_refused: entries that were left out because Kafka would refuse to write them.
    """

    table: EntryTable
    num_records: Any
    records: Incoming
    len_records: int
    batches: tuple[GivenBatch, ...]
    num_refused: int

    @classmethod
    def of(cls, parts: Sequence[_Part]) -> EntryPiece:
        """Join some parts, without entries with timestamps below -1 or with offsets that do not increase."""
        table, records = parts[0][0].joined([one[0] for one in parts[1:]]), _joined([one[2] for one in parts])
        num_records = np.concatenate([one[1] for one in parts])
        offsets = records.column("offset").to_numpy()
        times = records.column("timestamp_ms").fill_null(NO_TIMESTAMP).to_numpy()
        before = np.maximum.accumulate(np.concatenate([[-1], offsets]))[:-1]
        is_wrong = (times < NO_TIMESTAMP) | (offsets <= before)
        is_refused = np.zeros(len(table), bool)
        is_refused[np.repeat(np.arange(len(table)), num_records)[is_wrong]] = True
        if is_wrong.any():
            records = records.filter(~np.repeat(is_refused, num_records))
            table, num_records = table.chosen(~is_refused), num_records[~is_refused]
        incoming = next(iter_incoming(records), Incoming(0, {}))
        batches = tuple(_batches(table, num_records))
        return cls(table, num_records, incoming, records.nbytes, batches, int(is_refused.sum()))

    @property
    def sizes(self) -> Any:
        """The bytes of each entry: int64."""
        return self.table.column("end_position") - self.table.column("position")

    @property
    def num_bytes(self) -> int:
        """Bytes of all entries."""
        return int(self.sizes.sum())


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    schema = schema_of(_COLUMNS)
    joined = pa.Table.from_batches(batches, schema).combine_chunks().to_batches()
    return joined[0] if joined else pa.RecordBatch.from_pylist([], schema)


def _batches(table: EntryTable, num_records: Any) -> Iterator[GivenBatch]:
    is_batch, is_wrapper = table.is_batch(), table.is_wrapper()
    end_row = len_gathered = 0
    for row in np.flatnonzero(num_records).tolist():
        is_message = not (is_batch[row] or is_wrapper[row])
        size = table.value(row, "end_position") - table.value(row, "position")
        if len_gathered and not (is_message and len_gathered + size <= _LEN_GATHERED):
            yield GivenBatch(end_row)
            len_gathered = 0
        end_row += int(num_records[row])
        if is_message:
            len_gathered += size
        else:
            yield GivenBatch.like(table.rows[row], end_row) if is_batch[row] else GivenBatch(end_row)
    if len_gathered:
        yield GivenBatch(end_row)


class PieceReader:
    """Reader of runs of entries, in pieces whose records take bounded memory.

    Args:
        max_together: bytes that the records of several entries may take as Arrow.
    """

    def __init__(self, max_together: int) -> None:
        self._max_together = max_together
        self._num_read = self._num_content = 0
        self._items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)

    def pieces(self, path: str, data: bytes | memoryview, position: int) -> Iterator[EntryPiece | Damage]:
        """Yield the entries of a run in pieces, and what is left out.

        Args:
            path: the file.
            data: whole entries.
            position: of the first one in the file.

        Raises:
            MissingCodecError: the package of a codec is not installed.
        """
        source, tables, together = open_source(data), [], list[_Part]()
        for one in iter_headers(source):
            if isinstance(one, Damage):
                yield Damage(
                    path, position + one.position, position + one.end_position, one.error, None, None
                )
            else:
                tables.append(one.tail(len(one)))
        for part in self._parts(source, tables[0].joined(tables[1:])) if tables else ():
            if isinstance(part, Damage):
                place = position + part.position, position + part.end_position
                yield Damage(path, *place, part.error, None, None)
                continue
            if together and sum(one[2].nbytes for one in (*together, part)) > self._max_together:
                yield EntryPiece.of(together)
                together = []
            together.append(part)
        if together:
            yield EntryPiece.of(together)

    def _parts(self, source: Source, table: EntryTable) -> Iterator[_Part | Damage]:
        start, end = table.value(0, "position"), table.value(len(table) - 1, "end_position")
        is_alone = len(table) == 1
        found = self._read(source.read(start, end - start), is_alone=is_alone)
        if isinstance(found, pa.RecordBatch):
            counts = np.array([found.num_rows]) if is_alone else self._counts(source, table)
            if counts.min() >= 0 and counts.sum() == found.num_rows:
                yield table, counts, found
                return
        if is_alone:
            yield Damage(source.name, start, end, found, None, None)
            return
        for half in (slice(len(table) // 2), slice(len(table) // 2, None)):
            yield from self._parts(source, table.chosen(half))

    def _read(self, data: bytes | memoryview, *, is_alone: bool) -> pa.RecordBatch | KafkaFormatError:
        """Return the records; or what is damaged, or that they take too much."""
        allowed = _ALWAYS_ALLOWED + _EXPANSION * (self._num_read + len(data)) - self._num_content
        most = min(allowed, MAX_OF_ENTRY if is_alone else self._max_together)
        batches, content, error = [], 0, None
        with open_segment(data) as segment:
            events = segment.iter_columnar(_COLUMNS, (None, None), read_range=ReadRange(items=self._items))
            for event in events:
                if isinstance(event, Damage):
                    error = event.error
                elif isinstance(event, pa.RecordBatch):
                    batches.append(event)
                    content += event.nbytes
                    error = DecompressionError(_TOO_MUCH, is_bound=True) if content > most else None
                if isinstance(error, MissingCodecError):
                    raise error
                if error is not None:
                    self._num_read += len(data) if is_alone else 0
                    return error
        self._num_read += len(data)
        self._num_content += content
        return _joined(batches)

    def _counts(self, source: Source, table: EntryTable) -> Any:
        """Return the data records that headers, and of wrappers their messages, say that entries have."""
        counts = np.where(table.is_batch(), table.column("num_records"), 1)
        counts[table.is_batch() & (table.column("is_control") != 0)] = 0
        for row in np.flatnonzero(table.is_wrapper()).tolist():
            batch = Scan(source).batch_at(table.value(row, "position"))
            opened = with_offsets(source, batch, self._items)
            counts[row] = -1 if opened is None else opened.num_records
        return counts
