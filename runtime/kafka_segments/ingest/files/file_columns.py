"""Columns of data files: those of records, or a layout's, in the types that the kind of table has.

Strategy: a file's schema is a list of `LayoutColumn`: each names a source, or is a struct of such columns.
Directories of Parquet and Delta tables have topic and partition in the names of directories; files of Iceberg
tables have them as columns, which partitioning of any kind can be made of.

What the header of a record's batch says can be columns, too: a pass over a split shows each entry's header to
what counts them (`BatchHeads`), which keeps what these are made of. A row belongs to the first entry whose
highest offset is not below its own, else to the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from kafka_segments.core.formats.java import MIN_LONG
from kafka_segments.core.segment.columnar.arrow_schema import NONE, OF_PARTITION, schema_of
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.fitted_values import MICROS_PER_MILLI, as_text, header_lists
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors import EncodeError, KafkaFormatError, OptionError, ReadError
from kafka_segments.ingest.files.layouts import LAYOUTS, LayoutColumn
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.run_state import TableSettings
from kafka_segments.ingest.runs.table_files import TableFiles
from kafka_segments.query.query import TopicPartition

__all__ = ["BATCH_COLUMNS", "BatchHeads", "FileColumns", "opened"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

BATCH_COLUMNS = {
    "batch_position": "position",
    "batch_base_offset": "base_offset",
    "batch_leader_epoch": "partition_leader_epoch",
    "batch_magic": "magic",
    "batch_timestamp_type": "timestamp_type",
    "batch_codec": "codec",
    "batch_max_timestamp": "max_timestamp",
    "batch_producer_id": "producer_id",
    "batch_producer_epoch": "producer_epoch",
    "batch_base_sequence": "base_sequence",
}
"""Columns, all int64 and as they are stored, with the names that the table of entries has for them."""

_LAST = "last_offset"
_OFFSET = "offset"
_KEY = "key"
_ICEBERG_TYPES = {pa.int8(): pa.int32(), pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC")}
"""Iceberg has neither 8-bit integers nor milliseconds (specification, "Primitive Types")."""


class FileColumns:
    """Columns of the data files of a table.

    Args:
        columns: names of record columns, in order, if there is no layout.
        layout: one of `LAYOUTS`, or None.
        kind: of the table.

    Attributes:
        schema: of the files.
        read: names of the record columns that they are made of.
        offset: path of the column with the offsets, such as `offset` or `redpanda.offset`.
        key: path of the column with the keys, None without one.
        timestamp: path of the column with the timestamps, None without one.
        has_batch_columns: `rows` needs batches with `BATCH_COLUMNS`, too.
        has_topic: rows say of which topic they are, themselves or by their directory.
    """

    def __init__(self, columns: Iterable[str], layout: str | None = None, kind: str = "parquet") -> None:
        is_iceberg = kind == "iceberg"
        if layout is not None:
            made = LAYOUTS[layout]
        else:
            fields = [*OF_PARTITION, *schema_of(list(columns))]
            made = tuple(LayoutColumn(_iceberg_field(one) if is_iceberg else one, one.name) for one in fields)
        self._columns = made if is_iceberg else tuple(one for one in made if not _is_directory(one))
        self._is_plain = layout is None and not is_iceberg
        self.schema = pa.schema([one.field for one in self._columns])
        paths = dict(_paths(self._columns))
        self.read = tuple(dict.fromkeys(name for one in paths for name in _SOURCES[one].read))
        self.offset = paths[_OFFSET]
        self.key = paths.get(_KEY, paths.get("key_text"))
        self.timestamp = paths.get("timestamp", paths.get("stored_timestamp"))
        self.has_batch_columns = any(one in BATCH_COLUMNS for one in paths)
        self.has_topic = "topic" in paths or not is_iceberg

    @classmethod
    def of(cls, settings: TableSettings) -> FileColumns:
        """Return the columns of a table.

        Raises:
            OptionError: there are no such columns.
        """
        try:
            return cls(settings.columns, settings.layout, settings.kind)
        except KeyError as error:
            raise OptionError(f"the table's settings name an unknown layout or column: {error}") from error

    def new_file(self, path: str, files: TableFiles, *, bloom_filter: bool = False) -> ParquetFile:
        """Return a Parquet file for such rows, to be written."""
        has_filter = bloom_filter and self.key is not None
        return ParquetFile(
            path, self.schema, bloom_filter=has_filter, files=files, offset=self.offset, key=self.key
        )

    def rows(self, batch: pa.RecordBatch, key: TopicPartition) -> pa.RecordBatch:
        """Return rows of a partition as the files have them.

        Args:
            batch: has the columns `read`.
            key: topic and partition.
        """
        if self._is_plain:
            names = self.schema.names
            return batch if batch.schema.names == names else batch.select(names)
        return pa.RecordBatch.from_arrays(
            [_values(batch, key, one) for one in self._columns], schema=self.schema
        )

    def offsets_of(self, batch: pa.RecordBatch) -> Any:
        """Return the offsets of rows of a file, as an array of NumPy."""
        values = pc.struct_field(batch.to_struct_array(), self.offset.split("."))
        return values.cast(pa.int64()).to_numpy()

    def offsets_in(self, files: TableFiles, path: str) -> Iterator[Any]:
        """Yield the offsets of a file as they stand there, as arrays of NumPy; errors as for `opened`."""
        with opened(files, path) as file:
            for batch in file.iter_batches(columns=[self.offset], batch_size=1 << 20):
                yield self.offsets_of(batch)

    def unknown_in(self, schema: pa.Schema, path: str) -> list[str]:
        """Return the columns of a file, and fields of structs, that files of ours do not have.

        Args:
            schema: of the file.
            path: of the file; names of its directories, such as `date=2023-11-14`, are columns of ours.
        """
        known = {*_names_of(self.schema), *OF_PARTITION.names}
        known.update(part.partition("=")[0] for part in path.split("/")[:-1])
        return [name for name in _names_of(schema) if name not in known]

    def of_older(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of an older file, with nulls in columns that were added since."""
        names = set(batch.schema.names)
        arrays = [
            batch.column(one.name) if one.name in names else pa.nulls(batch.num_rows, one.type)
            for one in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class BatchHeads(EntryCounts):
    """Counts of a range, and the headers of its entries."""

    def __init__(self, start: int | None, end: int | None) -> None:
        super().__init__(start, end)
        self._parts: list[dict[str, Any]] = []
        self._seen = MIN_LONG

    def entries(self, entries: EntryTable, excluded: Any = None) -> None:
        """Add consecutive sound entries; see `EntryCounts`."""
        super().entries(entries, excluded)
        lasts = entries.highest_offsets()
        before = np.maximum.accumulate(np.append(self._seen, lasts[:-1]))
        rows = np.flatnonzero(lasts > before)  # those that repeat lower offsets give no rows
        if len(rows):
            self._seen = int(lasts[rows[-1]])
            part = {name: entries.column(own)[rows] for name, own in BATCH_COLUMNS.items()}
            self._parts.append({_LAST: lasts[rows], **part})

    def joined(self, batch: pa.RecordBatch, *, is_all: bool = False) -> pa.RecordBatch | None:
        """Return rows with `BATCH_COLUMNS` at the end; None if not all of their entries are known yet.

        Args:
            batch: rows in the order of their offsets, none of which are below those given before.
            is_all: all entries have been seen.

        Raises:
            EncodeError: an entry is not a batch, but a message of magic 0 or 1.
        """
        offsets = batch.column("offset").to_numpy()
        if not len(offsets) or (int(offsets[-1]) > self._seen and not is_all):
            return None if len(offsets) else batch
        while len(self._parts) > 1 and self._parts[0][_LAST][-1] < offsets[0]:
            del self._parts[0]
        heads = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        places = np.minimum(np.searchsorted(heads[_LAST], offsets), len(heads[_LAST]) - 1)
        old = np.flatnonzero(heads["batch_magic"][places] < 2)
        if len(old):
            raise EncodeError(
                f"offset {offsets[old[0]]}: it is in a message of magic 0 or 1, which has no batch header "
                "for the layout's columns; use another layout, or none"
            )
        columns = [pa.array(heads[name][places]) for name in BATCH_COLUMNS]
        names = [*batch.schema.names, *BATCH_COLUMNS]
        return pa.RecordBatch.from_arrays([*batch.columns, *columns], names=names)


@contextmanager
def opened(files: TableFiles, path: str) -> Iterator[pq.ParquetFile]:
    """Provide a data file of a table, which others may have written.

    Raises:
        ReadError: it cannot be read.
        StoreError: the store refused or failed.
    """
    try:
        with pq.ParquetFile(files.reader(path)) as file:
            yield file
    except KafkaFormatError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise ReadError(str(error).splitlines()[0], path=path) from error


def _names_of(fields: Iterable[pa.Field], above: str = "") -> Iterator[str]:
    """Yield the paths of columns, and of the fields of structs."""
    for one in fields:
        yield f"{above}{one.name}"
        if pa.types.is_struct(one.type):
            yield from _names_of(one.type, f"{above}{one.name}.")


def _is_directory(column: LayoutColumn) -> bool:
    return column.source in OF_PARTITION.names and not column.parts


def _iceberg_field(field: pa.Field) -> pa.Field:
    return field.with_type(_ICEBERG_TYPES.get(field.type, field.type))


def _paths(columns: Iterable[LayoutColumn], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the sources of columns, and the paths of these."""
    for one in columns:
        path = f"{above}{one.field.name}"
        if one.parts:
            yield from _paths(one.parts, f"{path}.")
        else:
            yield one.source, path


def _values(batch: pa.RecordBatch, key: TopicPartition, column: LayoutColumn) -> pa.Array:
    if not column.parts:
        return _SOURCES[column.source].make(batch, key, column.field.type)
    arrays = [_values(batch, key, one) for one in column.parts]
    return pa.StructArray.from_arrays(arrays, fields=[one.field for one in column.parts])


class _Source(NamedTuple):
    """What values are made of: columns to read, and how."""

    read: tuple[str, ...]
    make: Callable[[pa.RecordBatch, TopicPartition, pa.DataType], pa.Array]


def _constant(at: int) -> _Source:
    def make(batch: pa.RecordBatch, key: TopicPartition, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(key[at], kind), batch.num_rows)

    return _Source((), make)


def _column(name: str) -> _Source:
    def make(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
        values = batch.column(name)
        return values if values.type == kind else values.cast(kind)

    return _Source((name,), make)


def _stored_timestamp(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
    """The stored number, -1 for none, as the time that it would be."""
    micros = pc.multiply(batch.column("timestamp_ms"), MICROS_PER_MILLI)
    return micros.view(pa.timestamp("us", "UTC")).cast(kind)


def _known_timestamp_type(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
    types = batch.column("timestamp_type")
    return pc.if_else(pc.equal(types, NONE), pa.scalar(None, types.type), types).cast(kind)


def _value_or_empty(batch: pa.RecordBatch, _key: TopicPartition, _kind: pa.DataType) -> pa.Array:
    return batch.column("value").fill_null(b"")


def _key_text(batch: pa.RecordBatch, _key: TopicPartition, _kind: pa.DataType) -> pa.Array:
    """Keys as text; an empty one for a record without."""
    return as_text(batch.column(_KEY).fill_null(b""))


def _headers_or_null(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
    return header_lists(batch.column("headers"), kind)


def _headers_with_values(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
    _rows_of_headers(batch)
    return header_lists(batch.column("headers"), kind, null_if_empty=False)


def _rows_of_headers(batch: pa.RecordBatch) -> Any:
    """The number of the row of each header.

    Raises:
        EncodeError: a header has no value.
    """
    headers = batch.column("headers")
    rows = np.repeat(np.arange(len(headers)), pc.list_value_length(headers).to_numpy())
    values = headers.flatten().field("value")
    if values.null_count:
        row = int(rows[np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]])
        raise EncodeError(
            f"offset {batch.column(_OFFSET)[row].as_py()}: a header's value is null, which the layout "
            "cannot hold; use another layout, or none"
        )
    return rows


def _header_map(batch: pa.RecordBatch, _key: TopicPartition, kind: pa.DataType) -> pa.Array:
    """Headers by their keys as text: of several with one key the last, as a Java map has them."""
    headers = batch.column("headers")
    pairs, rows = headers.flatten(), _rows_of_headers(batch)
    keys = as_text(pairs.field("key")).dictionary_encode()
    places = np.stack([rows, keys.indices.to_numpy()])[:, ::-1]
    last = np.sort(len(rows) - 1 - np.unique(places, axis=1, return_index=True)[1])
    starts = np.searchsorted(rows[last], np.arange(len(headers) + 1)).astype(np.int32)
    values = pairs.field("value").take(pa.array(last))
    texts = keys.dictionary.take(keys.indices.take(pa.array(last)))
    return pa.MapArray.from_arrays(pa.array(starts), texts, values, type=kind)


_RECORD_COLUMNS = (
    _OFFSET, "timestamp", "timestamp_type", _KEY, "value", "headers", "timestamp_ms",
    "leader_epoch", "producer_id", "producer_epoch", "sequence",
)  # fmt: skip
_SOURCES: dict[str, _Source] = {
    "topic": _constant(0),
    "partition": _constant(1),
    **{name: _column(name) for name in _RECORD_COLUMNS},
    "stored_timestamp": _Source(("timestamp_ms",), _stored_timestamp),
    "timestamp_type_or_null": _Source(("timestamp_type",), _known_timestamp_type),
    "value_or_empty": _Source(("value",), _value_or_empty),
    "key_text": _Source((_KEY,), _key_text),
    "headers_or_null": _Source(("headers",), _headers_or_null),
    "raw_headers": _Source(("headers", _OFFSET), _headers_with_values),
    "nothing": _Source((), lambda batch, _key, kind: pa.nulls(batch.num_rows, kind)),
    **{name: _Source((), _column(name).make) for name in BATCH_COLUMNS},
    "header_map": _Source(("headers", _OFFSET), _header_map),
}
