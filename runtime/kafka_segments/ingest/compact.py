"""Files of a table written again, and the merging of small ones into larger ones as a run of its own.

Strategy: the files of a directory (of a partition, and of a date or hour if divided) follow each other by
their offsets. Neighbours are merged until they reach the wanted size. The run removes the old files in the
same act in which it adds the new ones.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_segments.core.io.jobs import Engine, Progress
from kafka_segments.errors import OptionError, OutputError
from kafka_segments.ingest.committing import committing
from kafka_segments.ingest.files.file_columns import FileColumns, opened
from kafka_segments.ingest.runs.run_log import History, read_history
from kafka_segments.ingest.runs.run_state import DataFile, RunState, TableSettings, following
from kafka_segments.ingest.runs.table_files import TableFiles, is_outside, whole_path
from kafka_segments.ingest.tables.table_base import DELETED_ROWS, Table

__all__ = ["RewriteResult", "RewriteTask", "check_untouched", "compact"]

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """Result of a `RewriteTask`.

    Attributes:
        old: the files.
        new: the one in their place: the same if no row goes, None if all do.
        num_found: rows of the old ones.
    """

    old: tuple[DataFile, ...]
    new: DataFile | None
    num_found: int


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """Files to write again as one.

    Attributes:
        destination: of the table.
        table_files: where it is.
        root: where the new file's path begins.
        files: in order, of one directory.
        settings: of the table.
        end: offset after the last one that is kept; None keeps all.
        bloom_filter: see `ParquetFile`.
    """

    destination: str
    table_files: TableFiles
    root: str
    files: tuple[DataFile, ...]
    settings: TableSettings
    end: int | None = None
    bloom_filter: bool = False

    @property
    def num_bytes(self) -> int:
        """Size of the files."""
        return sum(file.num_bytes for file in self.files)

    def run(self) -> RewriteResult:
        """Write the file; what is cut is sorted by offset also where others have written another order.

        Raises:
            ReadError: a file cannot be read.
            OutputError: the new one cannot be written.
        """
        columns, own, kept = FileColumns.of(self.settings), self.files[0], None
        num_found = expected = sum(file.num_rows for file in self.files)
        first, last = own.first_offset or 0, max(file.last_offset or 0 for file in self.files)
        if self.end is not None:
            parts = (columns.offsets_in(self.table_files, self._path(file)) for file in self.files)
            found = np.concatenate([np.empty(0, np.int64), *chain.from_iterable(parts)])
            kept = found[found < self.end]
            num_found, expected = len(found), len(kept)
            if expected in (0, num_found):
                return RewriteResult(self.files, own if expected else None, num_found)
            first, last = int(kept.min()), int(kept.max())
        path = f"{os.path.dirname(own.path)}/{first:020}-{uuid.uuid4().hex}.parquet"
        target = f"{self.root}/{path}"
        with columns.new_file(target, self.table_files, bloom_filter=self.bloom_filter) as output:
            for batch in self._rows(columns, kept):
                output.write(batch)
        if output.num_rows != expected:
            words = f"{output.num_rows} rows were read from files that have {expected}"
            raise OutputError(words, path=own.path)
        new = DataFile(path, own.topic, own.partition, expected, output.size, first, last)
        return RewriteResult(self.files, new, num_found)

    def _path(self, file: DataFile) -> str:
        return whole_path(self.destination, file.path)

    def _rows(self, columns: FileColumns, kept: npt.NDArray[np.int64] | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows that stay; they are held in memory if they are cut and not sorted."""
        parts = (_read_rows(self.table_files, self._path(file), columns) for file in self.files)
        batches: Iterator[pa.RecordBatch] = chain.from_iterable(parts)
        if kept is not None:
            batches = (batch.filter(pa.array(columns.offsets_of(batch) < self.end)) for batch in batches)
            if (np.diff(kept) < 0).any():
                rows = pa.Table.from_batches(batches, columns.schema)
                batches = iter(rows.take(np.argsort(kept, kind="stable")).to_batches())
        yield from (batch for batch in batches if batch.num_rows)


def _read_rows(files: TableFiles, path: str, columns: FileColumns) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a data file; columns that were added to the table later are null.

    Args:
        files: of the table.
        path: of the file.
        columns: of the table's files.

    Raises:
        OptionError: it has columns that others have added.
        ReadError: it cannot be read.
    """
    with opened(files, path) as file:
        unknown = columns.unknown_in(file.schema_arrow, path)
        if unknown:
            raise OptionError(
                f"it has columns that runs do not write ({', '.join(unknown)}), which a new file would "
                "lack: let the engine that has written it remove rows, or rewind to an offset before all "
                "of its rows, which removes the file as a whole",
                path=path,
            )
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            yield columns.of_older(batch)


def check_untouched(table: Table, history: History, paths: Iterable[str]) -> None:
    """Check that no rows were deleted in files that will be rewritten.

    Args:
        table: the table.
        history: its runs.
        paths: of files of the table.

    Raises:
        OptionError: there were.
        ReadError: the table cannot be read.
    """
    for path, reason in table.obstacles(history, paths).items():
        if reason == DELETED_ROWS:
            raise OptionError(
                "another engine has deleted rows in it, which a new file would have again: let that engine "
                "rewrite the file without them (Spark: REORG TABLE ... APPLY (PURGE) for Delta, "
                "rewrite_data_files for Iceberg), and try again",
                path=whole_path(table.destination, path),
            )


def compact(
    table: Table,
    engine: Engine,
    *,
    target_bytes: int,
    bloom_filter: bool = False,
    show: Progress | None = None,
    say: Callable[[str], None] = lambda _words: None,
) -> tuple[int, RunState | None]:
    """Merge the small files of a table.

    Args:
        table: the table.
        engine: runs the tasks.
        target_bytes: size of the new files, about; larger ones are left alone.
        bloom_filter: see `ParquetFile`.
        show: see `ingest`.
        say: is called with how many files are left alone, and why.

    Returns:
        How many files were merged, and the run; None if there was nothing to merge.

    Raises:
        OptionError: there is no table.
        ReadError: the table cannot be read.
        ConflictError: another run was committed meanwhile.
        OutputError: something could not be written; the table is as it was.
    """
    history = read_history(table.log, table.destination)
    before = history.newest
    table.publish(before)
    if target_bytes <= 0:
        raise OptionError(f"target_bytes is {target_bytes}; it must be above 0")
    files = {path: one for path, one in table.data_files(history).items() if one.topic is not None}
    small = {path: one for path, one in files.items() if one.num_bytes <= target_bytes}
    left = _left_alone(table, history, small)
    for reason, number in sorted(Counter(left.values()).items()):
        say(f"{number} files that others have written are left alone: {reason}")
    groups = list(_groups(files.values(), left, target_bytes))
    if not groups:
        return 0, None
    removed = tuple(file.path for group in groups for file in group)
    with committing(table, before.number) as new:
        place = table.destination, table.log.files, new.root
        tasks = [RewriteTask(*place, one, before.settings, bloom_filter=bloom_filter) for one in groups]
        made = tuple(one.new for one in engine.run(tasks, show) if one.new is not None)
        new.run = following(
            before, new.run_id, before.settings, partitions=before.partitions, files=made, removed=removed
        )
    return len(removed), new.run


def _left_alone(table: Table, history: History, files: Mapping[str, DataFile]) -> dict[str, str]:
    """The files that cannot be merged, with the reason."""
    left = {path: f"they are not below {table.destination}" for path in files if is_outside(path)}
    for path, one in files.items():
        if path not in left and (one.first_offset is None or one.last_offset is None):
            left[path] = "the table lacks the bounds of their offsets"
    return left | table.obstacles(history, files.keys() - left.keys())


def _groups(
    files: Iterable[DataFile], left: Container[str], target_bytes: int
) -> Iterator[tuple[DataFile, ...]]:
    """Yield files to merge: two or more neighbours of a directory, up to the wanted size together.

    Rows are in the order of their offsets: files whose ranges overlap are not merged.
    """

    def place(one: DataFile) -> tuple[str, int, str]:
        return one.topic or "", one.partition or 0, os.path.dirname(one.path)

    ordered = sorted(files, key=lambda one: (place(one), one.first_offset or 0))
    for _, own in groupby(ordered, key=place):
        group: list[DataFile] = []
        size, last = 0, -1
        for one in own:
            first = one.first_offset or 0
            if group and (one.path in left or size + one.num_bytes > target_bytes or first <= last):
                if len(group) > 1:
                    yield tuple(group)
                group, size = [], 0
            if one.path in left:
                continue
            group.append(one)
            size, last = size + one.num_bytes, one.last_offset or 0
        if len(group) > 1:
            yield tuple(group)
