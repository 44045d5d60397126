"""Conversion of Arrow batches of records to the columns of Spark's `kafka` source.

Strategy: columns that are equal in all rows, or in all of a batch, are built once and sliced for each batch;
keys, values and offsets are passed on as they are. Only timestamps are computed for each row, in one pass of
numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from kafka_segments.core.segment.columnar.fitted_values import MICROS_PER_MILLI, fit_timestamps, header_lists
from kafka_segments.log.findings import Finding
from kafka_segments.spark.planning import Row

__all__ = ["SOURCES", "RowColumns", "damage_rows", "rows_as_batch"]

# Of our columns, those that a column of Spark's is made from, by its name in lower case (a user's schema may
# write it in any). The offset always comes along: it counts the rows, and an error names it.
SOURCES = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    # Spark's connector makes 1969-12-31T23:59:59.999 of Kafka's -1, and not null: from the number.
    "timestamp": "timestamp_ms",
    "timestampms": "timestamp_ms",
    "timestamptype": "timestamp_type",
    "headers": "headers",
    "leaderepoch": "leader_epoch",
    "producerid": "producer_id",
    "producerepoch": "producer_epoch",
    "sequence": "sequence",
}
_ADVICE = '; .option("timestampOverflow", "null") or "clamp" reads on; column timestampMs has it unchanged'
_MANY_ROWS = 1 << 17  # that the decoder puts into a batch at most

_Builder = Callable[[pa.RecordBatch, pa.DataType], pa.Array]


class RowColumns:
    """Converter to batches of one schema: some of the columns of the view `records`, in any order.

    Args:
        schema: Spark's.
        timestamp_overflow: what becomes of timestamps beyond microseconds: `error`, `null`, `clamp`.

    Attributes:
        sources: which of our columns are needed.
    """

    def __init__(self, schema: pa.Schema, timestamp_overflow: str = "error") -> None:
        self.sources = list(
            dict.fromkeys(
                ["offset", *(SOURCES[name] for name in map(str.lower, schema.names) if name in SOURCES)]
            )
        )
        self._schema = schema
        self._overflow = timestamp_overflow
        self._fields = [(field.name.lower(), field.type) for field in schema]
        self._constants: dict[str, Any] = {}
        self._repeated: dict[str, tuple[Any, pa.Array]] = {}
        self._builders: dict[str, _Builder] = {
            "timestamp": self._timestamps,
            "timestamptype": self._timestamp_types,
            "headers": _headers,
        }

    def begin(self, topic: str, partition: int, source_file: str | None = None) -> None:
        """Say where the batches to come are from."""
        self._constants = {"topic": topic, "partition": partition, "sourcefile": source_file, "damage": None}

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return data records as a batch of the schema.

        Args:
            batch: has the columns `sources`.

        Raises:
            TimestampRangeError: a timestamp is beyond the range, if that is to be an error.
        """
        columns = [self._column(batch, name, kind) for name, kind in self._fields]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
        if name in self._constants:
            return self._repeat(name, self._constants[name], kind, batch.num_rows)
        if name in self._builders:
            return self._builders[name](batch, kind)
        column = batch.column(SOURCES[name])
        return column if column.type == kind else column.cast(kind)

    def _repeat(self, name: str, value: Any, kind: pa.DataType, num_rows: int) -> pa.Array:
        known, array = self._repeated.get(name, (None, None))
        if array is None or known != value:
            array = pa.repeat(pa.scalar(value, kind), num_rows)  # many splits have one batch only
        elif len(array) < num_rows:
            array = pa.repeat(pa.scalar(value, kind), max(num_rows, _MANY_ROWS))
        self._repeated[name] = value, array
        return array.slice(0, num_rows)

    def _timestamps(self, batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        millis = batch.column("timestamp_ms").to_numpy()
        millis, is_beyond = fit_timestamps(batch, millis, self._overflow, advice=_ADVICE)
        is_null = is_beyond if self._overflow == "null" else None
        return pa.array(millis * MICROS_PER_MILLI, mask=is_null).view(kind)

    def _timestamp_types(self, batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        types = batch.column("timestamp_type")
        values = types.to_numpy()
        if len(values) and (values == values[0]).all():  # as in nearly every log
            return self._repeat("timestamptype", int(values[0]), kind, batch.num_rows)
        return types.cast(kind)


def _headers(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    """Return headers; null, not an empty list, for a record without any (as in the connector)."""
    return header_lists(batch.column("headers"), kind)


def rows_as_batch(rows: Iterable[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows by the view's names of columns as a batch; what a row does not have is null."""
    listed = [{name.lower(): value for name, value in row.items()} for row in rows]
    columns = []
    for field in schema:
        values = [row.get(field.name.lower()) for row in listed]
        is_time = pa.types.is_timestamp(field.type)
        column = pa.array(values, pa.int64() if is_time else field.type)
        columns.append(column.view(field.type) if is_time else column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def damage_rows(findings: list[Finding], schema: pa.Schema, offset: str) -> Iterator[pa.RecordBatch]:
    """Yield a row for each of the findings, which are then no longer due, if `damage` is a column asked for.

    Args:
        findings: of damage and losses.
        schema: of the batch; other columns are null.
        offset: the view's name for the column of the first offset, which is null if it is unknown.
    """
    if findings and "damage" in map(str.lower, schema.names):
        names = ("topic", "partition", offset, "damage")
        values = ((one.topic, one.partition, one.first_offset, one.message) for one in findings)
        yield rows_as_batch([dict(zip(names, row, strict=True)) for row in values], schema)
    findings.clear()
