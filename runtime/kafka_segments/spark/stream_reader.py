"""The stream of `spark.readStream.format("kafka-segments")`: Spark 4.2 and newer.

Strategy: an offset of the stream is a position in each partition (`stream_offsets`). Spark writes the end of
a batch to the checkpoint before the batch runs, and after a failure asks for the same range again; what is
read is a function of that range and the logs, or an error. Limits are those of Spark's connector
(KafkaMicroBatchStream): shared among partitions by what they have, each of which gets one offset at least.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kafka_segments.errors import OptionError
from kafka_segments.query.query import TopicPartition
from kafka_segments.spark.planning import Task
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.schema import arrow_schema, check_schema
from kafka_segments.spark.stream_logs import StreamLogs
from kafka_segments.spark.stream_offsets import Positions, from_offset, to_kafka_json, to_offset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KafkaSegmentsStreamReader"]

Ends = Mapping[TopicPartition, int]


class KafkaSegmentsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches in a process on the driver that lives as long as the query; reads on executors."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema = schema
        self._options = options
        self._target: Ends | None = None
        self._latest: Ends | None = None
        self._batch_began: float | None = None

    @cached_property
    def _logs(self) -> StreamLogs:
        """The logs; made by the first method that Spark calls, whose errors reach the user."""
        options = self._options.for_stream()
        check_schema(self._schema, options)
        return StreamLogs(options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins, by the options for starting.

        Raises:
            OptionError: an option that streams refuse, or an unknown column.
            KafkaFormatError: see `StreamLogs.beginnings`.
        """
        return to_offset(self._logs.beginnings())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limits that options set: Spark hands on one, and `latestOffset` knows the other."""
        stream = self._options.stream
        if stream.max_offsets is not None:
            return ReadMaxRows(stream.max_offsets)
        return ReadAllAvailable() if stream.min_offsets is None else ReadMinRows(stream.min_offsets)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note where logs end now: the query ends there.

        Raises:
            OptionError: as `initialOffset`.
            KafkaFormatError: see `StreamLogs.log_ends`.
        """
        self._target = self._logs.log_ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next batch ends: `start` as it is, if there is none.

        Args:
            start: where the last batch ended.
            limit: `ReadAllAvailable` if options are to set none.

        Raises:
            OptionError: as `initialOffset`, and a `start` that is of another source.
            KafkaFormatError: see `StreamLogs.ends`.
        """
        logs, positions = self._logs, from_offset(start)
        ends = logs.ends(positions)
        if self._target is not None:
            ends = _bounded(ends, positions, self._target)
        self._latest = ends
        if not isinstance(limit, ReadAllAvailable):
            if self._is_to_wait(_num_new(ends, positions)):
                return start
            if isinstance(limit, ReadMaxRows):
                ends = shared_out(ends, positions, limit.max_rows)
        if ends == {key: one.next_offset for key, one in positions.items()}:
            return start
        self._batch_began = time.monotonic()
        return to_offset(logs.moved(positions, ends))

    def _is_to_wait(self, num_new: int) -> bool:
        """Whether there are too few offsets for a batch, and the last one is not long ago."""
        stream = self._options.stream
        # With Trigger.AvailableNow, a batch that waits would be the end of the query.
        if stream.min_offsets is None or self._target is not None or self._batch_began is None:
            return False
        waited = time.monotonic() - self._batch_began
        return num_new < stream.min_offsets and waited * 1000 < stream.max_delay_ms

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The end of what could be read when the last batch was planned, in Kafka's form."""
        return None if self._latest is None else to_kafka_json(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch.

        Raises:
            OptionError: as `latestOffset`.
            KafkaFormatError: see `StreamLogs.tasks`.
        """
        return list(self._logs.tasks(from_offset(start), from_offset(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task as arrow batches of exactly the schema asked for.

        Raises:
            KafkaFormatError: what is damaged or lost, where that is an error; a file that cannot be opened; a
                value that Spark cannot take.
        """
        if not isinstance(partition, Task):
            raise OptionError(f"no task of a stream: {partition!r:.200}")
        from kafka_segments.spark.reading import read_task

        yield from read_task(partition, arrow_schema(self._schema), self._options.for_stream())


def _bounded(ends: Ends, positions: Positions, target: Ends) -> dict[TopicPartition, int]:
    """Ends that are not above those of a target; partitions that are not in it stay where they are."""
    bounded = {}
    for key, end in ends.items():
        if key in positions:
            start = positions[key].next_offset
            bounded[key] = max(start, min(end, target.get(key, start)))
        elif key in target:
            bounded[key] = end
    return bounded


def _num_new(ends: Ends, positions: Positions) -> int:
    return sum(end - positions[key].next_offset for key, end in ends.items() if key in positions)


def shared_out(ends: Ends, positions: Positions, most: int) -> dict[TopicPartition, int]:
    """Return ends with so many offsets between them and the positions, by the share of each partition.

    Args:
        ends: of what can be read.
        positions: where reading goes on; a partition without one stays at its end.
        most: offsets; a few more where more partitions have new ones (KafkaMicroBatchStream.rateLimit).
    """
    total = _num_new(ends, positions)
    if total <= most:
        return dict(ends)
    shared = {}
    for key, end in ends.items():
        start = positions[key].next_offset if key in positions else end
        share = most * (end - start) / total
        shared[key] = min(end, start + (math.ceil(share) if share < 1 else math.floor(share)))
    return shared
