"""File without rows of a directory of Parquet files that has no other: it keeps the columns for readers."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.run_state import DataFile, RunState
from kafka_segments.ingest.tables import Table

__all__ = ["with_placeholder"]

_NAME = "no-rows.parquet"


def with_placeholder(table: Table, run: RunState, before: RunState | None, *, is_empty: bool) -> RunState:
    """Return a run that adds the file to a table without any other, and removes it from one with others.

    Args:
        table: a directory of Parquet files; others need no such file.
        run: to be committed.
        before: the run before it.
        is_empty: whether the table has no file but those that the run adds.

    Raises:
        OutputError: it cannot be written.
    """
    known = None if before is None else before.placeholder
    if not table.is_bare_directory:
        return run
    if run.files:
        return run if known is None else replace(run, removed=(*run.removed, known), placeholder=None)
    if known is not None or not is_empty:
        return replace(run, placeholder=known)
    schema = pa.schema([*OF_PARTITION, *FileColumns.of(run.settings).schema])
    with ParquetFile(f"{table.root_of(run.run_id)}/{_NAME}", schema, files=table.log.files) as file:
        file.open()
    return replace(run, files=(DataFile(_NAME, None, None, 0, file.size),), placeholder=_NAME)
