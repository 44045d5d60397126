"""Tasks whose first attempts write everything and then fail. Executors import them by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql.types import StructType

from kafka_segments.ingest.task import Output, WriteTask
from kafka_segments.spark.source import KafkaSegmentsDataSource
from kafka_segments.spark.writing.segments_writer import KafkaSegmentsWriter
from kafka_segments.spark.writing.write_options import WriteOptions
from kafka_segments.spark.writing.write_tasks import TaskOutput


@dataclass(frozen=True, slots=True)
class FlakyTask(WriteTask):
    """As `WriteTask`, but every second task fails once, when its files are written."""

    def run(self) -> Output:
        output = WriteTask.run(self)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
            Path(self.settings.root).parents[2].with_suffix(f".lost-{context.partitionId()}").touch()
            raise RuntimeError("this attempt is lost on purpose")
        return output


class FlakyWriter(KafkaSegmentsWriter):
    """As `KafkaSegmentsWriter`, but every second task fails once, when its segments are written."""

    def write(self, iterator: Iterator[Any]) -> TaskOutput:
        output = super().write(iterator)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
            Path(f"{self._options.path}.lost-{context.partitionId()}").touch()
            raise RuntimeError("this attempt is lost on purpose")
        return output


class FlakyDataSource(KafkaSegmentsDataSource):
    """The data source, with that writer."""

    @classmethod
    def name(cls) -> str:
        return "flaky-segments"

    def writer(self, schema: StructType, overwrite: bool) -> FlakyWriter:
        return FlakyWriter(schema, WriteOptions.parse(self.options), overwrite=overwrite)
