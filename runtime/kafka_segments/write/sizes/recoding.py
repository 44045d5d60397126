"""Entries of a segment in another format, with another codec, level or size of batches.

Strategy: a piece of a segment is read once, and encoded by a `Recoder` for each form. Batches that stay as
they are keep the fields of their headers, so a segment without compression comes out of magic 2 as it was.
Messages without a wrapper do not show what their producer sent together: they are gathered, as a broker does
it when it converts them (LogValidator). Timestamps of LogAppendTime are those that a reader is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.core.codecs import compress
from kafka_segments.core.formats import MAGICS
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.write.api import new_encoding
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.encoder import EncodedBatches
from kafka_segments.write.encoding import EncodingStart, GivenBatch
from kafka_segments.write.entry_records import EntryRecords
from kafka_segments.write.inputs import Incoming, iter_incoming
from kafka_segments.write.sizes.forms import Form
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_BASE_SEQUENCE,
    COL_BASE_TIMESTAMP,
    COL_END_POSITION,
    COL_HAS_DELETE_HORIZON,
    COL_IS_TRANSACTIONAL,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_NUM_RECORDS,
    COL_PARTITION_LEADER_EPOCH,
    COL_POSITION,
    COL_PRODUCER_EPOCH,
    COL_PRODUCER_ID,
    COL_TIMESTAMP_TYPE,
    WIDTH,
)

__all__ = ["EncodedForm", "GivenEntries", "Recoder", "piece_of", "time_to_decode"]

_NO_TIMESTAMP = -1  # as RecordBatch.NO_TIMESTAMP
_LEN_GATHERED = BatchOptions().batch_size
_CARRIED = (
    COL_TIMESTAMP_TYPE,
    COL_MAX_TIMESTAMP,
    COL_PARTITION_LEADER_EPOCH,
    COL_HAS_DELETE_HORIZON,
    COL_BASE_TIMESTAMP,
    COL_IS_TRANSACTIONAL,
    COL_PRODUCER_ID,
    COL_PRODUCER_EPOCH,
    COL_LAST_OFFSET_DELTA,
)


@dataclass(frozen=True, slots=True)
class GivenEntries:
    """Entries to be encoded in other forms.

    Attributes:
        entries: sound entries that Kafka would take.
        num_refused: entries that were left out because it would not.
        incoming: their records for an encoder.
        batches: the batches that they are in.
        copied: rows of `entries` without data records, which only batches have.
    """

    entries: EntryRecords
    num_refused: int
    incoming: Incoming
    batches: tuple[GivenBatch, ...]
    copied: Any

    @property
    def num_headers(self) -> int:
        """Headers of all records."""
        return len(self.entries.records.column("headers").flatten())

    @property
    def num_timestamps(self) -> int:
        """Records that have a timestamp."""
        times = self.entries.records.column("timestamp_ms").fill_null(_NO_TIMESTAMP).to_numpy()
        return int((times != _NO_TIMESTAMP).sum())

    @property
    def num_copied_bytes(self) -> int:
        """Bytes of the entries without data records."""
        rows = self.entries.heads[self.copied]
        return int((rows[:, COL_END_POSITION] - rows[:, COL_POSITION]).sum())


@dataclass(frozen=True, slots=True)
class EncodedForm:
    """Entries in another form.

    Attributes:
        data: their bytes, in pieces of whole entries.
        sizes: int64, bytes of each entry.
        counts: int64, records in each.
        num_copied: batches without data records, which are written too, as they are (in magic 3 they would be
            shorter by some bytes).
        num_copied_bytes: their bytes.
        nanoseconds: CPU time of encoding.
    """

    data: tuple[memoryview, ...]
    sizes: Any
    counts: Any
    num_copied: int
    num_copied_bytes: int
    nanoseconds: int

    @property
    def num_bytes(self) -> int:
        """Bytes of all entries."""
        return int(self.sizes.sum()) + self.num_copied_bytes


class Recoder:
    """Encoder of pieces of segments in one form; for one thread at a time.

    Args:
        form: the form.

    Raises:
        OptionError: a form that Kafka does not have.
        MissingCodecError: while encoding: the codec's package is not installed.
    """

    def __init__(self, form: Form) -> None:
        size: dict[str, Any] = {} if form.batch_size is None else {"batch_size": form.batch_size}
        options = BatchOptions(
            magic=form.magic,
            compression=form.compression,
            compression_level=form.level,
            max_message_bytes=None,
            experimental_magic3=form.magic not in MAGICS,
            **size,
        )
        self._form = form
        self._last_offset = -1
        self._encoding = new_encoding(options, _new_start())
        if options.is_compressed:  # the codec is loaded now, and not while time is taken
            compress(form.compression, b"", level=form.level, magic=form.magic)

    def recode(self, piece: GivenEntries, *, continues: bool = False) -> EncodedForm:
        """Encode a piece.

        Args:
            piece: the entries.
            continues: whether another piece follows, whose records may be in the same batch as the last ones
                of this piece; `finish` ends it.
        """
        is_batch = self._form.magic >= 2
        return _recoded(
            lambda: self._encoded(piece, continues=continues and self._form.batch_size is not None),
            len(piece.copied) if is_batch else 0,
            piece.num_copied_bytes if is_batch else 0,
        )

    def finish(self) -> EncodedForm:
        """Encode what is left of pieces that continue."""
        self._last_offset = -1
        return _recoded(lambda: self._encoding.restart(_new_start()), 0, 0)

    def _encoded(self, piece: GivenEntries, *, continues: bool) -> Iterator[EncodedBatches]:
        offsets = piece.entries.records.column("offset")
        if len(offsets) and offsets[0].as_py() <= self._last_offset:
            yield from self._encoding.restart(_new_start())
        incoming, batches = piece.incoming, piece.batches
        if self._form.magic < 2:
            kept = {name: column for name, column in incoming.columns.items() if name != "headers"}
            incoming = Incoming(incoming.num_rows, kept)
            batches = tuple(GivenBatch(batch.end_row) for batch in batches)
        if self._form.batch_size is None:
            yield from self._encoding.feed_batches(incoming, batches)
        else:
            yield from self._encoding.feed(incoming)
        if not continues:
            yield from self._encoding.restart(_new_start())
        elif len(offsets):
            self._last_offset = offsets[-1].as_py()


def _recoded(
    encode: Callable[[], Iterator[EncodedBatches]], num_copied: int, num_copied_bytes: int
) -> EncodedForm:
    started = time.thread_time_ns()
    pieces = list(encode())
    elapsed = time.thread_time_ns() - started
    heads = np.concatenate([one.heads for one in pieces]) if pieces else np.zeros((0, WIDTH), np.int64)
    sizes = heads[:, COL_END_POSITION] - heads[:, COL_POSITION]
    data = tuple(one.data for one in pieces)
    return EncodedForm(data, sizes, heads[:, COL_NUM_RECORDS], num_copied, num_copied_bytes, elapsed)


def _new_start() -> EncodingStart:
    return EncodingStart(0, -1, -1)


def piece_of(entries: EntryRecords) -> GivenEntries:
    """Prepare entries for encoding; those that Kafka's writers refuse are left out."""
    num_entries = len(entries.heads)
    entries = _accepted(entries)
    incoming = next(iter_incoming(entries.records), Incoming(0, {}))
    has_no_data = np.flatnonzero(entries.num_records == 0)
    num_refused = num_entries - len(entries.heads)
    return GivenEntries(entries, num_refused, incoming, tuple(_batches(entries)), has_no_data)


def time_to_decode(data: bytes, *, is_experimental: bool) -> int:
    """Return the CPU time in nanoseconds in which entries are verified and read as Arrow columns.

    Args:
        data: the entries.
        is_experimental: whether they are of magic 3.
    """
    started = time.thread_time_ns()
    with open_segment(data, experimental_magic3=is_experimental) as segment:
        for _batch in segment.read_batches():
            pass
    return time.thread_time_ns() - started


def _accepted(entries: EntryRecords) -> EntryRecords:
    """Leave out entries with timestamps below -1, negative offsets, or such as do not increase."""
    offsets = entries.records.column("offset").to_numpy()
    times = entries.records.column("timestamp_ms").fill_null(_NO_TIMESTAMP).to_numpy()
    before = np.maximum.accumulate(np.concatenate([[-1], offsets[:-1]])) if offsets.size else offsets
    is_right = (times >= _NO_TIMESTAMP) & (offsets > before)
    if is_right.all():
        return entries
    owners = np.repeat(np.arange(len(entries.heads)), entries.num_records)
    is_kept = np.ones(len(entries.heads), bool)
    is_kept[owners[~is_right]] = False
    records = entries.records.filter(is_kept[owners])
    return EntryRecords(entries.heads[is_kept], entries.num_records[is_kept], records, entries.damages)


def _batches(entries: EntryRecords) -> Iterator[GivenBatch]:
    """The batches that entries are, or, of messages without a wrapper, become."""
    is_batch, is_wrapper = entries.table.is_batch(), entries.table.is_wrapper()
    gathered: Any = None
    end_row = len_gathered = 0
    for row, head in enumerate(entries.heads):
        count = int(entries.num_records[row])
        if count == 0:
            continue
        if not is_batch[row] and not is_wrapper[row]:
            size = int(head[COL_END_POSITION] - head[COL_POSITION])
            if gathered is not None and len_gathered + size > _LEN_GATHERED:
                yield GivenBatch(end_row)
                len_gathered = 0
            gathered, len_gathered = head, len_gathered + size
            end_row += 1
            continue
        if gathered is not None:
            yield GivenBatch(end_row)
        gathered, len_gathered = None, 0
        end_row += count
        yield _given(head, end_row) if is_batch[row] else GivenBatch(end_row)
    if gathered is not None:
        yield GivenBatch(end_row)


def _given(head: Any, end_row: int) -> GivenBatch:
    fields = {column: int(head[column]) for column in _CARRIED}
    return GivenBatch(
        end_row, fields, int(head[COL_BASE_OFFSET]), int(head[COL_BASE_SEQUENCE]), ("last_offset_delta",)
    )
