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
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.errors import MissingExtraError, OutputError
from kafka_segments.formats.file_names import is_address
from kafka_segments.ingest.file_columns import FileColumns
from kafka_segments.ingest.history import History
from kafka_segments.ingest.run_log import RunLog
from kafka_segments.ingest.run_state import DataFile, RunState, TableSettings
from kafka_segments.ingest.staging import staging_of
from kafka_segments.ingest.table_files import TableFiles
from kafka_segments.io.object_store import object_store_options, split_address
from kafka_segments.segment.columnar.arrow_schema import OF_PARTITION

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction
except ImportError as error:
    raise MissingExtraError(
        "Delta tables need deltalake: pip install 'kafka-segments[delta]'", extra="delta"
    ) from error

__all__ = ["DeltaLakeTable"]

_APPLICATION = "kafka-segments ingest"
_MAX_TRIES = 100
_SECONDS_BETWEEN = 0.05
_DIVISIONS = {
    None: (),
    "date": (pa.field("date", pa.date32()),),
    "hour": (pa.field("date", pa.date32()), pa.field("hour", pa.int32())),
}
_NULL = "__HIVE_DEFAULT_PARTITION__"


class DeltaLakeTable:
    """A Delta table; see `Table`."""

    kind = "delta"
    has_typed_partitions = True

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        self.destination = destination
        self.log = RunLog(destination, settings)
        self._address, self._options = _for_library(destination, settings or {})

    def root_of(self, run_id: str) -> str:
        """Return the directory in which the tasks of a run write."""
        return staging_of(self.destination, run_id)

    def check(self, settings: TableSettings) -> None:
        """Nothing that could be wrong."""

    def publish(self, run: RunState) -> None:
        """Add the files of a committed run to the table, and remove those that it removes."""
        paths = [file.path for file in run.files] + [file.path for file in run.damaged]
        self.log.files.publish(self.root_of(run.run_id), self.destination, paths)
        try:
            self._retry(lambda: self._add(run))
        except (DeltaError, OSError) as error:
            raise OutputError(f"the Delta table cannot be written: {error}", path=self.destination) from error

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        table = self._table()
        rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        offset = FileColumns.of(history.newest.settings).offset
        return {row["path"]: _file_of(row, offset) for row in rows}

    def _retry(self, attempt: Callable[[], None]) -> None:
        """Try again when another process has written the table meanwhile."""
        for number in range(_MAX_TRIES):
            try:
                attempt()
            except CommitFailedError:
                if number == _MAX_TRIES - 1:
                    raise
                time.sleep(_SECONDS_BETWEEN)
            else:
                return

    def _add(self, run: RunState) -> None:
        table = self._opened(run)
        known = table.transaction_version(_APPLICATION)
        if known is not None and known >= run.number:
            return
        self._add_columns(table, run)
        actions: list[Any] = [self._add_action(run, file) for file in run.files if file.topic is not None]
        actions += self._remove_actions(table, run)
        table.create_write_transaction(
            actions,
            "append",
            table.schema(),
            partition_by=list(table.metadata().partition_columns),
            commit_properties=CommitProperties(
                {"kafkaSegmentsRun": str(run.number)},
                max_commit_retries=0,
                app_transactions=[Transaction(_APPLICATION, run.number)],
            ),
        )

    def _opened(self, run: RunState) -> DeltaTable:
        try:
            return self._table()
        except TableNotFoundError:
            fields = _fields_of(run)
            names = [*OF_PARTITION.names, *(one.name for one in _DIVISIONS[run.settings.divided_by])]
            DeltaTable.create(
                self._address,
                pa.schema(fields),
                "ignore",
                partition_by=names,
                storage_options=self._options,
            )
            return self._table()

    def _table(self) -> DeltaTable:
        return DeltaTable(self._address, storage_options=self._options)

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

    def _remove_actions(self, table: DeltaTable, run: RunState) -> Iterator[RemoveAction]:
        rows = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        known = {row["path"]: row for row in rows}
        for path in run.removed:
            if path in known:
                row = known[path]
                partition = {
                    name: None if one is None else str(one) for name, one in row["partition"].items()
                }
                now = time.time_ns() // 1_000_000
                yield RemoveAction(path, _changes_rows(run), now, row["size_bytes"], partition)


def _changes_rows(run: RunState) -> bool:
    """Whether the table has other rows afterwards: not after `compact`."""
    return not run.removed or bool(run.rewound)


def _fields_of(run: RunState) -> list[pa.Field]:
    divisions = _DIVISIONS[run.settings.divided_by]
    return [*OF_PARTITION, *divisions, *FileColumns.of(run.settings).schema]


def _partition_values(file: DataFile, divided_by: str | None) -> dict[str, str | None]:
    values: dict[str, str | None] = {"topic": file.topic, "partition": str(file.partition)}
    if divided_by is not None:
        pairs = (part.partition("=") for part in file.path.split("/")[2:-1])
        values |= {name: None if value == _NULL else value for name, _, value in pairs}
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
