"""Iceberg table, by the package `pyiceberg`, in a catalog of SQLite beside the data or in any that it knows.

Strategy: the run's file decides which run wins, as for a directory of Parquet files. Its data files are
renamed to their places and added in one transaction, which sets a property of the table to the run's number:
snapshots may expire, properties stay. The transaction names the snapshot that it follows, and is not tried
again by itself: of two processes that add the same run one fails, looks again, and finds it done. Files have
no field ids: the table's name mapping gives them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.errors import KafkaFormatError, MissingExtraError, OptionError, OutputError
from kafka_segments.formats.file_names import is_address
from kafka_segments.ingest.file_columns import FileColumns
from kafka_segments.ingest.history import History
from kafka_segments.ingest.run_log import STATE_DIRECTORY, RunLog
from kafka_segments.ingest.run_state import CatalogTable, DataFile, RunState, TableSettings
from kafka_segments.ingest.staging import staging_of

try:
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.conversions import from_bytes as bound_of
    from pyiceberg.exceptions import (
        CommitFailedException,
        NamespaceAlreadyExistsError,
        NoSuchTableError,
        TableAlreadyExistsError,
    )
    from pyiceberg.io import FileIO
    from pyiceberg.io.pyarrow import parquet_file_to_data_file, pyarrow_to_schema
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.schema import index_by_id
    from pyiceberg.table import Table as LoadedTable
    from pyiceberg.table import TableProperties, Transaction
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import LongType
    from sqlalchemy.engine import URL
    from sqlalchemy.exc import IntegrityError, OperationalError
except ImportError as error:
    raise MissingExtraError(
        "Iceberg tables need pyiceberg: pip install 'kafka-segments[iceberg]'", extra="iceberg"
    ) from error

__all__ = ["IcebergTable"]

_EMBEDDED = CatalogTable("kafka_segments", "kafka.records")
_CATALOG_FILE = "catalog.db"
_RUN = "kafka-segments.run"
_NO_RETRIES = {TableProperties.COMMIT_NUM_RETRIES: "0"}
_NEW_TABLE = {
    "format-version": "2",
    # Each commit writes the metadata anew: old ones go when there are more than 100, the default.
    "write.metadata.delete-after-commit.enabled": "true",
}
# Another process commits, or makes the catalog, its namespace or the table at the same time.
_OVERTAKEN = (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    IntegrityError,
    OperationalError,
)
_MAX_TRIES = 100
_SECONDS_BETWEEN = 0.05
_DAYS = ("day", "month", "year")
_TRANSFORMS = {None: (), "date": _DAYS, "hour": ("hour", *_DAYS)}
"""Of timestamps, which have one value in each file, by what files are divided by."""


class IcebergTable:
    """An Iceberg table; see `Table`.

    Args:
        destination: of the data files, and of the whole table with the embedded catalog.
        place: the table in a catalog of pyiceberg's configuration; None is the embedded one.
    """

    kind = "iceberg"
    has_typed_partitions = True

    def __init__(self, destination: str, place: CatalogTable | None = None) -> None:
        self.destination = destination
        self.log = RunLog(destination)
        self._is_embedded = place is None
        self._place = _EMBEDDED if place is None else place
        self._location = f"file://{destination}"

    def root_of(self, run_id: str) -> str:
        """Return the directory in which the tasks of a run write."""
        return staging_of(self.destination, run_id)

    def check(self, settings: TableSettings) -> None:
        """Check that files of these settings can be added to the table.

        Raises:
            OptionError: they cannot, or the catalog cannot be opened.
        """
        if is_address(self.destination):
            raise OptionError(
                "an Iceberg table's files lie in a directory of this machine; give a path, or write a table "
                "of another kind",
                path=self.destination,
            )
        if set("#?") & set(self.destination):
            raise OptionError(
                "pyiceberg takes # and ? in a path for parts of an address; choose another destination",
                path=self.destination,
            )
        _partition_times(settings)
        if self._is_embedded and not os.path.exists(self._catalog_file):
            return
        with _failures(self._name, OptionError):
            table = self._loaded(self._catalog())
            if table is not None:
                _check_fields(table, settings)
                transaction = table.transaction()
                if self.log.numbers():
                    _add_columns(transaction, FileColumns.of(settings).schema)
                _check_file(table.io, transaction.table_metadata, FileColumns.of(settings).schema)

    def publish(self, run: RunState) -> None:
        """Add the files of a committed run to the table, and remove those that it removes."""
        paths = [file.path for file in run.files] + [file.path for file in run.damaged]
        self.log.files.publish(self.root_of(run.run_id), self.destination, paths)
        with _failures(self._name, OutputError):
            self._retry(lambda: self._add(run))

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path; where it is not divided by topic, those of runs."""
        settings = history.newest.settings
        with _failures(self._name, OutputError):
            table = self._loaded(self._catalog())
            if table is None:
                return {}
            places = _TopicPlaces(table, FileColumns.of(settings).offset)
            found = {}
            for task in table.scan().plan_files():
                path = self._path_below(task.file.file_path)
                known = history.files.get(path)
                one = places.file_of(task.file, path) if known is None else known
                if one is not None:
                    found[path] = one
            return found

    @property
    def _name(self) -> str:
        if self._is_embedded:
            return self.destination
        return f"{self._place.identifier} in the catalog {self._place.catalog}"

    @property
    def _catalog_file(self) -> str:
        return os.path.join(self.destination, STATE_DIRECTORY, _CATALOG_FILE)

    def _catalog(self) -> Catalog:
        if not self._is_embedded:
            return load_catalog(self._place.catalog)
        uri = URL.create("sqlite", database=self._catalog_file).render_as_string()
        return load_catalog(self._place.catalog, type="sql", uri=uri, warehouse=self._location)

    def _loaded(self, catalog: Catalog) -> LoadedTable | None:
        try:
            table = catalog.load_table(self._place.identifier)
        except NoSuchTableError:
            return None
        except FileNotFoundError as error:
            raise self._moved(str(error)) from error
        if self._is_embedded and table.location() != self._location:
            raise self._moved(table.location())
        return table

    def _moved(self, where: str) -> OptionError:
        return OptionError(
            f"the Iceberg table was moved: its metadata name {where}. An Iceberg table has absolute paths; "
            "move it back, or write another one",
            path=self.destination,
        )

    def _path_below(self, location: str) -> str:
        """The path of a file below the destination; if it is elsewhere, as it is."""
        path = location.removeprefix("file://")
        below = os.path.relpath(path, self.destination) if os.path.isabs(path) else path
        return path if below.startswith("..") else below

    def _retry(self, attempt: Callable[[], None]) -> None:
        """Try again when another process has written the table meanwhile."""
        for number in range(_MAX_TRIES):
            try:
                attempt()
            except _OVERTAKEN:
                if number == _MAX_TRIES - 1:
                    raise
                time.sleep(_SECONDS_BETWEEN)
            else:
                return

    def _add(self, run: RunState) -> None:
        table = self._opened(run.settings)
        # Several destinations may share a table of a catalog: each has a property of its own.
        oldest = self.log.oldest() or run
        name = f"{_RUN}.{oldest.run_id.rpartition('-')[2]}"
        if int(table.properties.get(name, "0")) >= run.number:
            return
        # In this process alone: a second try of pyiceberg's own would not look whether the run was added.
        table.metadata = table.metadata.model_copy(update={"properties": table.properties | _NO_RETRIES})
        transaction = table.transaction()
        schema = FileColumns.of(run.settings).schema
        _add_columns(transaction, schema)
        mapping = {}
        if transaction.table_metadata.name_mapping() is None:
            names = transaction.table_metadata.schema().name_mapping
            mapping[TableProperties.DEFAULT_NAME_MAPPING] = names.model_dump_json()
        transaction.set_properties({name: str(run.number), **mapping})
        self._add_snapshot(transaction, table, run, {name: str(run.number)})
        transaction.commit_transaction()

    def _add_snapshot(
        self, transaction: Transaction, table: LoadedTable, run: RunState, summary: dict[str, str]
    ) -> None:
        files = [file for file in run.files if file.topic is not None]
        if not files and not run.removed:
            return
        update = transaction.update_snapshot(summary)
        removed: list[IcebergFile] = []
        if run.removed:
            found = (task.file for task in table.scan().plan_files())
            in_table = {self._path_below(one.file_path): one for one in found}
            if not run.rewound and not set(run.removed) <= in_table.keys():
                return  # others have rewritten some of them: the table has these rows already
            removed = [in_table[path] for path in run.removed if path in in_table]
        producer = update.overwrite() if removed else update.merge_append()
        metadata, timestamp = transaction.table_metadata, FileColumns.of(run.settings).timestamp
        with producer as snapshot:
            for old in removed:
                snapshot.delete_data_file(old)
            for file in files:
                path = f"{self._location}/{file.path}"
                snapshot.append_data_file(_described(table.io, metadata, path, timestamp))

    def _opened(self, settings: TableSettings) -> LoadedTable:
        catalog = self._catalog()
        table = self._loaded(catalog)
        return self._created(catalog, settings) if table is None else table

    def _created(self, catalog: Catalog, settings: TableSettings) -> LoadedTable:
        columns, times = FileColumns.of(settings), _partition_times(settings)
        location = self._location if self._is_embedded else None
        if self._is_embedded:
            catalog.create_namespace_if_not_exists(self._place.identifier.rpartition(".")[0])
        creation = catalog.create_table_transaction(
            self._place.identifier, columns.schema, location, properties=_NEW_TABLE
        )
        with creation, creation.update_spec() as spec:
            for name in ("topic", "partition"):
                if name in columns.schema.names:
                    spec.add_identity(name)
            for path, transform in times:
                spec.add_field(path, transform, f"{path.replace('.', '_')}_{transform}")
        return catalog.load_table(self._place.identifier)


@contextmanager
def _failures(name: str, kind: type[OptionError] | type[OutputError]) -> Iterator[None]:
    """Raise what pyiceberg raises as our error: its exceptions, and catalogs' own, have no common base."""
    try:
        yield
    except KafkaFormatError:
        raise
    except Exception as error:
        words = str(error).strip() or type(error).__name__
        raise kind(f"the Iceberg table cannot be {_DONE[kind]}: {words}", path=name) from error


_DONE: dict[Any, str] = {OptionError: "used", OutputError: "written"}


def _partition_times(settings: TableSettings) -> list[tuple[str, str]]:
    """The column of the timestamps with the transform that files are divided by; empty if they are not."""
    if settings.divided_by is None:
        return []
    path = FileColumns.of(settings).timestamp
    if path is None:
        raise OptionError(
            "--divide-by needs the column timestamp in an Iceberg table, which is divided by its columns"
        )
    return [(path, _TRANSFORMS[settings.divided_by][0])]


def _check_fields(table: LoadedTable, settings: TableSettings) -> None:
    """Check that each data file has one value of each field that the table is partitioned by.

    Raises:
        OptionError: it does not.
    """
    columns = FileColumns.of(settings)
    for field in table.spec().fields:
        path = str(table.schema().find_column_name(field.source_id))
        transform = str(field.transform)
        is_constant = path in ("topic", "partition", f"{columns.offset.rpartition('.')[0]}.partition")
        is_time = path == columns.timestamp and transform in _TRANSFORMS[settings.divided_by]
        if not (is_constant and transform == "identity") and not is_time:
            advice = " or ".join(name for name, known in _TRANSFORMS.items() if name and transform in known)
            words = f"give --divide-by {advice}" if path == columns.timestamp and advice else "use another"
            raise OptionError(
                f"the table is partitioned by {transform}({path}), of which files would have several values: "
                f"{words}"
            )


def _add_columns(transaction: Transaction, schema: pa.Schema) -> None:
    known = {field.name for field in transaction.table_metadata.schema().fields}
    new = [one.with_nullable(True) for one in schema if one.name not in known]
    if new:
        with transaction.update_schema() as update:
            update.union_by_name(pa.schema(new))


def _check_file(io: FileIO, metadata: TableMetadata, schema: pa.Schema) -> None:
    """Hold a file without rows against the table, as pyiceberg will the real ones; but with equal types."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "no-rows.parquet")
        pq.ParquetWriter(path, schema).close()
        parquet_file_to_data_file(io, metadata, path)
    known = metadata.schema()
    for number, field in index_by_id(pyarrow_to_schema(schema, known.name_mapping)).items():
        wanted, given = known.find_type(number), field.field_type
        if given.is_primitive and wanted != given:  # pyiceberg would take bytes for text, and then fail
            name = known.find_column_name(number)
            raise OptionError(f"its column {name} is of type {wanted}, and this run writes {given}")


def _described(io: FileIO, metadata: TableMetadata, location: str, timestamp: str | None) -> IcebergFile:
    """What metadata say of a file; without bounds of timestamps that Python's datetime cannot have."""
    try:
        return parquet_file_to_data_file(io, metadata, location)
    except OverflowError:
        counts = {f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}.{timestamp}": "counts"}
        without = metadata.model_copy(update={"properties": metadata.properties | counts})
        return parquet_file_to_data_file(io, without, location)


class _TopicPlaces:
    """Where metadata of files have topic, partition and offsets.

    Args:
        table: the table.
        offset: path of the column.
    """

    def __init__(self, table: LoadedTable, offset: str) -> None:
        self._offset = table.schema().find_field(offset).field_id
        self._places: dict[int, dict[str, int]] = {}
        for number, spec in table.specs().items():
            names = {table.schema().find_column_name(one.source_id): at for at, one in enumerate(spec.fields)}
            self._places[number] = {str(name): at for name, at in names.items()}

    def file_of(self, file: IcebergFile, path: str) -> DataFile | None:
        """Return a file that no run has written; None if it is not known of which partition it is."""
        places = self._places[file.spec_id]
        if not {"topic", "partition"} <= places.keys():
            return None
        key = file.partition[places["topic"]], file.partition[places["partition"]]
        bounds = (file.lower_bounds or {}).get(self._offset), (file.upper_bounds or {}).get(self._offset)
        offsets: list[Any] = [None if one is None else bound_of(LongType(), one) for one in bounds]
        return DataFile(path, *key, file.record_count, file.file_size_in_bytes, *offsets)
