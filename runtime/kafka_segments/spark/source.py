"""The data source `kafka-segments`: `spark.read.format("kafka-segments").load(directory)`, and `df.write`.

Strategy: everything that a task needs rides in its `Task` or in the reader: what `partitions()` sets on the
reader, `read()` never sees (it is pickled before). pyarrow is imported where rows are made, so that the
format can be found, and say what is missing, without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import pyspark
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import OptionError
from kafka_segments.query.query import Condition
from kafka_segments.spark.filters import Pusher, conditions_of
from kafka_segments.spark.planning import Task, make_tasks
from kafka_segments.spark.read_options import ONCE, ReadOptions
from kafka_segments.spark.schema import arrow_schema, check_schema, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.spark.writing.segments_writer import KafkaSegmentsWriter

__all__ = ["KafkaSegmentsDataSource", "KafkaSegmentsReader"]

_log = get_logger(__name__)

# Columns that conditions can be of, by view: those whose values are what they are called in `records`.
_CONDITIONED = {"records": ("topic", "partition", "offset", "timestamp", "timestampms")}
_WHOLE = ("topic", "partition")

# Remarks on options of connections, as they were logged. Spark keeps the process that calls the source from
# one `load` to the next, and these remarks concern no record.
_logged: set[str] = set()


class KafkaSegmentsDataSource(DataSource):
    """Data source for Kafka's segment files, with schema and options of Spark's own `kafka` source.

    All options are in docs/spark-reference.md. Those of connections are accepted and mean nothing.

    Example:
        `spark.read.format("kafka-segments").option("includeHeaders", "true").load("/var/lib/kafka/data")`
    """

    def __init__(self, options: dict[str, str]) -> None:
        """Take the options; Spark calls this once for each `load` and each write."""
        super().__init__(options)

    @cached_property
    def _read(self) -> ReadOptions:
        """The options of a read, checked where they are used first: a write has others.

        Raises:
            OptionError: see `ReadOptions.parse`.
        """
        read = ReadOptions.parse(self.options)
        for remark in read.remarks:
            if remark not in _logged:
                _log.warning("%s", remark)
        _logged.add(read.ignored)
        return read

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "kafka-segments"

    def schema(self) -> StructType:
        """The columns, if the user gives no schema.

        Raises:
            OptionError: an unknown column is asked for.
        """
        return schema_of(self._read)

    def reader(self, schema: StructType) -> KafkaSegmentsReader:
        """A reader of the columns in `schema`, any of the view's in any order.

        Raises:
            OptionError: see `check_schema` and `ReadOptions.for_batch`.
        """
        check_schema(schema, self._read)
        if only := self._read.stream.only:
            _warn_once(f"these options have an effect only in streams: {', '.join(only)}")
        return KafkaSegmentsReader(schema, self._read.for_batch())

    def writer(self, schema: StructType, overwrite: bool) -> KafkaSegmentsWriter:
        """A writer of the rows of a DataFrame as segments.

        Raises:
            OptionError: see `WriteOptions.parse` and `KafkaSegmentsWriter`.
            MissingExtraError: pyarrow is not installed.
        """
        from kafka_segments.spark.writing.segments_writer import KafkaSegmentsWriter
        from kafka_segments.spark.writing.write_options import WriteOptions

        return KafkaSegmentsWriter(schema, WriteOptions.parse(self.options), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002, N802
        """Refuse: the format writes in batches.

        Raises:
            OptionError: always.
        """
        raise OptionError(
            "the format kafka-segments writes in batches only: use foreachBatch, and a directory for each"
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """A reader of a stream, of the columns in `schema`; before Spark 4.2 one that refuses.

        Its methods check schema and options: Spark replaces an error raised here by an UnboundLocalError.
        """
        try:
            from kafka_segments.spark.stream_reader import KafkaSegmentsStreamReader
        except ModuleNotFoundError:  # pyspark.sql.streaming.datasource
            return RefusedStream(
                f"streams of kafka-segments need Spark 4.2 or newer, but this is {pyspark.__version__}, "
                "where a source in Python has no Trigger.AvailableNow and no limit for a batch; "
                "`kafka-segments ingest SRC DEST` takes what is new since its last run, exactly once, with "
                "this Spark too"
            )
        try:
            return KafkaSegmentsStreamReader(schema, self._read)
        except OptionError as error:
            return RefusedStream(error.detail)


class RefusedStream(DataSourceStreamReader):
    """A reader that refuses when the stream starts.

    Args:
        why: text of the error.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def initialOffset(self) -> NoReturn:  # noqa: N802
        """Refuse.

        Raises:
            OptionError: always.
        """
        raise OptionError(self._why)

    def latestOffset(self) -> NoReturn:  # type: ignore[override]  # noqa: N802
        """Refuse, as `initialOffset`, for a query that goes on with a checkpoint."""
        self.initialOffset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> NoReturn:  # noqa: ARG002
        """Refuse, as `latestOffset`."""
        self.initialOffset()

    def read(self, partition: InputPartition) -> NoReturn:  # noqa: ARG002
        """Refuse; it is never called, for there are no partitions."""
        self.initialOffset()


def _warn_once(remark: str) -> None:
    if remark not in _logged:
        _log.warning("%s", remark)
    _logged.add(remark)


class KafkaSegmentsReader(DataSourceReader):
    """Plans on the driver (`partitions`), reads on executors (`read`)."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema = schema
        self._options = options
        self._conditions: list[Condition] = []

    @property
    def pushFilters(self) -> Pusher:  # noqa: N802  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take the filters of a query; they leave something out with `pushFilters=once` only."""
        return Pusher(self._push)

    def _push(self, filters: list[Any]) -> Iterable[Any]:
        # Spark 4.1 to 4.3 keep the tasks of the last plan that pushed a filter for all later queries of the
        # same frame or view, with other filters or none (docs/upstream/spark-python-filter-pushdown.md).
        if self._options.push_filters != ONCE:
            return filters
        columns = _CONDITIONED.get(self._options.view, _WHOLE)
        self._conditions = conditions_of(filters, columns)
        return filters

    def partitions(self) -> list[InputPartition]:
        """The tasks; the paths are listed again.

        Raises:
            KafkaFormatError: see `planning.make_tasks`.
        """
        return make_tasks(self._options, self._conditions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task as arrow batches of exactly the schema asked for.

        Raises:
            KafkaFormatError: what is damaged or lost, where that is an error; a file that cannot be opened; a
                value that Spark cannot take.
        """
        if not isinstance(partition, Task):
            return  # there was nothing to plan: Spark then sends one InputPartition(None)
        from kafka_segments.spark.reading import read_task

        yield from read_task(partition, arrow_schema(self._schema), self._options)
