"""Parquet file that is written batch by batch, with pyarrow's writer, and fsynced.

Row groups depend on the rows alone, so that equal rows make equal bytes.

The columns that get a dictionary are those whose values repeat in the first rows. A dictionary of values that
are nearly all different is given up by Parquet's writer when it is full, in each row group again: keys and
values of records would take half of the time of writing, and more room.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from kafka_segments.errors import OptionError, OutputError
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles
from kafka_segments.ingest.runs.table_files import TableFiles, TableOutput

__all__ = ["ParquetFile", "check_bloom_filter", "repeating_columns"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

_ROW_GROUP_BYTES = 32 << 20
_ROW_GROUP_ROWS = 1 << 20
_ZSTD_LEVEL = 3
_BUFFER_BYTES = 1 << 20
_SAMPLE_ROWS = 16_384
_MAX_DISTINCT = 0.5


def check_bloom_filter() -> None:
    """Check that pyarrow can write bloom filters.

    Raises:
        OptionError: it is too old.
    """
    if "bloom_filter_options" not in inspect.signature(pq.ParquetWriter).parameters:
        raise OptionError(
            f"pyarrow {pa.__version__} does not write bloom filters; install a newer one, or leave "
            "--bloom-filter out"
        )


class ParquetFile:
    """A new file of rows in the order of their offsets, ZSTD-compressed; a context manager that fsyncs it.

    There is no file before the first batch is written or `open` called.

    Args:
        path: must not exist; its directories are made.
        schema: of every batch.
        bloom_filter: write a bloom filter of the keys.
        files: where the path is.
        offset: path of the column with the offsets.
        key: of the one with the keys, None without one.

    Attributes:
        size: bytes of the finished file, 0 if there is none.
        num_rows: rows written.
    """

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        *,
        bloom_filter: bool = False,
        files: TableFiles | None = None,
        offset: str = "offset",
        key: str | None = "key",
    ) -> None:
        self.schema = schema
        self.size = self.num_rows = 0
        self._sorted_by = offset
        self._filtered = key if bloom_filter else None
        self._path, self._files = path, files or LocalTableFiles(path.rpartition("/")[0])
        self._file: TableOutput | None = None
        self._writer: pq.ParquetWriter | None = None
        self._sink: Any = None
        self._batches: list[pa.RecordBatch] = []
        self._num_bytes = 0
        self._num_waiting = 0

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
                self._file = None
        finally:
            if self._file is not None:
                self._abandon(self._file)

    def open(self) -> None:
        """Create the file, if it does not exist yet."""
        if self._file is not None:
            return
        self._file = self._files.output(self._path)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises:
            OutputError: the file cannot be written.
        """
        self.open()
        self._batches.append(batch)
        self._num_bytes += batch.nbytes
        self._num_waiting += batch.num_rows
        self.num_rows += batch.num_rows
        if self._num_bytes >= _ROW_GROUP_BYTES or self._num_waiting >= _ROW_GROUP_ROWS:
            with self._writing():
                self._flush()

    def _new_writer(self, sink: io.BufferedWriter) -> pq.ParquetWriter:
        first = pa.Table.from_batches(self._batches, self.schema)
        options: dict[str, Any] = {"use_dictionary": repeating_columns(first)}
        if self._sorted_by.partition(".")[0] in self.schema.names:
            options["sorting_columns"] = pq.SortingColumn.from_ordering(
                self.schema, [(self._sorted_by, "ascending")]
            )
        if self._filtered is not None:
            # As many distinct keys as rows at most; the first row group is as large as the others.
            distinct = max(1, self._num_waiting)
            options["bloom_filter_options"] = {self._filtered: {"ndv": distinct, "fpp": 0.01}}
        level = _ZSTD_LEVEL
        return pq.ParquetWriter(sink, self.schema, compression="zstd", compression_level=level, **options)

    def _flush(self) -> None:
        """Write what was gathered as one row group."""
        if self._writer is None and self._file is not None:
            self._sink = io.BufferedWriter(_Sink(self._file), _BUFFER_BYTES)
            self._writer = self._new_writer(self._sink)
        if self._batches and self._writer is not None:
            self._writer.write_table(pa.Table.from_batches(self._batches), row_group_size=_ROW_GROUP_ROWS)
        self._batches, self._num_bytes, self._num_waiting = [], 0, 0

    def _finish(self, file: TableOutput) -> None:
        with self._writing():
            self._flush()
            if self._writer is not None:
                self._writer.close()
            if self._sink is not None:
                self._sink.flush()
            file.finish()
        self.size = file.size

    def _abandon(self, file: TableOutput) -> None:
        """Leave nothing; a failed write has been reported, and must not raise a second error."""
        if self._sink is not None:
            self._sink.raw.is_abandoned = True
        if self._writer is not None and self._writer.is_open:  # else its destructor would try, and complain
            with suppress(OSError):
                self._writer.close()
            self._writer.is_open = False
        file.discard()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"{error.strerror or error}", path=self._path) from error


class _Sink(io.RawIOBase):
    """A new file, as a library's writer takes it. Its creator ends the file."""

    def __init__(self, output: TableOutput) -> None:
        super().__init__()
        self.is_abandoned = False
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.is_abandoned:
            self._output.write(data)
        return len(data)


def repeating_columns(rows: pa.Table) -> list[str]:
    """Return the paths of columns, and of values inside lists, maps and structs, of which half repeat.

    Args:
        rows: the first ones of a file.

    Example:
        >>> repeating_columns(pa.table({"offset": [1, 2, 3], "topic": ["a", "a", "a"]}))
        ['topic']
    """
    first = rows.slice(0, _SAMPLE_ROWS).combine_chunks()
    leaves = (
        leaf
        for name, column in zip(first.column_names, first.columns, strict=True)
        for leaf in _leaves(name, column.combine_chunks())
    )
    return [path for path, values in leaves if _is_repeating(values)]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield values by the paths that Parquet has for them."""
    if isinstance(values, pa.ChunkedArray):  # of no rows
        values = pa.array([], values.type)
    kind = values.type
    if pa.types.is_struct(kind):
        for at, inner in enumerate(values.flatten()):
            yield from _leaves(f"{path}.{kind.field(at).name}", inner)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def _is_repeating(values: pa.Array) -> bool:
    num_values = len(values) - values.null_count
    return bool(pc.count_distinct(values).as_py() <= num_values * _MAX_DISTINCT)
