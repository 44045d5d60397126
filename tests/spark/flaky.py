"""A sink whose first attempts write everything and then fail. Executors import it by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql.types import StructType

from kafka_segments.spark.sink import ParquetSink, ParquetWriter, TaskResult


class FlakySink(ParquetSink):
    """As `ParquetSink`, but every second task fails once."""

    def writer(self, schema: StructType, overwrite: bool) -> ParquetWriter:
        good = super().writer(schema, overwrite)
        return FlakyWriter(**{name.removeprefix("_"): value for name, value in vars(good).items()})


class FlakyWriter(ParquetWriter):
    """Its first attempt is lost after the files are written, as when an executor dies."""

    def write(self, iterator: Iterator[Any]) -> TaskResult:
        result = super().write(iterator)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
            Path(f"{self._destination}.lost-{context.partitionId()}").touch()
            raise RuntimeError("this attempt is lost on purpose")
        return result
