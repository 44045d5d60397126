"""Run `kafka-segments ingest` and its like in this process, without Spark, and read what they wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.ingest.run_plan import Request
from kafka_segments.ingest.runs.run_state import TableSettings
from kafka_segments.query.query import Query

Table = dict[tuple[str, int], dict[str, str]]
Run = Callable[..., tuple[int, Table, str]]

OFFSETS = ["first offset", "end offset"]
COUNTS = ["records", "control", "aborted", "absent", "lost"]
INGEST_TITLES = [*OFFSETS, *COUNTS, "batches", "bytes in", "bytes out", "damage"]
AUDIT_TITLES = ["runs", "files", *OFFSETS, *COUNTS, "problems"]
PARTITIONS = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


def table_of(out: str, titles: list[str] = INGEST_TITLES) -> Table:
    """The closing table, by topic and partition; the totals under ("total", -1).

    Partitions with nothing new are in no row; there is a line with their number, which has to be right.
    """
    lines = out.splitlines()
    assert re.split(r" {2,}", lines[0].strip()) == ["topic", "partition", *titles]
    rows: Table = {}
    note = re.fullmatch(r"([\d,]+) partitions? ha(?:s|ve) nothing new", lines[-3])
    num_idle = int(note[1].replace(",", "")) if note else 0
    for line in lines[2 : -3 if note else -2]:
        words = [word.replace(",", "") for word in line.split()]
        rows[words[0], int(words[1])] = dict(zip(titles, words[2:], strict=True))
    assert set(lines[1]) == set(lines[-2]) == {"-", " "}
    total = [word.replace(",", "") for word in lines[-1].split()]
    assert total[:2] == ["total", str(len(rows) + num_idle)]
    summed = [title for title in titles if "offset" not in title and title != "runs"]
    rows["total", -1] = dict(zip(summed, total[2:], strict=True))
    return rows


def parquet_rows(destination: Path) -> list[kafka_rows.Row]:
    """The rows in the order of topic, partition and offset; types are given, as the docs say."""
    partitioning = pyarrow.dataset.partitioning(PARTITIONS, flavor="hive")
    data = pyarrow.dataset.dataset(destination, partitioning=partitioning)
    rows = kafka_rows.of_parquet(data.to_table())
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))


def request_of(
    sources: tuple[str, ...],
    destination: str,
    query: Query,
    columns: Sequence[str],
    kind: str = "parquet",
    **more: Any,
) -> Request:
    """What a run is asked to do."""
    return Request(sources, destination, query, TableSettings(kind, tuple(columns), query.isolation), **more)


def in_order(table: pa.Table) -> pa.Table:
    """The rows of a table of another system, by topic, partition and offset."""
    return table.sort_by([("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")])


def rows_in_millis(table: pa.Table) -> list[kafka_rows.Row]:
    """The rows of a table that has times in microseconds."""
    at, times = table.schema.get_field_index("timestamp"), table["timestamp"].cast(pa.timestamp("ms", "UTC"))
    return kafka_rows.of_parquet(table.set_column(at, "timestamp", times))


def fail(*_arguments: Any, **_more: Any) -> None:
    """What a disk that is gone makes of any call."""
    raise OSError("the disk is gone")


def not_internal(rows: list[kafka_rows.Row]) -> list[kafka_rows.Row]:
    """The rows of topics that are not Kafka's own; in the recorded sets these begin with two underscores."""
    return [row for row in rows if not row.topic.startswith("__")]


def data_files(destination: Path) -> list[str]:
    """Files that readers of the directory see, relative to it."""
    found = (path.relative_to(destination) for path in destination.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if not path.parts[0].startswith("_"))


def verb(capsys: pytest.CaptureFixture[str], titles: list[str], *command: str) -> Run:
    """A verb with its first words, in this process; gives status, table, messages."""

    def run(*words: Any) -> tuple[int, Table, str]:
        capsys.readouterr()
        status = main([*command, *map(str, words)])
        captured = capsys.readouterr()
        return status, table_of(captured.out, titles) if captured.out else {}, captured.err

    return run


def locally(capsys: pytest.CaptureFixture[str]) -> Run:
    """`ingest --engine local`."""
    return verb(capsys, INGEST_TITLES, "ingest", "--engine", "local")


def auditor(capsys: pytest.CaptureFixture[str]) -> Run:
    """`audit`."""
    return verb(capsys, AUDIT_TITLES, "audit")
