"""Parquet file that is written batch by batch, with pyarrow's writer, and fsynced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_segments.errors import OutputError

__all__ = ["ParquetFile"]

_ROW_GROUP_BYTES = 32 << 20
_ROW_GROUP_ROWS = 1 << 20


class ParquetFile:
    """A new file, ZSTD-compressed; a context manager that finishes and fsyncs it.

    There is no file before the first batch is written or `open` called.

    Args:
        path: must not exist; its directories are made.
        schema: of every batch.

    Attributes:
        size: bytes of the finished file, 0 if there is none.
    """

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.schema = schema
        self.size = 0
        self._path = path
        self._file: BinaryIO | None = None
        self._writer: pq.ParquetWriter | None = None
        self._batches: list[pa.RecordBatch] = []
        self._num_bytes = 0
        self._num_rows = 0

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            if error is None:
                self._finish(self._file)
        finally:
            self._abandon(self._file)

    def open(self) -> None:
        """Create the file, if it is not there yet."""
        if self._file is not None:
            return
        with self._writing():
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._file = open(self._path, "xb")  # noqa: SIM115
            self._writer = pq.ParquetWriter(self._file, self.schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises:
            OutputError: the file cannot be written.
        """
        self.open()
        self._batches.append(batch)
        self._num_bytes += batch.nbytes
        self._num_rows += batch.num_rows
        if self._num_bytes >= _ROW_GROUP_BYTES or self._num_rows >= _ROW_GROUP_ROWS:
            with self._writing():
                self._flush()

    def _flush(self) -> None:
        """Write what was gathered as one row group."""
        if self._batches and self._writer is not None:
            self._writer.write_table(pa.Table.from_batches(self._batches), row_group_size=_ROW_GROUP_ROWS)
        self._batches, self._num_bytes, self._num_rows = [], 0, 0

    def _finish(self, file: BinaryIO) -> None:
        with self._writing():
            self._flush()
            if self._writer is not None:
                self._writer.close()
            file.flush()
            os.fsync(file.fileno())
            self.size = os.fstat(file.fileno()).st_size

    def _abandon(self, file: BinaryIO) -> None:
        """Close all; a failed write has been reported, and must not raise a second error."""
        if self._writer is not None and self._writer.is_open:  # else its destructor would try, and complain
            with suppress(OSError):
                self._writer.close()
            self._writer.is_open = False
        with suppress(OSError):
            file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{error.strerror or error}", path=self._path) from error
