"""Merging of small files: fewer and larger ones with the same rows, as a run of its own.

Strategy: the files of a directory (of a partition, and of a date or hour if divided) follow each other by
their offsets. Neighbours are merged until they reach the wanted size. The run removes the old files in the
same act in which it adds the new ones.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.errors import KafkaFormatError, OptionError, OutputError, ReadError
from kafka_segments.ingest import staging
from kafka_segments.ingest.file_columns import FileColumns
from kafka_segments.ingest.history import read_history
from kafka_segments.ingest.run_state import DataFile, RunState, TableSettings
from kafka_segments.ingest.table_files import TableFiles
from kafka_segments.ingest.tables import Table
from kafka_segments.query.job_engine import Engine, Progress

__all__ = ["MergeTask", "compact", "read_rows"]

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Files to merge into one.

    Attributes:
        destination: of the table.
        table_files: where it is.
        root: where the new file's path begins.
        files: in order, of one directory.
        settings: of the table.
        bloom_filter: see `ParquetFile`.
    """

    destination: str
    table_files: TableFiles
    root: str
    files: tuple[DataFile, ...]
    settings: TableSettings
    bloom_filter: bool = False

    @property
    def num_bytes(self) -> int:
        """Size of the files."""
        return sum(file.num_bytes for file in self.files)

    def run(self) -> DataFile:
        """Write the file.

        Raises:
            ReadError: a file cannot be read.
            OutputError: the new one cannot be written.
        """
        first = self.files[0]
        name = f"{first.first_offset or 0:020}-{uuid.uuid4().hex}.parquet"
        path = f"{os.path.dirname(first.path)}/{name}"
        columns = FileColumns.of(self.settings)
        target = f"{self.root}/{path}"
        with columns.new_file(target, self.table_files, bloom_filter=self.bloom_filter) as output:
            for file in self.files:
                for batch in read_rows(self.table_files, f"{self.destination}/{file.path}", columns):
                    output.write(batch)
        expected = sum(file.num_rows for file in self.files)
        if output.num_rows != expected:
            raise OutputError(
                f"{output.num_rows} rows were read of files that have {expected}", path=first.path
            )
        last_offset = max(file.last_offset or 0 for file in self.files)
        return replace(first, path=path, num_rows=expected, num_bytes=output.size, last_offset=last_offset)


def read_rows(files: TableFiles, path: str, columns: FileColumns) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a data file; columns that were added to the table later are null.

    Args:
        files: of the table.
        path: of the file.
        columns: of the table's files.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        with pq.ParquetFile(files.reader(path)) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                yield columns.of_older(batch)
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, KafkaFormatError):
            raise
        raise ReadError(str(error).splitlines()[0], path=path) from error


def compact(
    table: Table,
    engine: Engine,
    *,
    target_bytes: int,
    bloom_filter: bool = False,
    show: Progress | None = None,
) -> tuple[int, RunState | None]:
    """Merge the small files of a table.

    Args:
        table: the table.
        engine: runs the tasks.
        target_bytes: size of the new files, about; larger ones are left alone.
        bloom_filter: see `ParquetFile`.
        show: see `ingest`.

    Returns:
        How many files were merged, and the run; None if there was nothing to merge.

    Raises:
        OptionError: there is no table.
        ConflictError: another run was committed meanwhile.
        OutputError: something could not be written; the table is as it was.
    """
    history = read_history(table.log, table.destination)
    before = history.newest
    table.publish(before)
    if target_bytes <= 0:
        raise OptionError(f"target_bytes is {target_bytes}; it must be above 0")
    groups = list(_groups(list(table.data_files(history).values()), target_bytes))
    if not groups:
        return 0, None
    removed = tuple(file.path for group in groups for file in group)
    with staging.committing(table, before.number) as new:
        settings, files = before.settings, table.log.files
        tasks = [
            MergeTask(table.destination, files, new.root, group, settings, bloom_filter) for group in groups
        ]
        new.run = RunState(
            before.number + 1,
            new.run_id,
            time.time_ns() // 1_000_000,
            before.settings,
            before.partitions,
            tuple(engine.run(tasks, show)),
            removed,
            placeholder=before.placeholder,
        )
    return len(removed), new.run


def _groups(files: Sequence[DataFile], target_bytes: int) -> Iterator[tuple[DataFile, ...]]:
    """Yield files to merge: two or more neighbours of a directory, up to the wanted size together."""

    def directory(one: DataFile) -> str:
        return os.path.dirname(one.path)

    ordered = sorted(
        (one for one in files if one.topic is not None and not os.path.isabs(one.path)),
        key=lambda one: (directory(one), one.first_offset or 0),
    )
    for _, own in groupby(ordered, key=directory):
        group: list[DataFile] = []
        size = 0
        for one in own:
            if group and size + one.num_bytes > target_bytes:
                if len(group) > 1:
                    yield tuple(group)
                group, size = [], 0
            group.append(one)
            size += one.num_bytes
        if len(group) > 1:
            yield tuple(group)
