"""Tables that `ingest` writes to: which kinds there are, and what each has to do.

Strategy: `DEST/_kafka_segments/runs` has one file a run, created if absent: that decides which of two runs
wins (`run_log`). A run's data are then published, which can be done again by the next run if it was killed.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_segments.errors import OptionError
from kafka_segments.ingest.runs.run_state import CatalogTable
from kafka_segments.ingest.tables.table_base import ParquetTable, Table

__all__ = ["KINDS", "Table", "open_table"]

KINDS = ("parquet", "delta", "iceberg")


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
        return ParquetTable(destination, settings)
    if kind == "delta":
        from kafka_segments.ingest.tables.delta_table import DeltaLakeTable

        return DeltaLakeTable(destination, settings)
    if kind == "iceberg":
        from kafka_segments.ingest.tables.iceberg_table import IcebergTable

        return IcebergTable(destination, catalog)
    raise OptionError(f"there is no table of kind {kind}; give {', '.join(KINDS)}")
