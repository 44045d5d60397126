"""A task of a write, which puts its rows into segments, under names that no other attempt has.

Strategy: rows of a partition are kept back until there are some MiB of them, because each call of a segment
writer closes its last batch. A partition whose writer had to be closed for others goes on in another piece,
as it does in another task: the driver puts pieces together whose offsets do not overlap.
"""

from __future__ import annotations

import os
import resource
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from kafka_segments.core.formats.file_names import TopicPartition
from kafka_segments.core.io.outputs import discard_directory, make_directory
from kafka_segments.errors import EncodeError, KafkaFormatError, OptionError
from kafka_segments.spark.writing.write_options import WriteOptions
from kafka_segments.spark.writing.write_rows import KIND, LOG_APPEND_TIME, RowSplitter
from kafka_segments.write.writer import SegmentWriter, open_partition_writer

__all__ = ["SORT_ADVICE", "Piece", "TaskOutput", "write_task"]

_MAX_PENDING_BYTES = 32 << 20
_MAX_OPEN = 1024  # writers of a task, each of which has a file open
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
        staging: the job's existing directory. A task that continues after the end must not make it again.
        existing: directory with the partitions that must not be written again; None if there is none.
        options: of the write.

    Raises:
        EncodeError: rows that cannot be written, or not in this order; all that was written is removed.
        OptionError: a partition that exists already.
        OutputError: a failed write.
    """
    directory = os.path.join(staging, uuid.uuid4().hex)
    make_directory(directory, options.path)
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
        self._rows: dict[TopicPartition, _PendingRows] = {}
        self._open: OrderedDict[TopicPartition, _PieceWriter] = OrderedDict()
        self._pieces: list[Piece] = []
        self._num_pieces = self._num_pending = 0

    def add(self, name: TopicPartition, rows: pa.RecordBatch) -> None:
        """Add rows of a partition, which follow those that were added before."""
        if name not in self._rows:
            self._check_absent(name)
            self._rows[name] = _PendingRows(name)
        self._rows[name].add(rows)
        self._num_pending += rows.nbytes
        if self._num_pending >= _MAX_PENDING_BYTES:
            self._flush()

    def finish(self) -> list[Piece]:
        """Finish all pieces, and return them."""
        self._flush()
        while self._open:
            self._end()
        return self._pieces

    def abort(self) -> None:
        """Remove the pieces that are not finished."""
        for writer in self._open.values():
            writer.abort()

    def _check_absent(self, name: TopicPartition) -> None:
        if self._existing is not None and os.path.lexists(os.path.join(self._existing, str(name))):
            raise OptionError(
                f"partition {name} exists already. Mode append adds partitions, but no rows to existing "
                "ones: write them elsewhere, or replace the whole directory with mode overwrite",
                path=self._existing,
            )

    def _flush(self) -> None:
        """Write the rows that were kept back."""
        self._num_pending = 0
        for name, pending in self._rows.items():
            if pending.batches:
                writer = self._opened(name)
                first_offset, rows = pending.take()
                writer.write(first_offset, pending.next_offset - 1, rows)

    def _opened(self, name: TopicPartition) -> _PieceWriter:
        if name not in self._open:
            while len(self._open) >= _max_open():
                self._end()
            directory = os.path.join(self._directory, str(self._num_pieces))
            self._num_pieces += 1
            self._open[name] = _PieceWriter(name, directory, self._options)
        self._open.move_to_end(name)
        return self._open[name]

    def _end(self) -> None:
        """Finish the piece that was not written to for longest."""
        name, writer = next(iter(self._open.items()))
        self._pieces.append(writer.finish())
        del self._open[name]


class _PendingRows:
    """The rows of a partition that were not written yet.

    Attributes:
        batches: these rows.
        next_offset: of the next row if the rows have none; else the least that it may have.
    """

    def __init__(self, name: TopicPartition) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.next_offset = 0
        self._name = name
        self._first_offset = 0

    def add(self, rows: pa.RecordBatch) -> None:
        first, last = self.next_offset, self.next_offset + rows.num_rows - 1
        if "offset" in rows.schema.names:
            first, last = self._bounds(rows.column("offset"))
        if not self.batches:
            self._first_offset = first
        self.next_offset = last + 1
        self.batches.append(rows)

    def take(self) -> tuple[int, pa.Table]:
        """Return the first offset and all rows, which are pending no longer."""
        rows = pa.Table.from_batches(self.batches).combine_chunks()
        self.batches = []
        return self._first_offset, rows

    def _bounds(self, offsets: pa.Array) -> tuple[int, int]:
        """Return the first and the last offset of rows, which must follow those that were added before."""
        if offsets.null_count:
            detail = "a row has no offset: give all rows one, or drop the column to count from 0"
            raise _named(EncodeError(detail, rule="null_offset"), self._name)
        found = offsets.to_numpy()
        before = np.concatenate([[self.next_offset - 1], found[:-1]])
        wrong = np.flatnonzero(found <= before)
        if len(wrong):
            offset, last = int(found[wrong[0]]), int(before[wrong[0]])
            detail = f"offset {offset} comes after {last}: {SORT_ADVICE}"
            if offset < 0:
                detail = f"a row has offset {offset}; offsets count from 0"
            raise _named(EncodeError(detail, rule="offset_order", offset=offset), self._name)
        return int(found[0]), int(found[-1])


class _PieceWriter:
    """Writes a piece."""

    def __init__(self, name: TopicPartition, directory: str, options: WriteOptions) -> None:
        self._name, self._directory = name, directory
        self._bounds: tuple[int, int] | None = None
        self._has_own_offsets = False
        self._writer: SegmentWriter = open_partition_writer(
            directory,
            segment_bytes=options.segment_bytes,
            index_interval_bytes=options.index_interval_bytes,
            **options.batches,
        )

    def write(self, first_offset: int, last_offset: int, rows: pa.Table) -> None:
        """Write rows with these bounds."""
        self._bounds = (first_offset if self._bounds is None else self._bounds[0]), last_offset
        self._has_own_offsets = "offset" in rows.schema.names
        offset = first_offset
        try:
            for part, options in _by_kind(rows):
                if not self._has_own_offsets:
                    options["base_offset"] = offset
                self._writer.write(part, **options)
                offset += part.num_rows
        except KafkaFormatError as error:
            raise _named(error, self._name) from error.__cause__

    def finish(self) -> Piece:
        try:
            self._writer.close()
        except KafkaFormatError as error:
            raise _named(error, self._name) from error.__cause__
        assert self._bounds is not None  # a piece is begun for rows
        return Piece(self._name, self._directory, *self._bounds, self._has_own_offsets)

    def abort(self) -> None:
        self._writer.abort()


def _max_open() -> int:
    """Return how many writers a task may have open: half of the files that its process may."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX_OPEN if soft == resource.RLIM_INFINITY else max(1, min(_MAX_OPEN, soft // 2))


def _named(error: KafkaFormatError, name: TopicPartition) -> KafkaFormatError:
    return error.with_context(f" (partition {name})", topic=name.topic, partition=name.partition)


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
