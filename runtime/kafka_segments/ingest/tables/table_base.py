"""Common parts of all kinds of tables, and the simplest kind: a directory of Parquet files.

Strategy: tasks write below `_kafka_segments/staging`, which readers skip. When the run is committed, its
files are renamed to their places (in a store: copied by it), in an order and under names that the run's
file has: a run that is killed in between is finished by the next one. A reader of the bare directory may see
a part of the newest run meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION
from kafka_segments.errors import KafkaFormatError, OptionError, OutputError, ReadError
from kafka_segments.ingest.files.file_columns import FileColumns, opened
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.run_log import History, RunLog
from kafka_segments.ingest.runs.run_state import DataFile, RunState, TableSettings
from kafka_segments.ingest.runs.table_files import whole_path

__all__ = ["DELETED_ROWS", "ParquetTable", "SharedTable", "Table", "rewound_rows"]

DELETED_ROWS = "another engine has deleted rows in them"
"""An obstacle, see `Table`: a new file would have these rows again."""

_MAX_TRIES = 100
_SECONDS_BETWEEN = 0.05
_NO_ROWS = "no-rows.parquet"
_DONE: dict[type[KafkaFormatError], str] = {OptionError: "used", OutputError: "written", ReadError: "read"}


class Table:
    """A table; each kind is a subclass.

    Args:
        destination: a path or an address.
        settings: of stores, see `Places`.

    Attributes:
        kind: one of `KINDS`.
        destination: its directory, or its address.
        log: its runs.
    """

    kind = ""

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        self.destination = destination
        self.log = RunLog(destination, settings)

    def check(self, settings: TableSettings) -> None:
        """Check, before anything is written, that runs with these settings can be published.

        Raises:
            OptionError: they cannot.
        """

    def completed(self, run: RunState, *, is_empty: bool) -> RunState:  # noqa: ARG002
        """Return a run as it is to be committed.

        Args:
            run: with the placeholder of the one before.
            is_empty: whether the table has no file but those that the run adds.

        Raises:
            OutputError: a file cannot be written.
        """
        return run

    def publish(self, run: RunState) -> None:
        """Make the data of a committed run visible, as far as they are not.

        Raises:
            OutputError: they cannot be written.
        """
        raise NotImplementedError

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files that readers of the table see, by path; none where there is no table yet.

        Raises:
            ReadError: the table cannot be read.
        """
        raise NotImplementedError

    def is_published(self, run: RunState) -> bool:
        """Whether readers of the table see a committed run; errors as for `data_files`."""
        raise NotImplementedError

    def obstacles(self, history: History, paths: Iterable[str]) -> dict[str, str]:
        """Return why files cannot be rewritten, by path: something of others' would be undone.

        By their directories, columns and order; errors as for `data_files`.
        """
        settings, found = history.newest.settings, {}
        for path in paths:
            if path in history.files:
                continue
            if settings.divided_by is not None and path.count("=") < len(("topic", "partition", "time")):
                found[path] = f"their directories have no {settings.divided_by}"
                continue
            place = whole_path(self.destination, path)
            with opened(self.log.files, place) as file:
                reason = _reason(file, path, FileColumns.of(settings))
            if reason is not None:
                found[path] = reason
        return found

    def _bring(self, run: RunState) -> None:
        """Bring the files of a committed run to their places."""
        self.log.files.publish(self.log.staging_of(run.run_id), self.destination, run.paths())


class ParquetTable(Table):
    """A directory of Parquet files; see `Table`."""

    kind = "parquet"

    def completed(self, run: RunState, *, is_empty: bool) -> RunState:
        """Add a file without rows, which keeps the columns for readers, to a table without any other.

        It is removed by the first run that adds others.
        """
        known = run.placeholder
        if run.files:
            return run if known is None else replace(run, removed=(*run.removed, known), placeholder=None)
        if known is not None or not is_empty:
            return run
        schema = pa.schema([*OF_PARTITION, *FileColumns.of(run.settings).schema])
        path = f"{self.log.staging_of(run.run_id)}/{_NO_ROWS}"
        with ParquetFile(path, schema, files=self.log.files) as file:
            file.open()
        return replace(run, files=(DataFile(_NO_ROWS, None, None, 0, file.size),), placeholder=_NO_ROWS)

    def publish(self, run: RunState) -> None:
        """Bring the files of a committed run to their places, and remove those that it removes."""
        self._bring(run)
        self.log.files.remove(self.destination, run.removed)

    def is_published(self, run: RunState) -> bool:
        """Whether all files of a run are at their places, and those that it removes are not."""
        root, has = self.log.staging_of(run.run_id), self.log.files.has
        waiting = any(has(f"{root}/{path}") for path in run.paths())
        return not waiting and not any(has(whole_path(self.destination, path)) for path in run.removed)

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        return history.files


class SharedTable(Table):
    """A table that other programs write, too: by a library, which adds the files of a run at once."""

    _title = ""
    """Kind of the table, for people."""
    _overtaken: tuple[type[Exception], ...] = ()
    """What is raised where another process commits at the same time."""

    @property
    def _name(self) -> str:
        """Where it is, for people."""
        return self.destination

    def publish(self, run: RunState) -> None:
        """Add the files of a committed run to the table, and remove those that it removes."""
        with self._failures(OutputError):
            for number in range(1, _MAX_TRIES + 1):
                try:
                    if not self._has(run):  # else its files may be gone by now, lawfully
                        self._bring(run)
                        self._add(run)
                    return
                except self._overtaken:
                    if number == _MAX_TRIES:
                        raise
                    time.sleep(_SECONDS_BETWEEN)

    def is_published(self, run: RunState) -> bool:
        """Whether the table has the mark of a run."""
        with self._failures(ReadError):
            return self._has(run)

    def obstacles(self, history: History, paths: Iterable[str]) -> dict[str, str]:
        """Return why files cannot be rewritten, by path: see `Table`, and rows that others have deleted."""
        paths = list(paths)
        found = super().obstacles(history, paths)
        with self._failures(ReadError):
            return found | dict.fromkeys(self._with_deletions(paths), DELETED_ROWS)

    @contextmanager
    def _failures(self, kind: type[KafkaFormatError]) -> Iterator[None]:
        """Raise what the table's library raises as our error: its exceptions have no common base."""
        try:
            yield
        except KafkaFormatError:
            raise
        except Exception as error:
            words = str(error).strip() or type(error).__name__
            detail = f"the {self._title} table cannot be {_DONE[kind]}: {words}"
            raise kind(detail, path=self._name) from error

    def _with_deletions(self, paths: Iterable[str]) -> list[str]:
        """Return those of some files in which another engine has deleted rows."""
        raise NotImplementedError

    def _has(self, run: RunState) -> bool:
        raise NotImplementedError

    def _add(self, run: RunState) -> None:
        raise NotImplementedError


def _reason(file: pq.ParquetFile, path: str, columns: FileColumns) -> str | None:
    """Why a file that others have written cannot be rewritten; None if it can."""
    unknown = columns.unknown_in(file.schema_arrow, path)
    if unknown:
        return f"they have columns that runs do not write: {', '.join(unknown)}"
    last = -1
    for batch in file.iter_batches(columns=[columns.offset]):
        offsets = np.append(last, columns.offsets_of(batch))
        if (np.diff(offsets) <= 0).any():
            return "their rows are not in the order of the offsets"
        last = offsets[-1]
    return None


def rewound_rows(
    run: RunState, offset: str, partition: str = "partition", topic: str | None = "topic"
) -> str:
    """Return the condition, in SQL, of the rows that a run removes where others have rewritten them.

    Args:
        run: one that sets partitions back.
        offset: column with the offsets.
        partition: column with the partitions' numbers.
        topic: column with the topics; None for a table of one topic.
    """
    words = []
    for one in run.rewound:
        names = "" if topic is None else f"{topic} = '{one.topic}' AND "
        words.append(f"({names}{partition} = {one.partition} AND {offset} >= {one.offset or 0})")
    return " OR ".join(words)
