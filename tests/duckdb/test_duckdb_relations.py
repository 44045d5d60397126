"""`relation`: any filter, SQL, times, the page; tests/doors has what polars is asked, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.house.commands import run_page
from tests.query.hourly_logs import (
    NUM_HOURS,
    PER_HOUR,
    write_hours,
)
from tests.query.predicate_trees import COLUMNS, Tree, sql_of, trees, values_of

import kafka_segments
from kafka_segments.duckdb import relation

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
FOLDERS = [RECORDED / version / "clean" for version in ("kafka-0.9", "kafka-4.3")]
TABLES = {folder: kafka_segments.scan(folder, columns=COLUMNS).read_all() for folder in FOLDERS}
VALUES = {folder: values_of(table) for folder, table in TABLES.items()}


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.parent.name)
def test_any_filter_gives_the_rows_that_it_holds_for(folder: Path, connection: Any) -> None:
    found = relation(folder, columns=COLUMNS, connection=connection)
    plain = TABLES[folder]
    at = COLUMNS.index("timestamp")  # DuckDB 1.3 compares milliseconds with what it cuts to milliseconds
    plain = plain.set_column(at, "timestamp", plain["timestamp"].cast(pa.timestamp("us", tz="UTC")))
    connection.register("plain", plain)

    @settings(max_examples=15)
    @given(trees(VALUES[folder]))
    def check(tree: Tree) -> None:
        where = sql_of(tree)
        expected = connection.sql(f"select * from plain where {where}").to_arrow_table()
        assert found.filter(where).to_arrow_table() == expected, where

    check()


def test_a_name_in_sql_is_read_by_the_default_connection(tmp_path: Path) -> None:
    write_hours(tmp_path)
    events = relation(tmp_path, columns=COLUMNS)
    query = 'select partition, count(*), max("offset") from events group by 1 order by 1'
    assert events.query("events", query).fetchall() == [
        (number, NUM_HOURS * PER_HOUR, NUM_HOURS * PER_HOUR - 1) for number in (0, 1)
    ]


def test_a_timestamp_beyond_microseconds_is_named(tmp_path: Path, connection: Any) -> None:
    log = tmp_path / "far-0"
    log.mkdir()
    kafka_segments.write_segment(log / f"{0:020}.log", [{"value": b"v", "timestamp": (1 << 62) + 1}])
    found = relation(tmp_path, columns=["timestamp", "timestamp_ms"], connection=connection)
    assert found.project("timestamp_ms").fetchall() == [((1 << 62) + 1,)]
    assert found.filter("timestamp_ms > 5").project("timestamp_ms").fetchall() == [((1 << 62) + 1,)]
    with pytest.raises(duckdb.InvalidInputException, match="select timestamp_ms instead"):
        found.project("epoch(timestamp)").fetchall()


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("polars-duckdb.md", "kafka_segments.duckdb", {"/var/lib/kafka": CLEAN, "orders": "multi"})
    assert "(0, " in capsys.readouterr().out
