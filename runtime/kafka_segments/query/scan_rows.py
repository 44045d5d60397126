"""Rows of `scan`: columns of records with topic and partition, filtered by conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION, SCHEMA, Binary, schema_of
from kafka_segments.core.segment.columnar.viewed_bytes import rows_where
from kafka_segments.errors import OptionError
from kafka_segments.query.query import Condition

__all__ = ["ScanRows"]

_MOST_ROWS = 1 << 17  # of a decoded batch
# Record columns by a condition's column; timestamp -1 (none) fulfils no condition.
_SOURCES = {"offset": "offset", "timestamp": "timestamp_ms"}


class ScanRows:
    """Converter of batches to the rows of a scan.

    Args:
        columns: names, in order; topic, partition and all of `SCHEMA` if None.
        conditions: that rows fulfil; those on topics and partitions are ignored here.
        binary: see `arrow_schema`.

    Attributes:
        schema: of every batch.
        sources: columns of records to read.

    Raises:
        OptionError: an unknown or repeated column, or no column; another `binary`.
    """

    def __init__(
        self, columns: Sequence[str] | None, conditions: Sequence[Condition], binary: Binary = "copy"
    ) -> None:
        given = [*OF_PARTITION.names, *SCHEMA.names] if columns is None else columns
        names = [] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        if len(set(names)) < max(1, len(names)):
            raise OptionError(f"columns must be a list of names, each once; not {columns!r}")
        own = [name for name in names if name not in OF_PARTITION.names]
        records = schema_of(own, binary) if own else pa.schema([])
        self.schema = pa.schema(
            [(OF_PARTITION if name in OF_PARTITION.names else records).field(name) for name in names]
        )
        self.binary: Binary = binary
        self._fields = [(field.name, field.type) for field in self.schema]
        self._conditions = [one for one in conditions if one.column in _SOURCES]
        self.sources = list(dict.fromkeys([*own, *(_SOURCES[one.column] for one in self._conditions)])) or [
            "offset"
        ]

    def reader(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
        """Return a reader over the batches."""
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    @property
    def is_of_partitions(self) -> bool:
        """Whether all columns have one value in a partition, so that rows only have to be counted."""
        return set(self.schema.names) <= set(OF_PARTITION.names)

    def repeated(self, topic: str, partition: int, num_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield as many rows of a partition, all alike: see `is_of_partitions`."""
        given = {"topic": topic, "partition": partition}
        for first in range(0, num_rows, _MOST_ROWS):
            num = min(num_rows - first, _MOST_ROWS)
            arrays = [_alike(given[name], kind, num) for name, kind in self._fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def of(self, batch: pa.RecordBatch, topic: str, partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a batch of records, if any."""
        for one in self._conditions:
            batch = _filtered(batch, one)
        if batch.num_rows:
            given = {"topic": topic, "partition": partition}
            arrays = [
                _alike(given[name], kind, batch.num_rows) if name in given else batch.column(name)
                for name, kind in self._fields
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _alike(value: Any, kind: pa.DataType, num_rows: int) -> pa.Array:
    """An array of one value only."""
    if num_rows > _MOST_ROWS:
        return pa.repeat(pa.scalar(value, kind), num_rows)
    return _most_alike(value, kind).slice(0, num_rows)


@lru_cache(maxsize=2)  # one topic and one partition: their batches follow each other
def _most_alike(value: Any, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), _MOST_ROWS)


def _filtered(batch: pa.RecordBatch, condition: Condition) -> pa.RecordBatch:
    """Filter rows by a condition; return the same batch if all fulfil it."""
    numbers = batch.column(_SOURCES[condition.column]).to_numpy()
    lowest, highest = max(0, condition.lowest or 0), condition.highest
    if lowest > MAX_LONG or (highest is not None and highest < 0):
        return batch.slice(0, 0)
    is_inside = numbers >= lowest
    if highest is not None:
        is_inside &= numbers <= min(highest, MAX_LONG)
    return batch if is_inside.all() else rows_where(batch, is_inside)
