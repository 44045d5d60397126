"""Tables that `ingest` writes to: which kinds there are, and what each has to do.

Strategy: `DEST/_kafka_segments/runs` has one file a run, created if absent: that decides which of two runs
wins (`run_log`). A run's data are then published, which can be done again by the next run if it was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_segments.errors import OptionError
from kafka_segments.ingest.runs.history import History
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import CatalogTable, DataFile, RunState, TableSettings

__all__ = ["DELETED_ROWS", "KINDS", "Table", "open_table"]

KINDS = ("parquet", "delta", "iceberg")
DELETED_ROWS = "others have deleted rows in them"
"""An obstacle, see `Table`: a new file would have these rows again."""


class Table(Protocol):
    """A table.

    Attributes:
        kind: one of `KINDS`.
        destination: its directory, or its address.
        log: its runs.
        is_bare_directory: readers list its files, and have columns and types from them and their paths alone.
    """

    kind: str
    is_bare_directory: bool
    destination: str
    log: RunLog

    def check(self, settings: TableSettings) -> None:
        """Check, before anything is written, that runs with these settings can be published.

        Raises:
            OptionError: they cannot.
        """
        ...

    def publish(self, run: RunState) -> None:
        """Make the data of a committed run visible, as far as they are not.

        Raises:
            OutputError: they cannot be written.
        """
        ...

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files that readers of the table see, by path; none where there is no table yet.

        Raises:
            ReadError: the table cannot be read.
        """
        ...

    def is_published(self, run: RunState) -> bool:
        """Whether readers of the table see a committed run; errors as for `data_files`."""
        ...

    def obstacles(self, history: History, paths: Iterable[str]) -> dict[str, str]:
        """Return why files cannot be written anew, by path: something of others' would be undone.

        Args:
            history: the runs.
            paths: of files of the table.

        Raises:
            ReadError: the table, or a file, cannot be read.
        """
        ...

    def root_of(self, run_id: str) -> str:
        """Return the directory in which the tasks of a run write."""
        ...


def open_table(
    kind: str,
    destination: str,
    settings: Mapping[str, str] | None = None,
    catalog: CatalogTable | None = None,
) -> Table:
    """Open a table, or one that is to be.

    Args:
        kind: one of `KINDS`.
        destination: a path or an address.
        settings: of stores, see `Places`.
        catalog: see `TableSettings`.

    Raises:
        OptionError: an unknown kind.
        MissingExtraError: a package that the kind needs is not installed.
    """
    if kind == "parquet":
        from kafka_segments.ingest.tables.parquet_table import ParquetTable

        return ParquetTable(destination, settings)
    if kind == "delta":
        from kafka_segments.ingest.tables.delta_table import DeltaLakeTable

        return DeltaLakeTable(destination, settings)
    if kind == "iceberg":
        from kafka_segments.ingest.tables.iceberg_table import IcebergTable

        return IcebergTable(destination, catalog)
    raise OptionError(f"there is no table of kind {kind}; there are {', '.join(KINDS)}")
