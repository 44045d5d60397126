"""The Python of docs/ingest.md, its reference and docs/package.md runs as it stands, but for the paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.house.commands import run_page
from tests.made.directories import append, run_of

from kafka_segments.cli.main import main


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    append(tmp_path / "logs" / "orders-0", *run_of(0, 9))
    append(tmp_path / "logs" / "007-1", *run_of(0, 4))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "logs"


def test_the_parquet_code_of_the_ingest_page(logs: Path) -> None:
    assert main(["ingest", str(logs), "DEST", "--engine", "local"]) == 0
    rows = run_page("ingest.md", "import pyarrow.dataset")["rows"].to_table()
    assert {(topic, number) for topic, number in zip(*map(rows.column, ("topic", "partition")), strict=True)}
    assert sorted(set(rows.column("topic").to_pylist())) == ["007", "orders"]
    pytest.importorskip("polars")
    frame = run_page("ingest.md", "import polars")["rows"].collect()
    assert (frame.height, sorted(set(frame["topic"]))) == (13, ["007", "orders"])


def test_the_iceberg_code_of_the_reference(logs: Path) -> None:
    pytest.importorskip("pyiceberg")
    table = Path("DEST").resolve()
    assert main(["ingest", str(logs), str(table), "--engine", "local", "--table", "iceberg"]) == 0
    found = run_page("ingest-reference.md", "load_catalog", {"/data/DEST": table})
    assert found["rows"].num_rows == 13


def test_the_code_of_the_packages_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    append(tmp_path / "orders-0", *run_of(42, 45), base_offset=42)
    monkeypatch.chdir(tmp_path)
    run_page("package.md", "read_batches")
    assert capsys.readouterr().out.split()[0] == "3"
