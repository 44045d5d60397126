"""A stream by the steps that Spark takes, without a JVM: offsets as JSON, reader and tasks pickled."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.datasource import ReadAllAvailable
from tests.spark.planned import source_of

from kafka_segments.spark.stream_reader import KafkaSegmentsStreamReader

Rows = list[dict[str, Any]]


class Streamed:
    """A query, with the offsets that its checkpoint would have; `restart` is another process of it."""

    def __init__(self, path: Path | str, **options: str) -> None:
        self.options = {"path": str(path), **options}
        self.offsets: list[str] = []
        self.reader = self.restart()

    def restart(self, **options: str) -> KafkaSegmentsStreamReader:
        """Make a new reader, which knows nothing but the offsets."""
        self.options |= options
        source = source_of(**self.options)
        reader = pickle.loads(pickle.dumps(source)).streamReader(source.schema())
        assert isinstance(reader, KafkaSegmentsStreamReader)
        self.reader = reader
        return reader

    def plan(self, *, is_all: bool = False) -> bool:
        """Plan a batch, if there is one: its offset is in the checkpoint then."""
        if not self.offsets:
            self.offsets.append(json.dumps(self.reader.initialOffset()))
        limit = ReadAllAvailable() if is_all else self.reader.getDefaultReadLimit()
        end = json.dumps(self.reader.latestOffset(json.loads(self.offsets[-1]), limit))
        if end == self.offsets[-1]:
            return False
        self.offsets.append(end)
        return True

    def read(self) -> Rows:
        """The rows of the batch that was planned last."""
        start, end = map(json.loads, self.offsets[-2:])
        remote = pickle.loads(pickle.dumps(self.restart_for_tasks()))
        rows: Rows = []
        for task in self.reader.partitions(start, end):
            for batch in remote.read(pickle.loads(pickle.dumps(task))):
                index = batch.schema.get_field_index("timestamp")
                numbers = batch.set_column(index, "timestamp", batch["timestamp"].cast("int64"))
                rows += numbers.to_pylist()
        return rows

    def restart_for_tasks(self) -> KafkaSegmentsStreamReader:
        """A reader of the process that makes the tasks' function."""
        mine, theirs = self.reader, self.restart()
        self.reader = mine
        return theirs

    def batch(self) -> Rows | None:
        """The rows of the next batch; None if there is none."""
        return self.read() if self.plan() else None

    def rest(self) -> Rows:
        """The rows of all batches until there is none."""
        rows: Rows = []
        while (more := self.batch()) is not None:
            rows += more
        return rows

    def position(self) -> dict[str, Any]:
        """The newest offset, in Kafka's form."""
        return {topic: at for topic, at in json.loads(self.offsets[-1]).items() if topic != "#logs"}


def offsets_of(rows: Rows | None) -> list[tuple[int, int]]:
    """The partitions and offsets of rows, in order."""
    assert rows is not None
    return sorted((row["partition"], row["offset"]) for row in rows)


def span(partition: int, start: int, end: int) -> list[tuple[int, int]]:
    """The partition with each of some offsets."""
    return [(partition, offset) for offset in range(start, end)]
