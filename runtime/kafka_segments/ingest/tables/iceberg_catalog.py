"""Catalog of SQLite beside the data of an Iceberg table, and the files that its metadata names.

Strategy: others may have written the catalog and the metadata. Properties of the table choose no code, and
files are those in the destination; no other one exists.
"""

from __future__ import annotations

import errno
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import from_bytes as bound_of
from pyiceberg.io import PY_IO_IMPL, WAREHOUSE, FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.table import Table as LoadedTable
from pyiceberg.typedef import EMPTY_DICT, Properties
from pyiceberg.types import LongType
from sqlalchemy.engine import URL

from kafka_segments.errors import OptionError, ReadError
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles, is_below
from kafka_segments.ingest.runs.run_state import DataFile

__all__ = ["TableCatalog", "TableIO", "TopicPlaces", "log_below"]

_NAMES_OTHERS = bytes.fromhex("d9d505f920a163d7")
"""End of a journal that names another one, which SQLite would remove (its file format, section 3.1)."""


class TableIO(PyArrowFileIO):
    """Files in a table's destination, which is the warehouse; all that is opened or removed comes by here."""

    def parse_location(self, location: str, properties: Properties = EMPTY_DICT) -> tuple[str, str, str]:  # type: ignore[override]
        scheme, authority, path = PyArrowFileIO.parse_location(location, properties)
        top = self.properties[WAREHOUSE].removeprefix("file://")
        if scheme != "file" or not is_below(top, path):
            raise ReadError(f"{location} is outside {top}, not a file, or behind a link", path=top)
        return scheme, authority, path


class TableCatalog(SqlCatalog):
    """The catalog.

    Args:
        name: of the catalog.
        destination: of the table.
        path: of the catalog's file.

    Raises:
        OptionError: a journal of the catalog is not its own.
        OutputError: a link is in the place of a file.
    """

    def __init__(self, name: str, destination: str, path: str) -> None:
        files = LocalTableFiles(destination)
        for ending in ("", "-journal", "-wal", "-shm"):
            files.check(f"{path}{ending}")
        journal = f"{path}-journal"
        if _content_of(files, journal).endswith(_NAMES_OTHERS):
            raise OptionError("this journal names another one, which ours never do: remove it", path=journal)
        uri = URL.create("sqlite", database=path).render_as_string()
        io = f"{TableIO.__module__}.{TableIO.__name__}"
        super().__init__(name, **{"uri": uri, WAREHOUSE: f"file://{destination}", PY_IO_IMPL: io})

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        return super()._load_file_io({**properties, **self.properties}, location)


def _content_of(files: LocalTableFiles, path: str) -> bytes:
    """The bytes of a file; none where there is none, or another process removes it at this moment."""
    try:
        return files.read(path)
    except ReadError as error:
        if error.errno == errno.ENOENT:
            return b""
        raise


def log_below(table: LoadedTable) -> list[Any]:
    """Old metadata that a commit may remove: files at the table's location, and no others that are named."""
    top = f"{table.location()}/"
    names = ((one, one.metadata_file) for one in table.metadata.metadata_log)
    return [one for one, name in names if name.startswith(top) and ".." not in name.split("/")]


class TopicPlaces:
    """Where the metadata of a table's files have topic, partition and offsets.

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
