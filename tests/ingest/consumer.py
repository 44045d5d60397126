"""Kafka's own consumer, a Java process that is asked again and again; its rows in the form of a table's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.broker import harness, partitions
from tests.oracle import jvm
from tests.recording.server import Kit, RecordingError
from tests.spark import kafka_rows

PROGRAMS = (str(harness.HERE / "java"), str(Path(__file__).resolve().parent / "java"))


@dataclass
class Consumed:
    """What the consumer was given.

    Attributes:
        rows: by topic, partition and offset.
        bounds: first and end offset by topic and partition; the end is the last stable offset for readers of
            committed records, else the high watermark.
    """

    rows: list[kafka_rows.Row] = field(default_factory=list)
    bounds: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)


class JavaConsumer:
    """The process; `read` asks it."""

    def __init__(self, asks: IO[str], answers: IO[str]) -> None:
        self._asks, self._answers = asks, answers

    def read(self, bootstrap: str, isolation: str, names: Iterable[tuple[str, int]]) -> Consumed:
        """Read partitions from their first offset to the end that they have now.

        Raises:
            RecordingError: the process has ended; what it said is on standard error.
        """
        words = [f"{topic}:{number}" for topic, number in names]
        self._asks.write(" ".join([bootstrap, isolation, *words]) + "\n")
        self._asks.flush()
        found = Consumed()
        for text in self._answers:
            if text == "done\n":
                found.rows.sort(key=lambda row: (row.topic, row.partition, row.offset))
                return found
            line = json.loads(text)
            key = line["topic"], line["partition"]
            if line["type"] == "bounds":
                found.bounds[key] = line["first_offset"], line["end_offset"]
            else:
                found.rows.append(_row(partitions.row_of(line), *key))
        raise RecordingError(f"the consumer ended while it read {' '.join(words)} ({isolation})")


@contextmanager
def consuming() -> Iterator[JavaConsumer]:
    """Start the process; it ends with its input."""
    command, environment = Kit("k4", *PROGRAMS).command(*jvm.QUIET, "Consume")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield JavaConsumer(process.stdin, process.stdout)


def _row(row: partitions.Row, topic: str, partition: int) -> kafka_rows.Row:
    headers = tuple((key.decode(), value) for key, value in row.headers)
    kind = kafka_rows.TIMESTAMP_TYPES[row.timestamp_type]
    where = topic, partition, row.offset
    return kafka_rows.Row(row.key, row.value, *where, row.timestamp * 1000, kind, headers or None)
