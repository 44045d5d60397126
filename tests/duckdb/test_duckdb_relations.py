"""`relation`: a relation has the rows of `scan`, and reads no more than a query needs."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.house.commands import ROOT, python_blocks
from tests.query.hourly_logs import (
    HOUR,
    NUM_HOURS,
    PER_HOUR,
    T0,
    count_opened,
    note_read,
    segments_of,
    write_hours,
)
from tests.query.predicate_trees import COLUMNS, Tree, sql_of, trees, values_of

import kafka_segments
from kafka_segments.core.formats.entries import Damage
from kafka_segments.duckdb import relation
from kafka_segments.errors import KafkaFormatError, MissingExtraError, OptionError
from kafka_segments.query.read import split_reader

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
FOLDERS = [RECORDED / version / "clean" for version in ("kafka-0.9", "kafka-4.3")]
TABLES = {folder: kafka_segments.scan(folder, columns=COLUMNS).read_all() for folder in FOLDERS}
VALUES = {folder: values_of(table) for folder, table in TABLES.items()}


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("duckdb-hours")
    write_hours(folder)
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return count_opened(monkeypatch)


def rows_of(found: Any, schema: pa.Schema) -> pa.Table:
    """The rows of a relation with the types of a scan."""
    return found.to_arrow_table().cast(schema)


def whole(path: Path, **asked: Any) -> pa.Table:
    """A scan without headers, whose fields have other names in DuckDB."""
    return kafka_segments.scan(path, **asked).read_all().drop_columns(["headers"])


@pytest.mark.parametrize("folder", sorted(RECORDED.glob("*/clean")), ids=lambda path: path.parent.name)
def test_a_relation_has_the_rows_of_a_scan(folder: Path, connection: Any) -> None:
    for isolation in ("read_uncommitted", "read_committed"):
        found = relation(folder, isolation=isolation, connection=connection)  # type: ignore[arg-type]
        expected = whole(folder, isolation=isolation)
        assert rows_of(found.project("* exclude headers"), expected.schema) == expected
    headers = kafka_segments.scan(folder, columns=["headers"]).read_all()["headers"].to_pylist()
    found = relation(folder, connection=connection).project("headers")
    assert found.to_arrow_table()["headers"].to_pylist() == headers


def test_arguments_are_those_of_scan(connection: Any) -> None:
    asked: dict[str, Any] = {
        "topics": "codec-zstd",
        "offsets": (2, 50),
        "columns": ["leader_epoch", "offset"],
    }
    asked |= {"since": T0, "until": datetime(2030, 1, 1, tzinfo=UTC), "max_timestamp_skew": HOUR}
    found = relation(CLEAN, connection=connection, **asked)
    assert (found.columns, [str(one) for one in found.types]) == (asked["columns"], ["INTEGER", "BIGINT"])
    expected = kafka_segments.scan(CLEAN, **asked).read_all()
    assert rows_of(found, expected.schema) == expected


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


def test_a_name_in_sql_is_read_by_the_default_connection(hours: Path) -> None:
    events = relation(hours, columns=COLUMNS)
    query = 'select partition, count(*), max("offset") from events group by 1 order by 1'
    assert events.query("events", query).fetchall() == [
        (number, NUM_HOURS * PER_HOUR, NUM_HOURS * PER_HOUR - 1) for number in (0, 1)
    ]


def test_rows_are_limited(hours: Path, opened: Counter[str], connection: Any) -> None:
    found = relation(hours, columns=COLUMNS, connection=connection)
    opened.clear()
    assert len(found.limit(3).project('"offset"').fetchall()) == 3
    assert len(opened) < NUM_HOURS
    assert found.limit(0).project('"offset"').fetchall() == []


@pytest.mark.parametrize(
    ("where", "hours_read", "partitions"),
    [
        ("partition = 1", range(NUM_HOURS), {1}),
        (f'"offset" between {PER_HOUR * 20} and {PER_HOUR * 22 - 1}', range(20, 22), {0, 1}),
        (f"timestamp >= make_timestamptz({T0 + 38 * HOUR}001 - 1000)", range(38, 40), {0, 1}),
        ('"offset" = 6 and not partition <> 0', range(1, 2), {0}),
        ('"offset" < 2 or "offset" = 7', range(2), {0, 1}),
        ("topic = 'other'", range(0), set()),
    ],
)
def test_a_filter_leaves_out_segments(
    hours: Path,
    monkeypatch: pytest.MonkeyPatch,
    connection: Any,
    where: str,
    hours_read: range,
    partitions: set[int],
) -> None:
    expected = kafka_segments.scan(hours, columns=COLUMNS).read_all()
    connection.register("plain", expected)
    wanted = connection.sql(f"select * from plain where {where}").to_arrow_table()
    found = relation(hours, columns=COLUMNS, connection=connection)
    opened, read = count_opened(monkeypatch), note_read(monkeypatch)
    assert found.filter(where).to_arrow_table() == wanted
    needed = segments_of(partitions, hours_read)
    assert read == needed
    if "timestamp" not in where:  # an entry of each time index is verified
        assert len(opened.keys() - needed) <= 2  # the end of a log is looked for in its last segment


def test_only_columns_that_are_used_are_read(
    hours: Path, monkeypatch: pytest.MonkeyPatch, connection: Any
) -> None:
    read: list[list[str]] = []
    plain = split_reader.Reading

    def noted(columns: Any, **options: Any) -> Any:
        read.append(list(columns))
        return plain(columns, **options)

    monkeypatch.setattr(split_reader, "Reading", noted)
    found = relation(hours, connection=connection).filter('"offset" > 1').project("key")
    assert found.to_arrow_table().column_names == ["key"]
    assert read and all(sorted(columns) == ["key", "offset"] for columns in read)


def test_rows_are_counted_by_headers(hours: Path, monkeypatch: pytest.MonkeyPatch, connection: Any) -> None:
    monkeypatch.setattr(split_reader, "read_split", None)
    found = relation(hours, connection=connection)
    assert found.aggregate("count(*)").fetchall() == [(2 * NUM_HOURS * PER_HOUR,)]
    assert found.filter("partition = 1").aggregate("count(*)").fetchall() == [(NUM_HOURS * PER_HOUR,)]


def test_an_empty_directory_of_a_partition_has_no_rows(tmp_path: Path, connection: Any) -> None:
    log = tmp_path / "empty-0"
    log.mkdir()
    (log / "00000000000000000000.log").touch()
    found = relation(tmp_path, connection=connection)
    assert found.project("key").fetchall() == []
    assert found.aggregate("count(*)").fetchall() == [(0,)]


def test_damage_is_raised_skipped_or_given_to_a_function(tmp_path: Path, connection: Any) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    segment = tmp_path / "multi-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with pytest.raises(duckdb.InvalidInputException, match=r"ChecksumMismatchError(.|\n)*stored"):
        relation(tmp_path, connection=connection).project("key").fetchall()
    told: list[Damage] = []
    expected = whole(tmp_path, on_damage="skip", columns=["key", "headers"])
    found = relation(tmp_path, on_damage=told.append, connection=connection).project("key")
    assert rows_of(found, expected.schema) == expected
    assert len(told) == 1
    found = relation(tmp_path, on_damage="skip", connection=connection).aggregate("count(*)")
    assert found.fetchall() == [(len(expected),)]


def test_a_timestamp_beyond_microseconds_is_named(tmp_path: Path, connection: Any) -> None:
    log = tmp_path / "far-0"
    log.mkdir()
    kafka_segments.write_segment(log / f"{0:020}.log", [{"value": b"v", "timestamp": (1 << 62) + 1}])
    found = relation(tmp_path, columns=["timestamp", "timestamp_ms"], connection=connection)
    assert found.project("timestamp_ms").fetchall() == [((1 << 62) + 1,)]
    assert found.filter("timestamp_ms > 5").project("timestamp_ms").fetchall() == [((1 << 62) + 1,)]
    with pytest.raises(duckdb.InvalidInputException, match="select timestamp_ms instead"):
        found.project("epoch(timestamp)").fetchall()


def test_what_is_wrong_or_absent_is_our_error(tmp_path: Path) -> None:
    for wrong in (
        {"columns": ["nothing"]},
        {"on_damage": "ignore"},
        {"topics": "absent"},
        {"partitions": [99]},
    ):
        with pytest.raises(OptionError):
            relation(CLEAN, **wrong)  # type: ignore[arg-type]
    with pytest.raises(KafkaFormatError):
        relation(tmp_path / "nowhere")


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [one for one in sys.modules if one.startswith("kafka_segments.duckdb")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kafka-segments\[duckdb\]'") as caught:
        importlib.import_module("kafka_segments.duckdb")
    assert caught.value.extra == "duckdb"


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [
        one for one in python_blocks(ROOT / "docs" / "polars-duckdb.md") if "kafka_segments.duckdb" in one
    ]
    exec(code.replace("/var/lib/kafka", str(CLEAN)).replace("orders", "multi"), {})
    assert "(0, " in capsys.readouterr().out
