"""The rows that a consumer would be given, from Kafka's own reading of the recorded segments.

Knows nothing of the code under test: directories, checkpoints and headers are read here by other means.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
RECORDED, ORACLE = VECTORS / "recorded", VECTORS / "oracle"

SETS = (
    "kafka-4.3/clean",
    "kafka-4.3/before-cleaning",
    "kafka-4.3/running",
    "kafka-4.3/killed",
    "kafka-4.3/dynamic-quorum",
    "kafka-2.8/clean",
    "kafka-2.8/before-cleaning",
    "kafka-0.10.2/clean",
    "kafka-0.10.2/before-cleaning",
    "kafka-0.9/clean",
    "kafka-0.9/before-cleaning",
)
EXTREME = "kafka-4.3/extreme-timestamps"

# What java.lang.String makes of the recorded keys that are no UTF-8 (test_columns asks a JDK).
BAD_KEYS = {
    b"\x80": "\ufffd",
    b"caf\xc3": "caf\ufffd",
    b"\xed\xa0\x80": "\ufffd",
    b"\xc0\xaf": "\ufffd\ufffd",
    b"\xff\xfe": "\ufffd\ufffd",
}
TIMESTAMP_TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}


class Row(NamedTuple):
    """A row of Spark's `kafka` source; the timestamp in microseconds."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes | None], ...] | None


def partitions(name: str) -> dict[str, list[Path]]:
    """The partitions' directories of a set, with the oracle's files of their live segments."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ORACLE / name).glob("*/*.log.jsonl")):
        if not path.parent.name.endswith(("-delete", "-future", "-stray")):
            found.setdefault(path.parent.name, []).append(path)
    return found


def lines_of(name: str, directory: str) -> list[dict[str, Any]]:
    """What Kafka's own reading says of a partition: batches, and the records of each."""
    return [line for path in partitions(name)[directory] for line in _lines(path)]


def rows(name: str) -> list[Row]:
    """The data records of all partitions, by topic and number, then in the order of the files."""
    found = []
    starts = log_start_offsets(RECORDED / name)
    ordered = sorted(partitions(name).items(), key=lambda item: split_name(item[0]))
    for directory, files in ordered:
        topic, partition = split_name(directory)
        start = starts.get((topic, partition), 0)
        found += [
            _row(line, topic, partition)
            for path in files
            for line in _lines(path)
            if line["type"] == "record" and line["control"] is None and line["offset"] >= start
        ]
    return found


INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


def source_rows(name: str) -> list[Row]:
    """What the source gives of a whole log directory: no internal topics, unless there are no others."""
    found = rows(name)
    return [row for row in found if row.topic not in INTERNAL] or found


def split_name(directory: str) -> tuple[str, int]:
    topic, _, number = directory.rpartition("-")
    return topic, int(number)


def log_start_offsets(log_dir: Path) -> dict[tuple[str, int], int]:
    path = log_dir / "log-start-offset-checkpoint"
    if not path.exists():
        return {}
    entries = (line.split() for line in path.read_text().splitlines()[2:])
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}


def of_arrow(table: Any) -> list[Row]:
    """The rows of a pyarrow table that has the columns of the `kafka` source with headers."""
    # As numbers: Python's datetime ends with the year 9999.
    micros = table["timestamp"].cast("int64")
    columns = table.drop_columns("timestamp").to_pydict() | {"timestamp": micros.to_pylist()}
    names = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
    return [
        Row._make((*row[:-1], _pairs(row[-1])))
        for row in zip(*(columns[name] for name in names), strict=True)
    ]


def of_parquet(table: Any) -> list[Row]:
    """The rows of what `ingest` wrote, where "none" is null for a timestamp, an empty list for headers."""
    column = "timestamp_ms" if "timestamp_ms" in table.column_names else "timestamp"
    millis = table[column].cast("int64").fill_null(-1).to_pylist()
    names = ("key", "value", "topic", "partition", "offset", "timestamp_type", "headers")
    columns = [table[name].to_pylist() for name in names]
    return [
        Row._make((*row[:5], time * 1000, row[5], _texts(row[6])))
        for time, row in zip(millis, zip(*columns, strict=True), strict=True)
    ]


def _pairs(headers: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...] | None:
    if headers is None:
        return None
    return tuple((header["key"], header["value"]) for header in headers)


def _texts(headers: list[dict[str, Any]]) -> tuple[tuple[str, bytes | None], ...] | None:
    return tuple((_text(one["key"]), one["value"]) for one in headers) or None


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _row(line: dict[str, Any], topic: str, partition: int) -> Row:
    headers = tuple((_text(_bytes(header["key"])), _bytes(header["value"])) for header in line["headers"])
    return Row(
        _bytes(line["key"]),
        _bytes(line["value"]),
        topic,
        partition,
        line["offset"],
        line["timestamp"] * 1000,
        TIMESTAMP_TYPES[line["timestamp_type"]],
        headers or None,
    )


def _bytes(value: str | None) -> Any:
    return None if value is None else base64.b64decode(value)


def _text(key: bytes) -> str:
    return BAD_KEYS[key] if key in BAD_KEYS else key.decode()
