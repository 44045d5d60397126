"""Tables in a store, written by tasks on Spark: the same files as from the local engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ingest.ingested import data_files, parquet_rows, request_of
from tests.ingest.stored import BUCKET, Bucket, bucket, s3_server, table
from tests.made.directories import append, run_of

from kafka_segments.core.io.jobs import Engine, LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.ingest.compact import compact
from kafka_segments.ingest.job import ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.ingest.tables import open_table
from kafka_segments.query.query import Query
from kafka_segments.spark.task_engine import SparkEngine

pytest.importorskip("obstore")
pytestmark = [pytest.mark.spark, pytest.mark.s3]

__all__ = ["bucket", "s3_server", "table"]


def contents(folder: Path) -> list[bytes]:
    return sorted((folder / name).read_bytes() for name in data_files(folder))


def test_both_engines_write_the_same(
    workers_path: None, engine: SparkEngine, bucket: Bucket, table: str, tmp_path: Path
) -> None:
    logs, outs = tmp_path / "logs", [f"s3a://{BUCKET}/{table}/{name}" for name in ("spark", "local")]
    engines: list[Engine] = [engine, LocalEngine(1)]
    for start in (0, 30):
        append(logs / "t-0", *run_of(start, start + 30))
        append(logs / "t-1", *run_of(start, start + 30))
        for out, own in zip(outs, engines, strict=True):
            query = Query(isolation="read_uncommitted")
            settings = bucket.settings
            request = request_of((str(logs),), out, query, tuple(SCHEMA.names), store_settings=settings)
            ingest(plan_ingest(request), own)
    folders = [bucket.folder / table / name for name in ("spark", "local")]
    assert contents(folders[0]) == contents(folders[1])
    for out, own in zip(outs, engines, strict=True):
        merged, made = compact(open_table("parquet", out, bucket.settings), own, target_bytes=1 << 20)
        assert (merged, made is not None) == (4, True)
    assert contents(folders[0]) == contents(folders[1])
    assert len(parquet_rows(folders[0])) == 120
    assert all(bucket.state_of(f"{table}/{folder.name}") == ["runs"] for folder in folders)
