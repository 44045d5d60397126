"""File without rows of a directory of Parquet files that has no other: it keeps the columns for readers."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from kafka_segments.ingest.parquet import ParquetFile
from kafka_segments.ingest.run_state import DataFile
from kafka_segments.segment.columnar.arrow_schema import OF_PARTITION, schema_of

__all__ = ["write_placeholder"]

_NAME = "no-rows.parquet"


def write_placeholder(root: str, columns: Sequence[str]) -> DataFile:
    """Write the file.

    Args:
        root: directory in which a run writes.
        columns: of the table.

    Raises:
        OutputError: it cannot be written.
    """
    schema = pa.schema([*OF_PARTITION, *schema_of(columns)])
    with ParquetFile(os.path.join(root, _NAME), schema) as file:
        file.open()
    return DataFile(_NAME, None, None, 0, file.size)
