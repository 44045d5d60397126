"""Which partitions, offsets and timestamps a filter can hold for, by Arrow's own pruning of datasets.

Strategy: an expression of Arrow cannot be taken apart in Python. But a dataset leaves out the fragments whose
guarantee contradicts a filter, without reading anything. So a fragment is made for each question, such as
"offset <= 7", and the bounds of a column are found by bisection. Arrow keeps a fragment when in doubt, so a
bound is too wide at worst. A question takes some 10 microseconds, a column less than 2 milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.query.query import Condition, TopicPartition

__all__ = ["RowFilter"]

ds: Any = pyarrow.dataset
_FORMAT = ds.IpcFileFormat()
_FILES = pyarrow.fs.LocalFileSystem()
_PER_MILLI = {"ms": 1, "us": 1000}


class RowFilter:
    """A filter, asked what it can hold for.

    Args:
        expression: of Arrow, on columns of the schema.
        schema: of the rows; the columns of partitions, offsets and timestamps have the types of `scan`, but
            `timestamp` may be in microseconds.
    """

    def __init__(self, expression: Any, schema: pa.Schema) -> None:
        self._expression, self._schema = expression, schema

    def may_be_in(self, topic: str, partition: int | None = None) -> bool:
        """Whether rows of a partition, or of any partition of a topic, can fulfil the filter."""
        guarantee = self._equal("topic", topic)
        if partition is not None:
            number = self._equal("partition", partition)
            guarantee = number if guarantee is None else guarantee if number is None else guarantee & number
        return guarantee is None or self._may_hold(guarantee)

    def columns(self) -> list[str]:
        """Names of the columns that the filter is on: without them, it cannot be bound to the schema."""
        return [name for name in self._schema.names if not self._is_bound_without(name)]

    def conditions(self, partitions: Iterable[TopicPartition]) -> list[Condition]:
        """Conditions that rows of some partitions meet, if they fulfil the filter.

        They narrow a plan; rows are still to be filtered.
        """
        kept = [key for key in partitions if self.may_be_in(*key)]
        found = [
            Condition("topic", values=frozenset(topic for topic, _number in kept)),
            Condition("partition", values=frozenset(number for _topic, number in kept)),
        ]
        if kept:
            found += self._of_offsets()
            found += self._of_times("timestamp")
            found += self._of_times("timestamp_ms")
        return found

    def _is_bound_without(self, name: str) -> bool:
        others = pa.schema([field for field in self._schema if field.name != name])
        try:
            others.empty_table().filter(self._expression)
        except pa.ArrowInvalid:
            return False
        return True

    def _of_offsets(self) -> Iterator[Condition]:
        if "offset" in self._schema.names:
            lowest, highest = self._bounds("offset", 1)
            if lowest is not None or highest is not None:
                yield Condition("offset", lowest=lowest, highest=highest)

    def _of_times(self, column: str) -> Iterator[Condition]:
        """Yield the bounds on a timestamp, unless the filter holds for rows without one."""
        if column not in self._schema.names:
            return
        field, kind = ds.field(column), self._schema.field(column).type
        none = field.is_null() if column == "timestamp" else field == -1
        if self._may_hold(none):
            return
        lowest, highest = self._bounds(column, _PER_MILLI[kind.unit] if pa.types.is_timestamp(kind) else 1)
        if lowest is not None or highest is not None:
            yield Condition("timestamp", lowest=lowest, highest=highest)

    def _bounds(self, column: str, unit: int) -> tuple[int | None, int | None]:
        """The least and the greatest value that the filter can hold for; None is open.

        Negative values are one with 0: headers do not show which negative timestamps there are.
        """
        field, kind, end = ds.field(column), self._schema.field(column).type, MAX_LONG // unit

        def scalar(value: int) -> Any:
            return pa.scalar(value * unit, kind)

        def first(is_reached: Callable[[int], bool]) -> int:
            return bisect_left(range(end), True, key=is_reached)

        lowest = highest = None
        if not self._may_hold(field <= scalar(0)):
            lowest = first(lambda value: self._may_hold(field <= scalar(value)))
        if not self._may_hold(field >= scalar(end)):
            highest = max(0, first(lambda value: not self._may_hold(field >= scalar(value))) - 1)
        return lowest, highest

    def _equal(self, column: str, value: str | int) -> Any:
        """The guarantee that a column has a value; None without that column."""
        if column not in self._schema.names:
            return None
        return ds.field(column) == pa.scalar(value, self._schema.field(column).type)

    def _may_hold(self, guarantee: Any) -> bool:
        """Whether Arrow keeps a fragment whose rows are known to fulfil the guarantee."""
        fragment = _FORMAT.make_fragment("", _FILES, partition_expression=guarantee)
        dataset = ds.FileSystemDataset([fragment], self._schema, _FORMAT, _FILES)
        return any(True for _kept in dataset.get_fragments(self._expression))
