"""Iceberg table, by the package `pyiceberg`, in a catalog of SQLite beside the data or in any that it knows.

Strategy: the run's file decides which run wins, as for a directory of Parquet files. Its data files are
renamed to their places and added in one transaction, which sets a property of the table to the run's number:
snapshots may expire, properties stay. The transaction names the snapshot that it follows, and is not tried
again by itself: of two processes that add the same run one fails, looks again, and finds it done. Files have
no field ids: the table's name mapping gives them.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.errors import MissingExtraError, OptionError, OutputError, ReadError
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles
from kafka_segments.ingest.runs.run_log import STATE_DIRECTORY, History
from kafka_segments.ingest.runs.run_state import CatalogTable, DataFile, RunState, TableSettings
from kafka_segments.ingest.tables.table_base import SharedTable, rewound_rows

try:
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.exceptions import (
        CommitFailedException,
        NamespaceAlreadyExistsError,
        NoSuchTableError,
        TableAlreadyExistsError,
    )
    from pyiceberg.io import FileIO
    from pyiceberg.io.pyarrow import PyArrowFileIO, parquet_file_to_data_file, pyarrow_to_schema
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.schema import index_by_id
    from pyiceberg.table import FileScanTask, TableProperties, Transaction
    from pyiceberg.table import Table as LoadedTable
    from pyiceberg.table.metadata import TableMetadata
    from sqlalchemy.exc import IntegrityError, OperationalError

    from kafka_segments.ingest.tables.iceberg_catalog import TableCatalog, TopicPlaces, log_below
except ImportError as error:
    message = f"Iceberg tables need pyiceberg 0.12 or newer ({error})"
    raise MissingExtraError(f"{message}: pip install 'kafka-segments[iceberg]'", extra="iceberg") from error

__all__ = ["IcebergTable"]

_EMBEDDED = CatalogTable("kafka_segments", "kafka.records")
_CATALOG_FILE = "catalog.db"
_RUN = "kafka-segments.run"
_NO_RETRIES = {TableProperties.COMMIT_NUM_RETRIES: "0"}
_NEW_TABLE = {
    "format-version": "2",
    # Each commit rewrites the metadata: old ones go when there are more than 100, the default.
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
_DAYS = ("day", "month", "year")
_TRANSFORMS = {None: (), "date": _DAYS, "hour": ("hour", *_DAYS)}
"""Of timestamps, which have one value in each file, by what files are divided by."""


class IcebergTable(SharedTable):
    """An Iceberg table; see `Table`.

    Args:
        destination: of the data files, and of the whole table with the embedded catalog.
        place: the table in a catalog of pyiceberg's configuration; None is the embedded one.
    """

    kind = "iceberg"
    _title = "Iceberg"
    _overtaken = _OVERTAKEN

    def __init__(self, destination: str, place: CatalogTable | None = None) -> None:
        super().__init__(destination)
        self._is_embedded = place is None
        self._place = _EMBEDDED if place is None else place
        self._location = f"file://{destination}"

    def check(self, settings: TableSettings) -> None:
        """Check that files of these settings can be added to the table.

        Raises:
            OptionError: they cannot, or the catalog cannot be opened.
        """
        if is_address(self.destination):
            raise OptionError(
                "an Iceberg table must be in a directory on this machine; give a path, or write a table of "
                "another kind",
                path=self.destination,
            )
        if set("#?") & set(self.destination):
            raise OptionError(
                "pyiceberg takes # and ? in a path for parts of an address; choose another destination",
                path=self.destination,
            )
        _partition_times(settings)
        if self._is_new:
            return
        with self._failures(OptionError):
            catalog = self._catalog()
            table = self._loaded(catalog)
            if table is not None:
                _check_fields(table, settings)
                transaction = table.transaction()
                if self.log.numbers():
                    _add_columns(transaction, FileColumns.of(settings).schema)
                _check_file(transaction.table_metadata, FileColumns.of(settings).schema)
            elif not self._is_embedded and not catalog.namespace_exists(self._namespace):
                raise OptionError(
                    f"the catalog has no namespace {self._namespace}: create it, or give another "
                    "--identifier",
                    path=self._name,
                )

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path; where it is not divided by topic, those of runs."""
        found: dict[str, DataFile] = {}
        with self._failures(ReadError):
            table = self._existing()
            if table is None:
                return found
            if not self._is_embedded and isinstance(self.log.files, LocalTableFiles):
                self.log.files.readable = re.sub("^file:/+", "/", table.location())  # others write there
            places = TopicPlaces(table, FileColumns.of(history.newest.settings).offset)
            for path, task in self._tasks(table).items():
                known = history.files.get(path)
                one = places.file_of(task.file, path) if known is None else known
                if one is not None:
                    found[path] = one
        return found

    def _with_deletions(self, paths: Iterable[str]) -> list[str]:
        table = self._existing()
        tasks = {} if table is None else self._tasks(table)
        return [path for path in paths if path in tasks and tasks[path].delete_files]

    @property
    def _name(self) -> str:
        if self._is_embedded:
            return self.destination
        return f"{self._place.identifier} in the catalog {self._place.catalog}"

    @property
    def _namespace(self) -> str:
        return self._place.identifier.rpartition(".")[0]

    @property
    def _catalog_file(self) -> str:
        return os.path.join(self.destination, STATE_DIRECTORY, _CATALOG_FILE)

    @property
    def _is_new(self) -> bool:
        return self._is_embedded and not os.path.exists(self._catalog_file)

    def _catalog(self) -> Catalog:
        if not self._is_embedded:
            return load_catalog(self._place.catalog)
        return TableCatalog(self._place.catalog, self.destination, self._catalog_file)

    def _existing(self) -> LoadedTable | None:
        """The table; None without one, for which no catalog is made."""
        return None if self._is_new else self._loaded(self._catalog())

    def _loaded(self, catalog: Catalog) -> LoadedTable | None:
        try:
            table = catalog.load_table(self._place.identifier)
        except NoSuchTableError:
            return None
        except (FileNotFoundError, ReadError) as error:
            raise self._moved(str(error)) from error
        if self._is_embedded and table.location() != self._location:
            raise self._moved(table.location())
        if self._is_embedded and TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL in table.properties:
            name = TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL
            raise OptionError(f"the table's property {name} names code, which is never run", path=self._name)
        return table

    def _moved(self, where: str) -> OptionError:
        return OptionError(
            f"the Iceberg table was moved: its metadata name {where}. An Iceberg table has absolute paths; "
            "move it back, or write another one",
            path=self.destination,
        )

    def _tasks(self, table: LoadedTable) -> dict[str, FileScanTask]:
        """The files of the table with what is deleted of them, by path."""
        return {self._path_below(one.file.file_path): one for one in table.scan().plan_files()}

    def _path_below(self, location: str) -> str:
        """The path of a file below the destination; if it is elsewhere, as it is."""
        path = re.sub("^file:/+", "/", location)
        below = os.path.relpath(path, self.destination) if os.path.isabs(path) else path
        return path if below.startswith("..") else below

    def _property(self, run: RunState) -> str:
        """Name of the property with the number of the newest run: each destination of a table has its own."""
        oldest = self.log.oldest() or run
        return f"{_RUN}.{oldest.run_id.rpartition('-')[2]}"

    def _has(self, run: RunState) -> bool:
        table = self._existing()
        return table is not None and int(table.properties.get(self._property(run), "0")) >= run.number

    def _add(self, run: RunState) -> None:
        table, name = self._opened(run.settings), self._property(run)
        if int(table.properties.get(name, "0")) >= run.number:
            return
        # In this process alone: a second try of pyiceberg's own would not look whether the run was added.
        own = {"properties": table.properties | _NO_RETRIES, "metadata_log": log_below(table)}
        table.metadata = table.metadata.model_copy(update=own)
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
        whole = self._tasks(table) if run.removed else {}
        removed = [whole[path].file for path in run.removed if path in whole and not whole[path].delete_files]
        if len(removed) < len(run.removed):
            if run.rewound:
                self._delete_rewound(transaction, run, summary)
            return  # others have rewritten files that were to be merged: the table has their rows already
        update = transaction.update_snapshot(summary)
        producer = update.overwrite() if removed else update.merge_append()
        metadata, timestamp = transaction.table_metadata, FileColumns.of(run.settings).timestamp
        with producer as snapshot:
            for old in removed:
                snapshot.delete_data_file(old)
            for file in files:
                path = f"{self._location}/{file.path}"
                snapshot.append_data_file(_described(table.io, metadata, path, timestamp))

    def _delete_rewound(self, transaction: Transaction, run: RunState, summary: dict[str, str]) -> None:
        """Delete the rows that a run removes, as others have written files with such rows since.

        Raises:
            OutputError: other destinations may have rows of these offsets in the table, too.
        """
        columns = FileColumns.of(run.settings)
        partition = ".".join([*columns.offset.split(".")[:-1], "partition"])
        topic = "topic" if "topic" in columns.schema.names else None
        rows = rewound_rows(run, columns.offset, partition, topic)
        if not self._is_embedded:
            (name,) = summary
            raise OutputError(
                f"run {run.number}, a rewind, was committed, but others have rewritten files that it "
                f"removes. Delete the rows of this destination where {rows}, set the table's property "
                f"{name} to {run.number}, and run this again",
                path=self._name,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are no such rows
            transaction.delete(rows, summary)

    def _opened(self, settings: TableSettings) -> LoadedTable:
        catalog = self._catalog()
        table = self._loaded(catalog)
        return self._created(catalog, settings) if table is None else table

    def _created(self, catalog: Catalog, settings: TableSettings) -> LoadedTable:
        columns, times = FileColumns.of(settings), _partition_times(settings)
        location = self._location if self._is_embedded else None
        if self._is_embedded:
            catalog.create_namespace_if_not_exists(self._namespace)
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
                f"the table is partitioned by {transform}({path}), but files would have several values of "
                f"it: {words}"
            )


def _add_columns(transaction: Transaction, schema: pa.Schema) -> None:
    known = {field.name for field in transaction.table_metadata.schema().fields}
    new = [one.with_nullable(True) for one in schema if one.name not in known]
    if new:
        with transaction.update_schema() as update:
            update.union_by_name(pa.schema(new))


def _check_file(metadata: TableMetadata, schema: pa.Schema) -> None:
    """Hold a file without rows against the table, as pyiceberg will the real ones; but with equal types."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "no-rows.parquet")
        pq.ParquetWriter(path, schema).close()
        parquet_file_to_data_file(PyArrowFileIO(), metadata, path)
    known = metadata.schema()
    for number, field in index_by_id(pyarrow_to_schema(schema, known.name_mapping)).items():
        wanted, given = known.find_type(number), field.field_type
        if given.is_primitive and wanted != given:  # pyiceberg would take bytes for text, and then fail
            name = known.find_column_name(number)
            raise OptionError(f"its column {name} is of type {wanted}, but this run writes {given}")


def _described(io: FileIO, metadata: TableMetadata, location: str, timestamp: str | None) -> IcebergFile:
    """What metadata say of a file; without bounds of timestamps that Python's datetime cannot have."""
    try:
        return parquet_file_to_data_file(io, metadata, location)
    except OverflowError:
        counts = {f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}.{timestamp}": "counts"}
        without = metadata.model_copy(update={"properties": metadata.properties | counts})
        return parquet_file_to_data_file(io, without, location)
