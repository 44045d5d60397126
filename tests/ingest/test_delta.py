"""Delta tables: rows as the package `deltalake` reads them back, runs that end too soon, other writers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest
from tests.ingest.ingested import Run, fail, in_order, not_internal, rows_in_millis
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.errors import OutputError
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.tables import open_table

deltalake = pytest.importorskip("deltalake")
delta_table = pytest.importorskip("kafka_segments.ingest.tables.delta_table")

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


def rows(destination: Path) -> pa.Table:
    return in_order(deltalake.DeltaTable(destination).to_pyarrow_table())


def offsets(destination: Path) -> list[int]:
    found: list[int] = rows(destination)["offset"].to_pylist()
    return found


def test_rows_are_those_of_kafka(ingest: Run, audit: Run, tmp_path: Path) -> None:
    status, _, err = ingest(CLEAN, tmp_path / "out", "--table", "delta")
    assert status == 0, err
    expected = not_internal(kafka_rows.rows("kafka-4.3/clean"))
    found = rows(tmp_path / "out")
    assert rows_in_millis(found) == expected
    assert {"topic": pa.string(), "partition": pa.int32()}.items() <= {
        field.name: field.type for field in found.schema
    }.items()
    assert audit(tmp_path / "out", CLEAN)[0] == 0


def test_runs_and_compact(ingest: Run, audit: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for end in (9, 12, 15):
        assert ingest(logs, out, "--table", "delta")[0] == 0
        append(logs / "t-0", *run_of(end, end + 3))
    assert offsets(out) == list(range(15))
    table = deltalake.DeltaTable(out)
    assert table.transaction_version("kafka-segments ingest") == 3
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert sorted((one["min.offset"], one["max.offset"], one["num_records"]) for one in actions) == [
        (0, 8, 9), (9, 11, 3), (12, 14, 3),
    ]  # fmt: skip
    assert main(["compact", "--engine", "local", str(out)]) == 0
    assert (offsets(out), len(deltalake.DeltaTable(out).file_uris())) == (list(range(15)), 1)
    assert ingest(logs, out, "--table", "delta")[1]["t", 0]["records"] == "3"
    assert offsets(out) == list(range(18))
    assert audit(out, logs)[0] == 0
    status, _, err = ingest(logs, out)
    assert (status, "--table delta" in err) == (2, True)


@pytest.mark.parametrize("division", ["date", "hour"])
def test_divided_by_time(ingest: Run, audit: Run, logs: Path, tmp_path: Path, division: str) -> None:
    out = tmp_path / "out"
    assert ingest(logs, out, "--table", "delta", "--divide-by", division)[0] == 0
    table = deltalake.DeltaTable(out)
    names = ["topic", "partition", "date", *(["hour"] if division == "hour" else [])]
    assert table.metadata().partition_columns == names
    found = table.to_pyarrow_table()
    assert [str(one) for one in set(found["date"].to_pylist())] == ["2023-11-14"]
    assert found.num_rows == 9
    assert audit(out, logs)[0] == 0


def test_columns_that_are_added(ingest: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ingest(logs, out, "--table", "delta", "-o", "columns=offset")
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, out, "--table", "delta", "-o", "columns=offset,key")
    assert status == 0, err
    assert rows(out)["key"].to_pylist() == [None] * 9 + [b"k"] * 3


def test_a_run_that_ends_before_the_table_has_it_is_finished(
    ingest: Run, audit: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    ingest(logs, out, "--table", "delta")
    append(logs / "t-0", *run_of(9, 12))
    with monkeypatch.context() as patch:
        patch.setattr(deltalake.DeltaTable, "create_write_transaction", fail)
        assert ingest(logs, out, "--table", "delta")[0] == 3
    assert offsets(out) == list(range(9))
    assert ingest(logs, out, "--table", "delta")[0] == 0
    assert offsets(out) == list(range(12))
    assert audit(out, logs)[0] == 0


def test_a_run_is_added_once_whoever_adds_it(
    ingest: Run, audit: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has added it after this one looked: the transaction fails, and is found done."""
    out = tmp_path / "out"
    ingest(logs, out, "--table", "delta")
    append(logs / "t-0", *run_of(9, 12))
    real: Callable[..., None] = deltalake.DeltaTable.create_write_transaction
    is_other = [True]

    def write(self: Any, *arguments: Any, **more: Any) -> None:
        if is_other and is_other.pop():
            run = RunLog(str(out)).newest()
            assert run is not None
            open_table("delta", str(out)).publish(run)
        real(self, *arguments, **more)

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", write)
    assert ingest(logs, out, "--table", "delta")[0] == 0
    assert offsets(out) == list(range(12))
    assert audit(out, logs)[0] == 0


def test_a_transaction_that_fails_after_it_was_stored_is_done(
    ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    real: Callable[..., None] = deltalake.DeltaTable.create_write_transaction
    errors = [deltalake.exceptions.CommitFailedError("no answer")]

    def write(self: Any, *arguments: Any, **more: Any) -> None:
        real(self, *arguments, **more)
        if errors:
            raise errors.pop()

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", write)
    assert ingest(logs, out, "--table", "delta")[0] == 0
    assert offsets(out) == list(range(9))


def test_others_may_write_the_table_too(ingest: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ingest(logs, out, "--table", "delta")
    deltalake.DeltaTable(out).optimize.compact()
    deltalake.write_deltalake(out, rows(out).slice(0, 2), mode="append")
    append(logs / "t-0", *run_of(9, 12))
    assert ingest(logs, out, "--table", "delta")[0] == 0
    assert offsets(out) == sorted([*range(12), 0, 1])


def test_a_table_that_cannot_be_written_is_an_error(ingest: Run, logs: Path, tmp_path: Path) -> None:
    ingest(logs, tmp_path / "out", "--table", "delta")
    run = RunLog(str(tmp_path / "out")).newest()
    assert run is not None
    log = tmp_path / "out" / "_delta_log"
    (log / f"{0:020}.json").write_text(json.dumps({"nonsense": True}))
    with pytest.raises(OutputError, match="the Delta table cannot be written"):
        open_table("delta", str(tmp_path / "out")).publish(run)
