"""The data source `kafka-segments`: `spark.read.format("kafka-segments").load(directory)`.

Strategy: a task reads whole segments. Everything it needs rides in its `Task`: what `partitions()` sets on
the reader, `read()` never sees (it is pickled before). No override of `pushFilters`: with it Spark 4.1 to 4.3
would refuse every read unless a setting is on. pyarrow is imported where rows are made, so that the format
can be found, and say what is missing, without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_segments.entries import Damage, SoundBatches
from kafka_segments.errors import KafkaFormatError, MissingCodecError
from kafka_segments.logdir import list_partitions
from kafka_segments.spark import reading
from kafka_segments.spark.options import DROPMALFORMED, FAILFAST, ReadOptions
from kafka_segments.spark.schema import arrow_schema, check_schema, kafka_schema
from kafka_segments.spark.splits import SegmentSplit, pack, segment_splits

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KafkaSegmentsDataSource", "KafkaSegmentsReader", "Task"]

_log = logging.getLogger(__name__)


class KafkaSegmentsDataSource(DataSource):
    """Reads Kafka's segment files, with the schema of Spark's own `kafka` source.

    Options:
        path, paths: log directories, partitions' directories, or `.log` files.
        includeHeaders: `true` adds the column `headers`. Default `false`.
        checkCrc: `false` trusts the checksums. Default `true`.
        mode: `FAILFAST` (default) fails at damage; `DROPMALFORMED` delivers what is sound and warns on the
            executor's standard error.
        maxDecompressedBytes: what one batch may decompress to.

    Example:
        `spark.read.format("kafka-segments").option("includeHeaders", "true").load("/var/lib/kafka/data")`
    """

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "kafka-segments"

    def schema(self) -> StructType:
        """The columns, if the user gives no schema.

        Raises:
            OptionError: see `ReadOptions.parse`.
        """
        return kafka_schema(ReadOptions.parse(self.options).include_headers)

    def reader(self, schema: StructType) -> KafkaSegmentsReader:
        """A reader of the columns in `schema`, any of ours in any order.

        Raises:
            OptionError: see `ReadOptions.parse` and `check_schema`.
        """
        check_schema(schema)
        return KafkaSegmentsReader(schema, ReadOptions.parse(self.options))


@dataclass
class Task(InputPartition):
    """The segments that one task reads, one after the other."""

    splits: tuple[SegmentSplit, ...]


class KafkaSegmentsReader(DataSourceReader):
    """Lists segments on the driver (`partitions`), reads them on executors (`read`)."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema = schema
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """One task for a large segment or several small ones.

        Raises:
            KafkaFormatError: see `list_partitions`.
        """
        splits = segment_splits(list_partitions(self._options.paths))
        return [Task(task) for task in pack(splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task as arrow batches of exactly the schema asked for.

        Raises:
            KafkaFormatError: damage, if the mode is FAILFAST; in both modes a file that cannot be opened,
                and a timestamp out of range.
        """
        if not isinstance(partition, Task):
            return  # there was no segment to plan: Spark then sends one InputPartition(None)
        from kafka_segments.spark.columns import source_columns, spark_batch

        schema = arrow_schema(self._schema)
        for split in partition.splits:
            batches = reading.iter_batches(
                split,
                _Policy(self._options.mode, split),
                source_columns(schema),
                check_crc=self._options.check_crc,
                max_decompressed=self._options.max_decompressed,
            )
            try:
                for batch in batches:
                    yield spark_batch(batch, schema, split)
            except KafkaFormatError as error:
                raise reading.name_partition(error, split) from error


class _Policy:
    """What the modes say of damage (`reading.Findings`)."""

    def __init__(self, mode: str, split: SegmentSplit) -> None:
        self._mode = mode
        self._split = split

    def batches(self, batches: SoundBatches) -> None:
        """Sound; nothing to do."""

    def damage(self, damage: Damage) -> None:
        """Raise or warn. A codec that is not installed is no damage of the file: it raises in both modes."""
        if self._mode == FAILFAST or isinstance(damage.error, MissingCodecError):
            damage.error.path = damage.path
            if self._mode == FAILFAST:
                damage.error.detail += f'; .option("mode", "{DROPMALFORMED}") reads what is sound'
            raise damage.error
        _log.warning(
            "kafka-segments: topic %s, partition %d: %s",
            self._split.topic,
            self._split.partition,
            reading.describe(damage),
        )

    def pending(self, damage: Damage) -> None:
        """A later read will see it."""
