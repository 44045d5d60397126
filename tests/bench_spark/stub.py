"""A source that does nothing but hand over: Arrow batches made beforehand, of the `kafka` source's schema.

What it reaches is what Spark's own way of taking rows from Python can reach at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
# As many as make 5 MiB of keys and values, which is what ours hands over at a time.
ROWS = 30_000
T0 = 1_700_000_000_000


@dataclass
class Rows(InputPartition):
    """So many rows of a partition."""

    number: int
    num_rows: int


class Stub(DataSource):
    """Options: `tasks`, and `rows` of each."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "stub"

    def schema(self) -> str:
        """That of the `kafka` source."""
        return SCHEMA

    def reader(self, schema: StructType) -> StubReader:
        """A reader of all columns."""
        return StubReader(schema, int(self.options["tasks"]), int(self.options["rows"]))


class StubReader(DataSourceReader):
    """Yields slices of one batch."""

    def __init__(self, schema: StructType, tasks: int, rows: int) -> None:
        self._schema = schema
        self._tasks, self._rows = tasks, rows

    def partitions(self) -> list[InputPartition]:
        """One a task."""
        return [Rows(number, self._rows) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The same batch again and again."""
        assert isinstance(partition, Rows)
        batch = prebuilt(to_arrow_schema(self._schema), min(ROWS, partition.num_rows))
        whole, rest = divmod(partition.num_rows, batch.num_rows)
        for _ in range(whole):
            yield batch
        if rest:
            yield batch.slice(0, rest)


@cache
def prebuilt(schema: pa.Schema, num_rows: int) -> pa.RecordBatch:
    """A batch as those of the corpora are."""
    body = b'{"order_id": "o-%010d", "customer": 654321, "city": "Lisbon", "amount": 123.45, "note": "%s"}'
    values = [body % (index, b"") for index in range(num_rows)]
    values = [text[:-2] + b"x" * (150 - len(text)) + text[-2:] for text in values]
    columns = {
        "key": [b"key-%012d" % index for index in range(num_rows)],
        "value": values,
        "topic": ["plain"] * num_rows,
        "partition": [0] * num_rows,
        "offset": range(num_rows),
        "timestamp": [(T0 + index) * 1000 for index in range(num_rows)],
        "timestampType": [0] * num_rows,
    }
    arrays = [
        pa.array(columns[field.name], pa.int64()).cast(field.type)
        if field.name == "timestamp"
        else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.record_batch(arrays, schema=schema)
