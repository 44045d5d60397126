"""`scan_segments`: any predicate, limits, memory, the page; tests/doors has what DuckDB is asked, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from tests.house.commands import run_page
from tests.python import run_python
from tests.query.predicate_trees import COLUMNS, Tree, polars_of, trees, values_of

import kafka_segments
from kafka_segments.polars import scan_segments
from kafka_segments.query.scan import ScanRequest

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
FOLDERS = [RECORDED / version / "clean" for version in ("kafka-0.9", "kafka-4.3")]
TABLES = {folder: kafka_segments.scan(folder, columns=COLUMNS).read_all() for folder in FOLDERS}
VALUES = {folder: values_of(table) for folder, table in TABLES.items()}


def whole(path: Path, **asked: Any) -> pl.DataFrame:
    return pl.DataFrame(kafka_segments.scan(path, **asked).read_all())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.parent.name)
def test_any_predicate_gives_the_rows_that_it_holds_for(folder: Path) -> None:
    frame, expected = scan_segments(folder, columns=COLUMNS), pl.DataFrame(TABLES[folder])

    @settings(max_examples=15)
    @given(trees(VALUES[folder]))
    def check(tree: Tree) -> None:
        predicate = polars_of(tree)
        assert frame.filter(predicate).collect().equals(expected.filter(predicate)), tree

    check()


def test_rows_are_limited() -> None:
    expected = whole(CLEAN, columns=COLUMNS)
    frame = scan_segments(CLEAN, columns=COLUMNS)
    for num_rows in (0, 1, 100, 10_000):
        assert frame.head(num_rows).collect().equals(expected.head(num_rows))
        some = frame.filter(pl.col("offset") > 5).head(num_rows).collect()
        assert some.equals(expected.filter(pl.col("offset") > 5).head(num_rows))
    assert frame.tail(3).collect().equals(expected.tail(3))
    assert frame.slice(700, 5).collect().equals(expected.slice(700, 5))


def test_only_values_are_read_as_views(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    batches = ScanRequest.batches

    def spied(self: ScanRequest, columns: Any, wanted: Any, binary: Any) -> Any:
        read.append((list(columns), binary))
        return batches(self, columns, wanted, binary)

    monkeypatch.setattr(ScanRequest, "batches", spied)
    frame, expected = scan_segments(CLEAN), whole(CLEAN)
    assert frame.select("key").collect().equals(expected.select("key"))
    has_value = pl.col("value").is_not_null()
    assert frame.filter(has_value).select("key").collect().equals(expected.filter(has_value).select("key"))
    assert read == [(["key"], "copy"), (["key", "value"], "view")]


MEMORY = """
import sys
import polars as pl
from kafka_segments.polars import scan_segments
from tests.python import peak

frame = scan_segments(sys.argv[1], columns=["offset", "value"])
size = pl.col("value").bin.size().cast(pl.Int64).sum()
frame.filter(pl.col("offset") < 1000).select(size).collect(engine="streaming")
before = peak()
print(frame.select(size).collect(engine="streaming").item(), (peak() - before) >> 20)
"""


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    num_rows, size = 60_000, 4_000
    log = tmp_path / "large-0"
    log.mkdir()
    with kafka_segments.open_writer(log / f"{0:020}.log") as writer:
        for _part in range(60):
            writer.write([{"value": bytes(size)}] * (num_rows // 60))
    total, grown = map(int, run_python("-c", MEMORY, tmp_path).stdout.split())
    assert total == num_rows * size
    assert grown < total / (1 << 20) / 2, f"{grown} MiB"


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("polars-duckdb.md", "import polars", {"/var/lib/kafka": CLEAN, "orders": "multi"})
    assert "shape: (0, 2)" in capsys.readouterr().out
