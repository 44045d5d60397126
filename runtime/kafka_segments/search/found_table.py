"""Found records as Arrow batches. Needs the extra `arrow`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.core.segment.columnar.record_rows import record_batches
from kafka_segments.core.segment.table import SCHEMA
from kafka_segments.search.found import FoundRecord

__all__ = ["FOUND_SCHEMA", "FoundTable", "open_table_writer"]

_MAX_ROWS, _MAX_BYTES = 10_000, 4 << 20
_PLACE = [pa.field("path", pa.string(), nullable=False), pa.field("position", pa.int64(), nullable=False)]

FOUND_SCHEMA = pa.schema([*_PLACE, *SCHEMA])
"""Path of the file and position of the batch; then the columns of `segment.table.SCHEMA`."""


class FoundTable:
    """Collector of found records of one file after the other, as Arrow batches of a few MiB."""

    def __init__(self) -> None:
        self._records: list[FoundRecord] = []
        self._num_bytes = 0

    def add(self, found: FoundRecord) -> Iterator[pa.RecordBatch]:
        """Add a record; yield a batch when there are enough of them."""
        record, last = found.record, self._records[-1] if self._records else None
        if last is not None and last.batch.path != found.batch.path:
            yield from self.flush()
        self._records.append(found)
        self._num_bytes += len(record.key or b"") + len(record.value or b"")
        self._num_bytes += sum(len(name) + len(value or b"") for name, value in record.headers)
        if len(self._records) >= _MAX_ROWS or self._num_bytes >= _MAX_BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield what was added since the last batch."""
        found, self._records, self._num_bytes = self._records, [], 0
        records = [one.record for one in found]
        for batch in record_batches(records, columns=SCHEMA.names):
            paths = pa.array([found[0].batch.path] * batch.num_rows, pa.string())
            positions = [one.position for one in records[: batch.num_rows]]
            records = records[batch.num_rows :]
            arrays = [paths, pa.array(positions, pa.int64()), *batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=FOUND_SCHEMA)


def open_table_writer(stream: BinaryIO, form: str) -> pa.ipc.RecordBatchStreamWriter | pq.ParquetWriter:
    """Open a writer of `FOUND_SCHEMA` to a stream.

    Args:
        stream: need not be seekable.
        form: `arrow`, an IPC stream, or `parquet`.
    """
    if form == "arrow":
        return pa.ipc.new_stream(stream, FOUND_SCHEMA)
    return pq.ParquetWriter(stream, FOUND_SCHEMA, compression="zstd")
