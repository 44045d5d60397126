"""The rows of recorded logs: Kafka's own reading of them, and a model of what was committed."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.broker.partitions import fates_of
from tests.spark import kafka_rows
from tests.spark.kafka_rows import Row


@cache
def everything(name: str = "kafka-4.3/clean") -> list[Row]:
    """The rows of a log directory."""
    return kafka_rows.source_rows(name)


@cache
def committed(name: str) -> list[Row]:
    """Those of committed transactions, and of none, below the last stable offset."""
    kept = set()
    for directory in kafka_rows.partitions(name):
        _, stable, kinds = outcome(kafka_rows.lines_of(name, directory))
        data = [offset for offset, kind in kinds.items() if kind == "data" and offset < stable]
        kept |= {(*kafka_rows.split_name(directory), offset) for offset in data}
    return [row for row in everything(name) if (row.topic, row.partition, row.offset) in kept]


def of(topic: str, *ranges: range) -> list[Row]:
    """The rows of a topic's offsets."""
    own = [row for row in everything() if row.topic == topic]
    return [row for row in own if not ranges or any(row.offset in one for one in ranges)]


def outcome_of_all(lines: list[dict[str, Any]]) -> tuple[int, int, dict[int, str]]:
    """The end of the log, twice, and what each offset holds, by the lines of Kafka's reading."""
    ends = [line["last_offset"] + 1 for line in lines if line["type"] == "batch"]
    kinds = {
        line["offset"]: "data" if line["control"] is None else "control"
        for line in lines
        if line["type"] == "record"
    }
    end = max(ends, default=0)
    return end, end, kinds


def outcome(lines: list[dict[str, Any]]) -> tuple[int, int, dict[int, str]]:
    """Likewise for readers of committed records: the second number is the last stable offset."""
    end, _, kinds = outcome_of_all(lines)
    fates = fates_of(lines)
    kinds |= {offset: "aborted" for offset, fate in fates.items() if fate == "ABORT"}
    return end, min((offset for offset, fate in fates.items() if fate == "open"), default=end), kinds
