"""What a task of a write does: its rows to segments, under names that no other attempt has.

Strategy: rows of a partition are kept back until there are some MiB of them, because each call of a segment
writer closes its last batch. A partition whose writer had to be closed for others goes on in another piece,
as it does in another task: the driver puts pieces together whose offsets do not overlap.
"""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from kafka_segments.errors import EncodeError, KafkaFormatError, OptionError
from kafka_segments.formats.file_names import TopicPartition
from kafka_segments.io.outputs import discard_directory, make_directories
from kafka_segments.spark.write_options import WriteOptions
from kafka_segments.spark.write_rows import KIND, LOG_APPEND_TIME, RowSplitter
from kafka_segments.write.writer import SegmentWriter, open_partition_writer

__all__ = ["SORT_ADVICE", "Piece", "TaskOutput", "write_task"]

_MAX_PENDING_BYTES = 32 << 20
_MAX_OPEN = 128  # writers of a task, each of which has a file open
SORT_ADVICE = (
    ".repartition('topic', 'partition').sortWithinPartitions('topic', 'partition', 'offset') before .write "
    "puts them in order"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Segments of one partition that a task wrote.

    Attributes:
        name: of the partition.
        directory: where they are.
        first_offset: of the first record.
        last_offset: of the last record.
        has_own_offsets: the rows had offsets, which were not counted from 0.
    """

    name: TopicPartition
    directory: str
    first_offset: int
    last_offset: int
    has_own_offsets: bool


@dataclass
class TaskOutput(WriterCommitMessage):
    """What a task wrote.

    Attributes:
        pieces: the oldest of a partition first.
    """

    pieces: tuple[Piece, ...]


def write_task(
    batches: Iterable[pa.RecordBatch], staging: str, existing: str | None, options: WriteOptions
) -> TaskOutput:
    """Write rows as segments.

    Args:
        batches: of the DataFrame.
        staging: directory of the job, which is created.
        existing: directory with the partitions that must not be written again; None if there is none.
        options: of the write.

    Raises:
        EncodeError: rows that cannot be written, or not in this order; all that was written is removed.
        OptionError: a partition that is there already.
        OutputError: a failed write.
    """
    directory = os.path.join(staging, uuid.uuid4().hex)
    make_directories(directory)
    task = _TaskWriter(directory, existing, options)
    splitter = RowSplitter(options)
    try:
        for batch in batches:
            for name, rows in splitter.split(batch):
                task.add(name, rows)
        return TaskOutput(tuple(task.finish()))
    except BaseException:
        task.abort()
        discard_directory(directory)
        raise


class _TaskWriter:
    """Writes the rows of all partitions of a task."""

    def __init__(self, directory: str, existing: str | None, options: WriteOptions) -> None:
        self._directory, self._existing, self._options = directory, existing, options
        self._open: OrderedDict[TopicPartition, _PieceWriter] = OrderedDict()
        self._next_offsets: dict[TopicPartition, int] = {}
        self._pieces: list[Piece] = []
        self._num_pieces = self._num_pending = 0

    def add(self, name: TopicPartition, rows: pa.RecordBatch) -> None:
        """Add rows of a partition, which follow those that were added before."""
        if name not in self._open:
            self._begin(name)
        self._open.move_to_end(name)
        self._open[name].add(rows)
        self._num_pending += rows.nbytes
        if self._num_pending >= _MAX_PENDING_BYTES:
            for writer in self._open.values():
                writer.flush()
            self._num_pending = 0

    def finish(self) -> list[Piece]:
        """Finish all pieces, and return them."""
        while self._open:
            self._end()
        return self._pieces

    def abort(self) -> None:
        """Remove the pieces that are not finished."""
        for writer in self._open.values():
            writer.abort()

    def _begin(self, name: TopicPartition) -> None:
        if self._existing is not None and os.path.lexists(os.path.join(self._existing, str(name))):
            raise OptionError(
                f"partition {name} is there already. Mode append adds partitions, and no rows to one that is "
                "there: write them elsewhere, or all of the directory anew with mode overwrite",
                path=self._existing,
            )
        while len(self._open) >= _MAX_OPEN:
            self._end()
        directory = os.path.join(self._directory, str(self._num_pieces))
        self._num_pieces += 1
        self._open[name] = _PieceWriter(name, directory, self._next_offsets.get(name, 0), self._options)

    def _end(self) -> None:
        """Finish the piece to which no row was added for longest."""
        name, writer = next(iter(self._open.items()))
        self._pieces.append(writer.finish())
        self._next_offsets[name] = writer.next_offset
        del self._open[name]


class _PieceWriter:
    """Writes a piece.

    Attributes:
        next_offset: of the next row if the rows have none; else the least that it may have.
    """

    def __init__(self, name: TopicPartition, directory: str, next_offset: int, options: WriteOptions) -> None:
        self.next_offset = next_offset
        self._name, self._directory = name, directory
        self._first_offset: int | None = None
        self._has_own_offsets = False
        self._pending: list[pa.RecordBatch] = []
        self._writer: SegmentWriter = open_partition_writer(
            directory,
            segment_bytes=options.segment_bytes,
            index_interval_bytes=options.index_interval_bytes,
            **options.batches,
        )

    def add(self, rows: pa.RecordBatch) -> None:
        first = self.next_offset
        if "offset" in rows.schema.names:
            self._has_own_offsets = True
            first, last = self._bounds(rows.column("offset"))
        else:
            last = first + rows.num_rows - 1
        if self._first_offset is None:
            self._first_offset = first
        self.next_offset = last + 1
        self._pending.append(rows)

    def flush(self) -> None:
        """Write the rows that were kept back."""
        if not self._pending:
            return
        rows = pa.Table.from_batches(self._pending).combine_chunks()
        self._pending = []
        first = self.next_offset - rows.num_rows
        try:
            for part, options in _by_kind(rows):
                if not self._has_own_offsets:
                    options["base_offset"] = first
                self._writer.write(part, **options)
                first += part.num_rows
        except KafkaFormatError as error:
            raise self._named(error) from error.__cause__

    def finish(self) -> Piece:
        self.flush()
        try:
            self._writer.close()
        except KafkaFormatError as error:
            raise self._named(error) from error.__cause__
        assert self._first_offset is not None  # a piece is begun for a row
        last = self.next_offset - 1
        return Piece(self._name, self._directory, self._first_offset, last, self._has_own_offsets)

    def abort(self) -> None:
        self._writer.abort()

    def _named(self, error: KafkaFormatError) -> KafkaFormatError:
        name = self._name
        return error.with_context(f" (partition {name})", topic=name.topic, partition=name.partition)

    def _bounds(self, offsets: pa.Array) -> tuple[int, int]:
        """Return the first and the last offset of rows, which must follow those that were added before."""
        if offsets.null_count:
            detail = "a row has no offset: give all rows one, or drop the column to count from 0"
            raise self._named(EncodeError(detail, rule="null_offset"))
        found = offsets.to_numpy()
        before = np.concatenate([[self.next_offset - 1], found[:-1]])
        wrong = np.flatnonzero(found <= before)
        if len(wrong):
            offset, last = int(found[wrong[0]]), int(before[wrong[0]])
            detail = f"offset {offset} comes after {last}: {SORT_ADVICE}"
            if offset < 0:
                detail = f"a row has offset {offset}; offsets count from 0"
            raise self._named(EncodeError(detail, rule="offset_order", offset=offset))
        return int(found[0]), int(found[-1])


def _by_kind(rows: pa.Table) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """Yield rows that can be in one batch, with its options: a batch of LogAppendTime has one time."""
    kinds = rows.column(KIND).to_numpy()
    times = rows.column("timestamp_ms").to_numpy()
    rows = rows.drop_columns([KIND])
    is_append = kinds == LOG_APPEND_TIME
    if not is_append.any():
        yield rows, {}
        return
    differs = (kinds[1:] != kinds[:-1]) | (is_append[1:] & (times[1:] != times[:-1]))
    starts = [0, *(np.flatnonzero(differs) + 1).tolist(), rows.num_rows]
    for start, end in pairwise(starts):
        options: dict[str, Any] = {}
        if is_append[start]:
            options = {"timestamp_type": "LogAppendTime", "log_append_time": int(times[start])}
        yield rows.slice(start, end - start), options
