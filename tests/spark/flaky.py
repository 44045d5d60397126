"""A task whose first attempts write everything and then fail. Executors import it by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark import TaskContext

from kafka_segments.ingest.task import Output, WriteTask


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
