"""Delta table, by the package `deltalake`.

Strategy: the run's file decides which run wins, as for a directory of Parquet files. Its data files are
brought to their places, which readers of the table do not see, and added in one transaction of the table that
also has the run's number (an application transaction). That number shows whether a run that was killed
was added. The transaction is tried at one version of the table at a time, so of two processes that add the
same run one fails, looks again, and finds it done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.stores import object_store_options, split_address
from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION
from kafka_segments.errors import MissingExtraError, ReadError
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.run_log import History
from kafka_segments.ingest.runs.run_state import DataFile, RunState
from kafka_segments.ingest.runs.table_files import TableFiles, whole_path
from kafka_segments.ingest.tables.table_base import SharedTable, rewound_rows

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction
except ImportError as error:
    message = f"Delta tables need deltalake 1.6.6 or newer ({error})"
    raise MissingExtraError(f"{message}: pip install 'kafka-segments[delta]'", extra="delta") from error

__all__ = ["DeltaLakeTable"]

pc: Any = pyarrow.compute  # see `file_columns`

_APPLICATION = "kafka-segments ingest"
_DIVISIONS = {
    None: (),
    "date": (pa.field("date", pa.date32()),),
    "hour": (pa.field("date", pa.date32()), pa.field("hour", pa.int32())),
}
_NULL = "__HIVE_DEFAULT_PARTITION__"


class DeltaLakeTable(SharedTable):
    """A Delta table; see `Table`."""

    kind = "delta"
    _title = "Delta"
    _overtaken = (CommitFailedError,)

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(destination, settings)
        self._address, self._options = _for_library(destination, settings or {})

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        with self._failures(ReadError):
            table = self._table()
            rows = [] if table is None else pa.table(table.get_add_actions(flatten=True)).to_pylist()
            offset = FileColumns.of(history.newest.settings).offset
            return {row["path"]: _file_of(row, offset) for row in rows}

    def _with_deletions(self, paths: Iterable[str]) -> list[str]:
        table = self._table()
        names = set() if table is None else _with_deletions(table)
        return [path for path in paths if path.rpartition("/")[2] in names]

    def _has(self, run: RunState) -> bool:
        table = self._table()
        return table is not None and _has_run(table, run)

    def _add(self, run: RunState) -> None:
        table = self._table() or self._created(run)
        if _has_run(table, run):
            return
        self._add_columns(table, run)
        removed = _removable(table, run.removed)
        actions: list[Any] = []
        if len(removed) == len(set(run.removed)):
            actions = [self._add_action(run, file) for file in run.files if file.topic is not None]
            actions += [_remove_action(row, run) for row in removed]
        elif run.rewound:
            name, *inner = FileColumns.of(run.settings).offset.split(".")
            rows = rewound_rows(run, name + "".join(f"['{one}']" for one in inner))
            for path in pa.table(table.get_add_actions())["path"].to_pylist():
                self.log.files.check(whole_path(self.destination, path))
            table.delete(rows, commit_properties=_properties(run))
            if _has_run(table, run):
                return  # else there was no such row, and no transaction
        # Else others have rewritten files that were to be merged: the table has their rows already.
        table.create_write_transaction(
            actions,
            "append",
            table.schema(),
            partition_by=list(table.metadata().partition_columns),
            commit_properties=_properties(run),
        )

    def _created(self, run: RunState) -> DeltaTable:
        names = [*OF_PARTITION.names, *(one.name for one in _DIVISIONS[run.settings.divided_by])]
        schema, options = pa.schema(_fields_of(run)), self._options
        DeltaTable.create(self._address, schema, "ignore", partition_by=names, storage_options=options)
        return DeltaTable(self._address, storage_options=options)

    def _table(self) -> DeltaTable | None:
        log = f"{self.destination}/_delta_log"
        for name in self.log.files.names(log):
            self.log.files.check(f"{log}/{name}")
        try:
            return DeltaTable(self._address, storage_options=self._options)
        except TableNotFoundError:
            return None

    def _add_columns(self, table: DeltaTable, run: RunState) -> None:
        known = {field.name for field in table.schema().fields}
        new = [one.with_nullable(True) for one in _fields_of(run) if one.name not in known]
        if new:
            table.alter.add_columns(Schema.from_arrow(pa.schema(new)).fields)
            table.update_incremental()

    def _add_action(self, run: RunState, file: DataFile) -> AddAction:
        path = f"{self.destination}/{file.path}"
        values = _partition_values(file, run.settings.divided_by)
        stats = _stats(self.log.files, path, file, FileColumns.of(run.settings))
        return AddAction(file.path, file.num_bytes, values, run.written_ms, _changes_rows(run), stats)


def _has_run(table: DeltaTable, run: RunState) -> bool:
    """Whether a run was added: its number is the application transaction's, or a lower one."""
    known = table.transaction_version(_APPLICATION)
    return known is not None and known >= run.number


def _properties(run: RunState) -> CommitProperties:
    """Transaction of a run, tried once: at the version of the table that was looked at."""
    return CommitProperties(
        {"kafkaSegmentsRun": str(run.number)},
        max_commit_retries=0,
        app_transactions=[Transaction(_APPLICATION, run.number)],
    )


def _removable(table: DeltaTable, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Actions of those of some files that the table has, with all of their rows."""
    if not paths:
        return []
    actions = pa.table(table.get_add_actions(flatten=False))
    found = actions.filter(pc.is_in(actions["path"], pa.array(paths, pa.string()))).to_pylist()
    names = _with_deletions(table)
    return [row for row in found if row["path"].rpartition("/")[2] not in names]


def _with_deletions(table: DeltaTable) -> set[str]:
    """Names of the files of which deletion vectors hide rows.

    Raises:
        ReadError: the installed `deltalake` does not know them.
    """
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return set()
    if not hasattr(table, "deletion_vectors"):
        raise ReadError(
            "the table may have deletion vectors, which this version of deltalake does not support: install "
            "a newer one",
            path=table.table_uri,
        )
    found = pa.table(table.deletion_vectors()).column("filepath").to_pylist()
    return {unquote(uri).rpartition("/")[2] for uri in found}


def _remove_action(row: Mapping[str, Any], run: RunState) -> RemoveAction:
    values = {name: None if one is None else str(one) for name, one in row["partition"].items()}
    now = time.time_ns() // 1_000_000
    return RemoveAction(row["path"], _changes_rows(run), now, row["size_bytes"], values)


def _changes_rows(run: RunState) -> bool:
    """Whether the table has other rows afterwards: not after `compact`."""
    return not run.removed or bool(run.rewound)


def _fields_of(run: RunState) -> list[pa.Field]:
    divisions = _DIVISIONS[run.settings.divided_by]
    return [*OF_PARTITION, *divisions, *FileColumns.of(run.settings).schema]


def _partition_values(file: DataFile, divided_by: str | None) -> dict[str, str | None]:
    values: dict[str, str | None] = {"topic": file.topic, "partition": str(file.partition)}
    if divided_by is not None:
        names = {one.name for one in _DIVISIONS[divided_by]}
        pairs = (part.partition("=") for part in file.path.split("/")[:-1])
        values |= {name: None if value == _NULL else value for name, _, value in pairs if name in names}
    return values


def _for_library(destination: str, settings: Mapping[str, str]) -> tuple[str, dict[str, str] | None]:
    """The table's address as `deltalake` writes it, and its options for stores."""
    if not is_address(destination):
        return destination, None
    scheme, authority, key = split_address(destination)
    scheme = "s3" if scheme in ("s3a", "s3n") else scheme
    return f"{scheme}://{authority}/{key}", object_store_options(scheme, authority, settings)


def _stats(files: TableFiles, path: str, file: DataFile, columns: FileColumns) -> str:
    times = None if columns.timestamp is None else _times_in(files, path, columns.timestamp)
    texts = (None, None) if times is None else tuple(map(_text_of, times))
    bounds: list[dict[str, Any]] = [{}, {}]
    for own, offset, text in zip(bounds, (file.first_offset, file.last_offset), texts, strict=True):
        _put(own, columns.offset, offset)
        if text is not None and columns.timestamp is not None:
            _put(own, columns.timestamp, text)
    nulls: dict[str, Any] = {}
    _put(nulls, columns.offset, 0)
    stats = {"minValues": bounds[0], "maxValues": bounds[1], "nullCount": nulls}
    return json.dumps({"numRecords": file.num_rows, **stats})


def _put(values: dict[str, Any], path: str, value: Any) -> None:
    """Set the value of a column, which may lie in a struct."""
    *above, name = path.split(".")
    for one in above:
        values = values.setdefault(one, {})
    values[name] = value


def _times_in(files: TableFiles, path: str, column: str) -> tuple[datetime, datetime] | None:
    """The least and the greatest timestamp of a file; None without any, or if they are not known."""
    found = pq.read_metadata(files.reader(path))
    lows, highs = [], []
    for group in range(found.num_row_groups):
        columns = (found.row_group(group).column(at) for at in range(found.num_columns))
        stats = next((one.statistics for one in columns if one.path_in_schema == column), None)
        if stats is None or not stats.has_min_max:
            return None
        try:
            lows.append(stats.min)
            highs.append(stats.max)
        except (OverflowError, ValueError):  # beyond the years of datetime
            return None
    return (min(lows), max(highs)) if lows else None


def _text_of(time_: datetime) -> str:
    return time_.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _file_of(row: dict[str, Any], offset: str) -> DataFile:
    return DataFile(
        row["path"],
        row["partition.topic"],
        int(row["partition.partition"]),
        row["num_records"],
        row["size_bytes"],
        row.get(f"min.{offset}"),
        row.get(f"max.{offset}"),
    )
