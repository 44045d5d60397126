"""Other writers of a Delta or Iceberg table, between the commit of a run and its publication or later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders.directories import append, run_of
from tests.ingest.ingested import Run

from kafka_segments.cli.main import main

deltalake = pytest.importorskip("deltalake")
actions = pytest.importorskip("deltalake.transaction")
iceberg_tables = pytest.importorskip("pyiceberg.table")
delta_table = pytest.importorskip("kafka_segments.ingest.tables.delta_table")
iceberg_table = pytest.importorskip("kafka_segments.ingest.tables.iceberg_table")
test_iceberg = pytest.importorskip("tests.ingest.test_iceberg")

DELTA, ICEBERG = ("--table", "delta"), ("--table", "iceberg")
CLASSES = {DELTA: delta_table.DeltaLakeTable, ICEBERG: iceberg_table.IcebergTable}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def taken(ingest: Run, out: Path, *words: str, ends: tuple[int, ...] = (9, 18)) -> Path:
    """A table of some runs; returns the logs."""
    logs, start = out.parent / "logs", 0
    for end in ends:
        append(logs / "t-0", *run_of(start, end))
        assert ingest(logs, out, *words)[0] == 0
        start = end
    return logs


def delta(out: Path) -> Any:
    return deltalake.DeltaTable(out)


def offsets(out: Path, words: tuple[str, ...] = DELTA) -> list[int]:
    if words[1] == "iceberg":
        found: list[int] = test_iceberg.loaded(out).scan().to_arrow()["redpanda" if words[2:] else "offset"]
        return sorted(one["offset"].as_py() if words[2:] else one.as_py() for one in found)
    return sorted(delta(out).to_pyarrow_table()["offset"].to_pylist())


def overwrite(out: Path, words: tuple[str, ...] = DELTA) -> None:
    """Write all rows anew, as others do."""
    if words[1] == "iceberg":
        table = test_iceberg.loaded(out)
        table.overwrite(table.scan().to_arrow())
    else:
        deltalake.write_deltalake(out, delta(out).to_pyarrow_table(), mode="overwrite")


def run(verb: str, *words: Any) -> int:
    return main([verb, "--engine", "local", *map(str, words)])


def overtake(
    patch: pytest.MonkeyPatch, kind: tuple[str, str], then: Callable[[], Any], has: str = "rewound"
) -> None:
    """Do something between the commit of the next run that rewinds, or removes files, and its publication."""
    real, left = CLASSES[kind]._add, [then]

    def add(self: Any, run: Any) -> None:
        if getattr(run, has) and left:
            left.pop()()
        real(self, run)

    patch.setattr(CLASSES[kind], "_add", add)


def test_a_compaction_that_optimize_has_overtaken(
    ingest: Run, audit: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = taken(ingest, out, *DELTA)
    overtake(monkeypatch, DELTA, delta(out).optimize.compact, "removed")
    assert run("compact", out) == 0
    assert offsets(out) == list(range(18))
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("words", [DELTA, ICEBERG, (*ICEBERG, "--layout", "redpanda")])
def test_a_rewind_that_others_have_overtaken(
    ingest: Run, audit: Run, out: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """The rows go by their offsets then, from the files that the table has by now."""
    logs = taken(ingest, out, *words)
    assert run("compact", out) == 0
    overtake(monkeypatch, words[:2], lambda: overwrite(out, words))
    assert run("rewind", out, "t-0", "--to-offset", "9") == 0
    assert offsets(out, words) == list(range(9))
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(18))
    if "--layout" not in words:  # whose files do not say of which topic they are
        assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("words", [DELTA, ICEBERG])
def test_rows_of_a_rewind_that_are_gone_already(
    ingest: Run, out: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    logs = taken(ingest, out, *words)

    def delete() -> None:
        if words is DELTA:
            delta(out).delete("offset >= 9")
        else:
            test_iceberg.loaded(out).delete("offset >= 9")

    overtake(monkeypatch, words, delete)
    assert run("rewind", out, "t-0", "--to-offset", "9") == 0
    assert offsets(out, words) == list(range(9))
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(18))


def test_files_of_the_newest_run_may_go(ingest: Run, audit: Run, out: Path) -> None:
    logs = taken(ingest, out, *DELTA)
    delta(out).optimize.compact()
    delta(out).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    append(logs / "t-0", *run_of(18, 27))
    status, _, err = ingest(logs, out, *DELTA)
    assert status == 0, err
    assert offsets(out) == list(range(27))
    assert audit(out, logs)[0] == 0


def test_a_run_that_removes_nothing_does_not_list_the_table(
    ingest: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_more: Any) -> None:
        raise AssertionError("all files were listed")

    monkeypatch.setattr(deltalake.DeltaTable, "get_add_actions", fail)
    taken(ingest, out, *DELTA)
