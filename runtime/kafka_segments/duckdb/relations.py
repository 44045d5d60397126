"""Relations of DuckDB over segments, which get columns and filters.

Strategy: DuckDB gives the columns and filters of a query to the method `scanner` of an Arrow dataset, and to
nothing else: a stream (`__arrow_c_stream__`) is read as a whole. So there is a class of datasets whose
`scanner` reads segments. DuckDB does not apply such filters itself: they are applied to every batch here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, Unpack

import duckdb
import pyarrow as pa
import pyarrow.dataset

from kafka_segments.errors import TimestampRangeError
from kafka_segments.query.row_filter import RowFilter
from kafka_segments.query.scan import ScanRequest
from kafka_segments.query.scan_arguments import Path, ScanOptions
from kafka_segments.query.scan_rows import ScanRows

__all__ = ["relation"]

ds: Any = pyarrow.dataset
_TIMESTAMP = pa.timestamp("us", tz="UTC")  # as DuckDB's own, which filters are of


def relation(
    paths: Path | Iterable[Path],
    *,
    columns: Sequence[str] | None = None,
    connection: duckdb.DuckDBPyConnection | None = None,
    **options: Unpack[ScanOptions],
) -> duckdb.DuckDBPyRelation:
    """Make a relation of the records of partitions: the rows of `kafka_segments.scan`.

    A query reads the columns that it uses, batch by batch. DuckDB pushes down comparisons of columns with
    constants (`=`, `<`, `IN`, `BETWEEN`, `IS NULL`..., with `AND` and `OR`). Those of `topic`, `partition`,
    `offset`, `timestamp` and `timestamp_ms` leave out partitions and parts of segments, as the arguments do;
    damage in these is not found. `LIMIT` ends the reading soon after enough rows.

    A query of only the columns `topic` and `partition`, such as `count(*)`, only counts rows: by headers
    where `kafka_segments.polars.scan_segments` does, with its exception for damage inside batches.

    Args:
        paths: as for `kafka_segments.scan`.
        columns: names of the relation's columns.
        connection: a DuckDB connection; None: the default one.
        options: by name, as for `kafka_segments.scan`: topics, partitions, offsets, since, until, isolation,
            on_damage (a function is called in the thread that DuckDB reads in), max_timestamp_skew,
            storage_options, max_decompressed, threads, in_order.

    Returns:
        A relation; each query lists the paths again. An error while it reads, such as damage, is raised as
        DuckDB's `InvalidInputException`, with our text. A `timestamp` has microseconds in DuckDB: one that
        does not fit is such an error, and `timestamp_ms` has it.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log.
        OptionError: an invalid argument, or a topic or partition that does not exist.

    Example:
        >>> orders = relation("/var/lib/kafka", topics="orders")  # doctest: +SKIP
        >>> orders.filter('"offset" >= 1000').select("key").limit(5).fetchall()  # doctest: +SKIP
    """
    request = ScanRequest.of(paths, **options)
    schema = ScanRows(columns, ()).schema
    request.check()
    dataset = _SegmentDataset(request, schema)
    return duckdb.from_arrow(dataset) if connection is None else connection.from_arrow(dataset)


class _SegmentDataset(ds.Dataset):  # type: ignore[misc]
    """What DuckDB takes for an Arrow dataset, by its class; it uses `schema` and `scanner`.

    Nothing else may be called: the object of Arrow's library is missing inside.
    """

    def __new__(cls, *_arguments: Any) -> Self:
        made: Self = super().__new__(cls)
        return made

    def __init__(self, request: ScanRequest, schema: pa.Schema) -> None:
        self._request = request
        self._schema = pa.schema(map(_as_duckdbs, schema))

    @property
    def schema(self) -> pa.Schema:
        """Columns of the relation."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None) -> _SegmentScanner:  # noqa: A002
        """What reads columns of the rows that fulfil a filter."""
        return _SegmentScanner(self._request, self._schema, columns, filter)


class _SegmentScanner:
    """What DuckDB takes for an Arrow scanner; it uses `to_reader`."""

    def __init__(
        self, request: ScanRequest, schema: pa.Schema, columns: Sequence[str] | None, wanted: Any
    ) -> None:
        self._request, self._schema, self._wanted = request, schema, wanted
        self._names = schema.names if columns is None else list(columns)

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns that were asked for."""
        return pa.schema([self._schema.field(name) for name in self._names])

    def to_reader(self) -> pa.RecordBatchReader:
        """A reader of the rows."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._wanted is None:
            yield from map(_converted, self._request.batches(self._names, None))
            return
        wanted = RowFilter(self._wanted, self._schema)
        needed = list(dict.fromkeys([*self._names, *wanted.columns()]))
        for batch in self._request.batches(needed, wanted):
            rows = pa.Table.from_batches([_converted(batch)]).filter(self._wanted)
            yield from rows.select(self._names).to_batches()


def _as_duckdbs(field: pa.Field) -> pa.Field:
    return field.with_type(_TIMESTAMP) if field.name == "timestamp" else field


def _converted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with timestamps in microseconds."""
    if "timestamp" not in batch.schema.names:
        return batch
    schema = pa.schema(map(_as_duckdbs, batch.schema))
    try:
        arrays = [array.cast(field.type) for array, field in zip(batch.columns, schema, strict=True)]
    except pa.ArrowInvalid as error:
        raise TimestampRangeError(
            f"a timestamp is beyond what DuckDB's microseconds can say ({error}): select timestamp_ms instead"
        ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
