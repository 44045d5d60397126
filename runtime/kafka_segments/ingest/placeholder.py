"""File without rows of a directory of Parquet files that has no other: it keeps the columns for readers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_segments.ingest.parquet import ParquetFile
from kafka_segments.ingest.run_state import DataFile
from kafka_segments.ingest.table_files import TableFiles
from kafka_segments.segment.columnar.arrow_schema import OF_PARTITION, schema_of

__all__ = ["write_placeholder"]

_NAME = "no-rows.parquet"


def write_placeholder(root: str, columns: Sequence[str], files: TableFiles) -> DataFile:
    """Write the file without rows.

    Args:
        root: directory in which a run writes.
        columns: of the table.
        files: where tables like it lie.

    Raises:
        OutputError: it cannot be written.
    """
    schema = pa.schema([*OF_PARTITION, *schema_of(columns)])
    with ParquetFile(f"{root}/{_NAME}", schema, files=files) as file:
        file.open()
    return DataFile(_NAME, None, None, 0, file.size)
