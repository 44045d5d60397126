"""The doors: functions that answer a question with rows, each by another way into the project.

A door that cannot be asked to raise, or to skip, says so by `None`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
from tests.doors.questions import Question
from tests.ingest.ingested import parquet_rows
from tests.spark import kafka_rows
from tests.spark.kafka_rows import Row
from tests.spark.planned import batches_of, reader_of

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.duckdb import relation
from kafka_segments.polars import scan_segments
from kafka_segments.query import scan_arguments
from kafka_segments.query.query import Limits

COLUMNS = ["topic", "partition", "offset", "timestamp_ms", "timestamp_type", "key", "value", "headers"]
Door = Callable[[Question, Sequence[Path], bool, Path], list[Row] | None]


def arguments(question: Question, *, is_skipping: bool) -> dict[str, Any]:
    """Those of `scan` and of what has the same."""
    asked = {
        "topics": question.topics and list(question.topics),
        "offsets": question.offsets,
        "since": question.since,
        "until": question.until,
        "isolation": question.isolation,
        "on_damage": "skip" if is_skipping else "raise",
        "columns": COLUMNS,
    }
    return {name: value for name, value in asked.items() if value is not None}


def by_scan(question: Question, paths: Sequence[Path], is_skipping: bool, _folder: Path) -> list[Row]:
    found = kafka_segments.scan(paths, **arguments(question, is_skipping=is_skipping))
    return kafka_rows.of_parquet(found.read_all())


def by_threads(question: Question, paths: Sequence[Path], is_skipping: bool, _folder: Path) -> list[Row]:
    """By `scan` with three threads, which read parts of segments, however small these are."""
    with patch.object(scan_arguments, "_SHARED", Limits(max_partition_bytes=4096)):
        found = kafka_segments.scan(paths, threads=3, **arguments(question, is_skipping=is_skipping))
    return kafka_rows.of_parquet(found.read_all())


def by_polars(question: Question, paths: Sequence[Path], is_skipping: bool, _folder: Path) -> list[Row]:
    frame = scan_segments(paths, **arguments(question, is_skipping=is_skipping))
    engine: Any = "streaming" if is_skipping else "in-memory"
    return kafka_rows.of_parquet(frame.collect(engine=engine).to_arrow())


def by_duckdb(question: Question, paths: Sequence[Path], is_skipping: bool, _folder: Path) -> list[Row]:
    asked = arguments(question, is_skipping=is_skipping)
    return kafka_rows.of_parquet(relation(paths, connection=duckdb.connect(), **asked).to_arrow_table())


def options(question: Question, paths: Sequence[Path], *, is_skipping: bool) -> dict[str, str]:
    """Those of the data source."""
    asked: dict[str, Any] = {
        "paths": json.dumps([str(path) for path in paths]),
        "subscribe": question.topics and ",".join(question.topics),
        "startingTimestamp": question.since,
        "endingTimestamp": question.until,
        "isolationLevel": question.isolation,
    }
    if question.offsets is not None and question.topics is not None:
        for name, offset in zip(("startingOffsets", "endingOffsets"), question.offsets, strict=True):
            asked[name] = json.dumps({question.topics[0]: {"0": offset}})
    if is_skipping:
        asked |= {"mode": "DROPMALFORMED", "failOnDataLoss": "false"}
    return {name: str(value) for name, value in asked.items() if value is not None}


def by_source(question: Question, paths: Sequence[Path], is_skipping: bool, _folder: Path) -> list[Row]:
    """By the data source, pickled on the way to its tasks, but without a JVM."""
    given = options(question, paths, is_skipping=is_skipping)
    found = [*batches_of(reader_of(**given, includeHeaders="true"))]
    return kafka_rows.of_arrow(pa.Table.from_batches(found)) if found else []


def by_ingest(question: Question, paths: Sequence[Path], is_skipping: bool, folder: Path) -> list[Row] | None:
    """By the rows that it writes; it skips what is damaged or lost, and ends with a status that tells."""
    is_internal = all(row.topic in kafka_rows.INTERNAL for row in question.rows()) and bool(question.rows())
    if not is_skipping or is_internal:
        return None
    given = options(question, paths, is_skipping=False)
    for name in ("paths", "subscribe", "isolationLevel"):
        given.pop(name, "")
    words = [word for pair in given.items() for word in ("-o", "=".join(pair))]
    words += ["--subscribe", ",".join(question.topics)] if question.topics else []
    words += ["--isolation", question.isolation, *map(str, paths), str(folder / "out")]
    assert main(["ingest", "--engine", "local", *words]) == question.status
    return parquet_rows(folder / "out") if question.status < 2 else None


DOORS: dict[str, Door] = {
    "scan": by_scan,
    "threads": by_threads,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "source": by_source,
    "ingest": by_ingest,
}
