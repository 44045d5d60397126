"""The writer of the data source: tasks write pieces, the driver makes them visible.

Strategy: Spark pickles the writer after the driver made it, and calls `commit` with one message a task, that
of the attempt that it took: what other attempts wrote is removed with the job's directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.spark.writing.write_destination import WriteDestination
from kafka_segments.spark.writing.write_options import WriteOptions
from kafka_segments.spark.writing.write_rows import check_write_schema
from kafka_segments.spark.writing.write_tasks import TaskOutput, write_task

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KafkaSegmentsWriter"]

_log = get_logger(__name__)


class KafkaSegmentsWriter(DataSourceArrowWriter):
    """Writes on executors (`write`), publishes on the driver (`commit`).

    Args:
        schema: of the DataFrame.
        options: of the write.
        overwrite: whether the partitions that are there are removed.

    Raises:
        OptionError: columns that cannot be written, or a destination that must not be written to.
        OutputError: a destination that cannot be listed.
    """

    def __init__(self, schema: StructType, options: WriteOptions, *, overwrite: bool) -> None:
        check_write_schema(schema, options)
        self._options = options
        self._destination = WriteDestination.open(options.path, overwrite=overwrite)
        self._destination.begin()
        for remark in options.remarks:
            _log.warning("%s", remark)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        """Write the rows of a task under names of its own.

        Raises:
            KafkaFormatError: see `write_task`.
        """
        return write_task(iterator, self._destination.staging, self._destination.existing, self._options)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the rows of all tasks visible.

        Raises:
            KafkaFormatError: see `WriteDestination.publish`; nothing is visible then.
        """
        outputs = [message for message in messages if isinstance(message, TaskOutput)]
        self._destination.publish([piece for output in outputs for piece in output.pieces], self._options)
        self._destination.discard()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Remove what the tasks wrote."""
        self._destination.discard()
