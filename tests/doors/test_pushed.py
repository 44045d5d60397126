"""Frames of polars and relations of DuckDB read what a query needs: columns, segments, a number of rows."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from tests.made.directories import append, run_of
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
from tests.query.predicate_trees import Tree, polars_of, sql_of
from tests.spark import kafka_rows
from tests.spark.test_reader import batches, flipped, segment

from kafka_segments.core.formats.entries import Damage
from kafka_segments.duckdb import relation
from kafka_segments.errors import KafkaFormatError, MissingExtraError, OptionError
from kafka_segments.polars import scan_segments
from kafka_segments.query.read import split_reader

CLEAN = kafka_rows.RECORDED / "kafka-4.3" / "clean"
Rows = list[tuple[Any, ...]]


def polars_rows(
    path: Path, names: list[str], tree: Tree | None = None, limit: int | None = None, **asked: Any
) -> Rows:
    frame = scan_segments(path, **asked)
    frame = (frame if tree is None else frame.filter(polars_of(tree))).select(names)
    return (frame if limit is None else frame.head(limit)).collect().rows()


def duckdb_rows(
    path: Path, names: list[str], tree: Tree | None = None, limit: int | None = None, **asked: Any
) -> Rows:
    found = relation(path, connection=duckdb.connect(), **asked)
    found = (found if tree is None else found.filter(sql_of(tree))).project(
        ", ".join(f'"{name}"' for name in names)
    )
    return (found if limit is None else found.limit(limit)).fetchall()


def polars_count(path: Path, tree: Tree | None = None, **asked: Any) -> Any:
    frame = scan_segments(path, **asked)
    return (frame if tree is None else frame.filter(polars_of(tree))).select(pl.len()).collect().item()


def duckdb_count(path: Path, tree: Tree | None = None, **asked: Any) -> Any:
    found = relation(path, connection=duckdb.connect(), **asked)
    found = found if tree is None else found.filter(sql_of(tree))
    return found.aggregate("count(*)").fetchall()[0][0]


every_frame = pytest.mark.parametrize("rows_of", [polars_rows, duckdb_rows])
every_count = pytest.mark.parametrize("count", [polars_count, duckdb_count])


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hours")
    write_hours(folder)
    return folder


@every_frame
@pytest.mark.parametrize(
    ("tree", "hours_read", "partitions", "offsets"),
    [
        (("partition", "=", 1), range(NUM_HOURS), {1}, range(NUM_HOURS * PER_HOUR)),
        (
            ("offset", "between", (PER_HOUR * 20, PER_HOUR * 22 - 1)),
            range(20, 22),
            {0, 1},
            range(PER_HOUR * 20, PER_HOUR * 22),
        ),
        (
            ("timestamp", ">=", datetime.fromtimestamp((T0 + 38 * HOUR) / 1000, UTC)),
            range(38, 40),
            {0, 1},
            range(PER_HOUR * 38, PER_HOUR * 40),
        ),
        (("and", [("offset", "=", 6), ("not", ("partition", "<>", 0))]), range(1, 2), {0}, [6]),
        (("or", [("offset", "<", 2), ("offset", "in", [3, 7])]), range(2), {0, 1}, [0, 1, 3, 7]),
        (("topic", "=", "other"), range(0), set(), []),
    ],
    ids=str,
)
def test_a_predicate_leaves_out_segments(
    hours: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_of: Callable[..., Rows],
    tree: Tree,
    hours_read: range,
    partitions: set[int],
    offsets: Any,
) -> None:
    opened, read = count_opened(monkeypatch), note_read(monkeypatch)
    found = rows_of(hours, ["partition", "offset"], tree)
    assert found == [(partition, offset) for partition in sorted(partitions) for offset in offsets]
    wanted = segments_of(partitions, hours_read)
    assert read == wanted
    if tree[0] != "timestamp":  # an entry of each time index is verified
        assert len(opened.keys() - wanted) <= 2  # the end of a log is looked for in its last segment


@every_frame
def test_only_columns_that_are_used_are_read(
    hours: Path, monkeypatch: pytest.MonkeyPatch, rows_of: Callable[..., Rows]
) -> None:
    read: list[list[str]] = []
    plain = split_reader.Reading

    def noted(columns: Any, **options: Any) -> Any:
        read.append(list(columns))
        return plain(columns, **options)

    monkeypatch.setattr(split_reader, "Reading", noted)
    assert rows_of(hours, ["key"], ("offset", ">", 1))
    assert read and all(sorted(columns) == ["key", "offset"] for columns in read)


@every_frame
def test_enough_rows_end_the_reading(
    hours: Path, monkeypatch: pytest.MonkeyPatch, rows_of: Callable[..., Rows]
) -> None:
    opened = count_opened(monkeypatch)
    assert len(rows_of(hours, ["offset"], limit=3)) == 3
    assert len(opened) < NUM_HOURS
    assert rows_of(hours, ["offset"], limit=0) == []


@every_count
def test_rows_are_counted_by_headers(
    hours: Path, monkeypatch: pytest.MonkeyPatch, count: Callable[..., Any]
) -> None:
    monkeypatch.setattr(split_reader, "read_split", None)
    assert count(hours) == 2 * NUM_HOURS * PER_HOUR
    assert count(hours, ("partition", "=", 1)) == NUM_HOURS * PER_HOUR
    assert count(CLEAN) == len(kafka_rows.source_rows("kafka-4.3/clean"))


@every_count
def test_nothing_and_what_is_damaged_is_counted_too(tmp_path: Path, count: Callable[..., Any]) -> None:
    assert count(segment(tmp_path / "empty-0", 0)) == 0
    damaged = segment(tmp_path / "t-4", 0, *batches(0), flipped(batches(1)[0]), *batches(2))
    assert count(damaged, on_damage="skip") == 2


@every_frame
def test_damage_is_given_to_a_function(tmp_path: Path, rows_of: Callable[..., Rows]) -> None:
    found: list[Damage] = []
    path = segment(tmp_path / "t-4", 0, *batches(0), flipped(batches(1)[0]), *batches(2))
    assert rows_of(path, ["offset"], on_damage=found.append) == [(0,), (2,)]
    assert len(found) == 1


@every_frame
def test_what_is_wrong_or_absent_is_our_error(tmp_path: Path, rows_of: Callable[..., Rows]) -> None:
    for wrong in (
        {"columns": ["nothing"]},
        {"columns": []},
        {"on_damage": "ignore"},
        {"isolation": "none"},
        {"since": datetime(2020, 1, 1)},
        {"max_timestamp_skew": timedelta(hours=-1)},
        {"storage_options": {"endpoint": "x"}},
        {"topics": "absent"},
        {"partitions": [99]},
    ):
        with pytest.raises(OptionError):
            rows_of(CLEAN, ["topic"], **wrong)
    with pytest.raises(KafkaFormatError):
        rows_of(tmp_path / "nowhere", ["topic"])


@every_frame
def test_options_are_those_of_scan(tmp_path: Path, rows_of: Callable[..., Rows]) -> None:
    path = append(tmp_path / "t-0", *run_of(0, 9))
    asked: dict[str, Any] = {"topics": "t", "offsets": (2, 5), "columns": ["leader_epoch", "offset"]}
    asked |= {"since": 0, "until": datetime(2030, 1, 1, tzinfo=UTC), "max_timestamp_skew": HOUR}
    assert [row[0] for row in rows_of(path, ["offset"], **asked)] == [2, 3, 4]


@pytest.mark.parametrize(
    ("room", "package"),
    [("polars", "polars"), ("polars", "pyarrow"), ("duckdb", "duckdb"), ("duckdb", "pyarrow")],
)
def test_without_the_packages_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, room: str, package: str
) -> None:
    for name in [one for one in sys.modules if one.startswith(f"kafka_segments.{room}")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'kafka-segments\[{room}\]'") as caught:
        importlib.import_module(f"kafka_segments.{room}")
    assert caught.value.extra == room
