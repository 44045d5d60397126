"""Run `kafka-segments ingest` in this process, without Spark: the same plan, tasks, commit and messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.spark import ingest as job
from kafka_segments.spark.sink import ParquetSink, row_of_task
from kafka_segments.spark.splits import pack

Table = dict[tuple[str, int], dict[str, str]]
Ingest = Callable[..., tuple[int, Table, str]]

_TITLES = ["batches", "records", "bytes in", "bytes out", "first offset", "last offset", "missing", "damage"]


def table_of(out: str) -> Table:
    """The closing table, by topic and partition; the totals under ("total", -1)."""
    lines = out.splitlines()
    titles = re.split(r" {2,}", lines[0].strip())
    assert titles == ["topic", "partition", *_TITLES]
    rows: Table = {}
    for line in lines[2:-2]:
        words = [word.replace(",", "") for word in line.split()]
        rows[words[0], int(words[1])] = dict(zip(_TITLES, words[2:], strict=True))
    assert set(lines[1]) == set(lines[-2]) == {"-", " "}
    total = [word.replace(",", "") for word in lines[-1].split()]
    assert total[:2] == ["total", str(len(rows))]
    summed = [title for title in _TITLES if "offset" not in title]
    rows["total", -1] = dict(zip(summed, total[2:], strict=True))
    return rows


PARTITIONS = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


def parquet_rows(destination: Path) -> list[kafka_rows.Row]:
    """The rows in the order of topic, partition and offset; types are given, as the docs say."""
    partitioning = pyarrow.dataset.partitioning(PARTITIONS, flavor="hive")
    data = pyarrow.dataset.dataset(destination, partitioning=partitioning)
    rows = kafka_rows.of_parquet(data.to_table())
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))


def not_internal(rows: list[kafka_rows.Row]) -> list[kafka_rows.Row]:
    """The rows of topics that are not Kafka's own; in the recorded sets these begin with two underscores."""
    return [row for row in rows if not row.topic.startswith("__")]


def without_spark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ingest:
    """The command; gives status, table, messages."""

    def run_tasks(self: Any) -> None:
        writer = ParquetSink(CaseInsensitiveDict(self._options)).writer(None, True)  # type: ignore[arg-type]
        rows = [row_of_task(task, self._live) for task in pack(self._splits)]
        batches = [pa.record_batch([pa.array([row])], names=["task"]) for row in rows]
        writer.commit([writer.write(iter([batch])) for batch in batches])

    def run(*words: Any) -> tuple[int, Table, str]:
        capsys.readouterr()
        status = main(["ingest", *map(str, words)])
        captured = capsys.readouterr()
        return status, table_of(captured.out) if captured.out else {}, captured.err

    monkeypatch.setattr(job._Job, "run", run_tasks)
    return run
