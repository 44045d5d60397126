"""Delta and Iceberg tables by packages of others: what is in them, and what others do to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.ingest.ingested import in_order

from kafka_segments.cli.main import main
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.tables import open_table

deltalake = pytest.importorskip("deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog")
iceberg_tables = pytest.importorskip("pyiceberg.table")
exceptions = pytest.importorskip("pyiceberg.exceptions")
delta_table = pytest.importorskip("kafka_segments.ingest.tables.delta_table")
iceberg_table = pytest.importorskip("kafka_segments.ingest.tables.iceberg_table")

Words = tuple[str, ...]
DELTA, ICEBERG = ("--table", "delta"), ("--table", "iceberg")
CLASSES = {DELTA: delta_table.DeltaLakeTable, ICEBERG: iceberg_table.IcebergTable}
COMMITS: dict[Words, tuple[Any, str, type[Exception]]] = {
    DELTA: (
        deltalake.DeltaTable,
        "create_write_transaction",
        deltalake.exceptions.CommitFailedError,
    ),
    ICEBERG: (iceberg_tables.Transaction, "commit_transaction", exceptions.CommitFailedException),
}
"""The method that commits, and what it raises if another was first."""
both = pytest.mark.parametrize("words", [DELTA, ICEBERG], ids=["delta", "iceberg"])


def delta(out: Path) -> Any:
    return deltalake.DeltaTable(out)


def iceberg(out: Path) -> Any:
    """The table, through a catalog as the docs say."""
    uri = f"sqlite:///{quote(str(out))}/_kafka_segments/catalog.db"
    return catalogs.load_catalog("kafka_segments", type="sql", uri=uri).load_table("kafka.records")


def table_of(out: Path, words: Words) -> pa.Table:
    found: pa.Table = delta(out).to_pyarrow_table() if words[1] == "delta" else iceberg(out).scan().to_arrow()
    return found


def rows(out: Path, words: Words) -> pa.Table:
    return in_order(table_of(out, words))


def offsets(out: Path, words: Words = DELTA) -> list[int]:
    found = table_of(out, words)
    if "redpanda" in words:
        return sorted(one["offset"].as_py() for one in found["redpanda"])
    return sorted(found["offset"].to_pylist())


def num_files(out: Path, words: Words) -> int:
    return len(delta(out).file_uris() if words == DELTA else list(iceberg(out).scan().plan_files()))


def overwrite(out: Path, words: Words) -> None:
    """Write all rows anew, as others do."""
    if words[1] == "iceberg":
        iceberg(out).overwrite(table_of(out, words))
    else:
        deltalake.write_deltalake(out, table_of(out, words), mode="overwrite")


def publish(out: Path, words: Words) -> None:
    """Another process publishes the newest run."""
    run = RunLog(str(out)).newest()
    assert run is not None
    open_table(words[1], str(out)).publish(run)


def call(verb: str, *words: Any) -> int:
    """The exit status of a command with the local engine."""
    return main([verb, "--engine", "local", *map(str, words)])
