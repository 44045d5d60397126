"""Iceberg tables: rows as `pyiceberg` and polars read them back, runs that end too soon, other writers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.forms import pick
from tests.ingest.ingested import Run, fail, in_order, not_internal, request_of, rows_in_millis
from tests.ingest.killed import run_killed
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import ConflictError
from kafka_segments.ingest.job import ingest as ingest_run
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.tables import open_table
from kafka_segments.query.query import Query

pyiceberg = pytest.importorskip("pyiceberg")
catalogs = pytest.importorskip("pyiceberg.catalog")
tables = pytest.importorskip("pyiceberg.table")
exceptions = pytest.importorskip("pyiceberg.exceptions")
iceberg_table = pytest.importorskip("kafka_segments.ingest.tables.iceberg_table")

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
ICEBERG = ("--table", "iceberg")


def loaded(destination: Path) -> Any:
    """The table, through a catalog as the docs say."""
    uri = f"sqlite:///{quote(str(destination))}/_kafka_segments/catalog.db"
    return catalogs.load_catalog("kafka_segments", type="sql", uri=uri).load_table("kafka.records")


def rows(destination: Path) -> pa.Table:
    return in_order(loaded(destination).scan().to_arrow())


def offsets(destination: Path) -> list[int]:
    found: list[int] = rows(destination)["offset"].to_pylist()
    return found


def test_rows_are_those_of_kafka(ingest: Run, audit: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, _, err = ingest(CLEAN, out, *ICEBERG)
    assert status == 0, err
    assert rows_in_millis(rows(out)) == not_internal(kafka_rows.rows("kafka-4.3/clean"))
    assert [str(field) for field in loaded(out).spec().fields] == [
        "1000: topic: identity(1)",
        "1001: partition: identity(2)",
    ]
    status, _, err = audit(out, CLEAN)
    assert status == 0, err


def test_polars_reads_it(ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars", "2.1")  # 2.0 finds no field ids with pyarrow 18
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # its own one is a package of its own
    ingest(logs, tmp_path / "out", *ICEBERG)
    found = polars.scan_iceberg(loaded(tmp_path / "out")).filter(polars.col("offset") > 3).collect()
    assert found.sort("offset").select("topic", "partition", "offset", "key").rows() == [
        ("t", 0, offset, b"k") for offset in range(4, 9)
    ]


def test_runs_and_compact(ingest: Run, audit: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for end in (9, 12, 15):
        assert ingest(logs, out, *ICEBERG)[0] == 0
        append(logs / "t-0", *run_of(end, end + 3))
    assert offsets(out) == list(range(15))
    table = loaded(out)
    runs = [name for name in table.properties if name.startswith("kafka-segments.run.")]
    assert [table.properties[name] for name in runs] == ["3"]
    assert [one.summary[runs[0]] for one in table.snapshots()] == ["1", "2", "3"]
    assert table.scan("offset > 9").count() == 5
    assert [task.file.record_count for task in table.scan("offset > 11").plan_files()] == [3]
    assert main(["compact", "--engine", "local", str(out)]) == 0
    assert (offsets(out), len(list(loaded(out).scan().plan_files()))) == (list(range(15)), 1)
    assert ingest(logs, out, *ICEBERG)[1]["t", 0]["records"] == "3"
    assert offsets(out) == list(range(18))
    status, _, err = audit(out, logs)
    assert status == 0, err
    status, _, err = ingest(logs, out)
    assert (status, "--table iceberg" in err) == (2, True)


@pytest.mark.parametrize("division", ["date", "hour"])
def test_divided_by_time(ingest: Run, audit: Run, logs: Path, tmp_path: Path, division: str) -> None:
    out = tmp_path / "out"
    append(logs / "t-0", *run_of(9, 12, base_timestamp=-90_000_000, max_timestamp=-90_000_000))
    status, _, err = ingest(logs, out, *ICEBERG, "--divide-by", division)
    assert status == 0, err
    table = loaded(out)
    transform = "day" if division == "date" else "hour"
    assert [str(field.transform) for field in table.spec().fields] == ["identity", "identity", transform]
    assert table.scan("timestamp < '1970-01-01T00:00:00+00:00'").count() == 3
    assert len(list(table.scan("timestamp >= '2023-11-14T00:00:00+00:00'").plan_files())) == 1
    assert offsets(out) == list(range(12))
    assert audit(out, logs)[0] == 0


def test_times_that_it_cannot_be_divided_by(ingest: Run, logs: Path, tmp_path: Path) -> None:
    status, _, err = ingest(logs, tmp_path / "a", *ICEBERG, "--divide-by", "date", "-o", "columns=offset")
    assert (status, "needs the column timestamp" in err) == (2, True)
    append(logs / "t-0", *run_of(9, 12, base_timestamp=1 << 50, max_timestamp=1 << 50))
    words = ("--divide-by", "date", "-o", "timestampOverflow=error")
    status, _, err = ingest(logs, tmp_path / "b", *ICEBERG, *words)
    assert (status, "years 1 to 9999" in err) == (3, True)
    assert ingest(logs, tmp_path / "b", *ICEBERG, "--divide-by", "date")[0] == 1
    assert offsets(tmp_path / "b") == list(range(12))
    assert ingest(logs, tmp_path / "c", *ICEBERG)[0] == 0
    assert offsets(tmp_path / "c") == list(range(12))


def test_columns_that_are_added(ingest: Run, audit: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG, "-o", "columns=offset")
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, out, *ICEBERG, "-o", "columns=offset,key,headers")
    assert status == 0, err
    assert rows(out)["key"].to_pylist() == [None] * 9 + [b"k"] * 3
    assert main(["compact", "--engine", "local", str(out)]) == 0
    assert rows(out)["key"].to_pylist() == [None] * 9 + [b"k"] * 3
    assert audit(out, logs)[0] == 0


def test_a_run_that_ends_before_the_table_has_it_is_finished(
    ingest: Run, audit: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG)
    append(logs / "t-0", *run_of(9, 12))
    with monkeypatch.context() as patch:
        patch.setattr(tables.Transaction, "commit_transaction", fail)
        status, _, err = ingest(logs, out, *ICEBERG)
    assert (status, "cannot be written: the disk is gone" in err) == (3, True)
    assert offsets(out) == list(range(9))
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert offsets(out) == list(range(12))
    assert audit(out, logs)[0] == 0


def publish(out: Path) -> None:
    """Another process publishes the newest run."""
    run = RunLog(str(out)).newest()
    assert run is not None
    open_table("iceberg", str(out)).publish(run)


def test_a_run_is_added_once_whoever_adds_it(
    ingest: Run, audit: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has added it after this one looked: the transaction fails, and is found done."""
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG)
    append(logs / "t-0", *run_of(9, 12))
    real: Callable[..., Any] = tables.Transaction.commit_transaction
    is_other, failed = [True], []

    def commit(self: Any) -> Any:
        if is_other and is_other.pop():
            publish(out)
        try:
            return real(self)
        except exceptions.CommitFailedException:
            failed.append(True)
            raise

    monkeypatch.setattr(tables.Transaction, "commit_transaction", commit)
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert failed == [True]
    assert offsets(out) == list(range(12))
    assert audit(out, logs)[0] == 0


def test_a_run_is_added_once_by_many_at_once(
    audit: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run, too, for which each makes the catalog and the table."""
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(iceberg_table.IcebergTable, "_add", lambda self, run: None)
        plan = plan_ingest(request_of((str(logs),), str(out), Query(), tuple(SCHEMA.names), kind="iceberg"))
        ingest_run(plan, LocalEngine(1))
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(publish, [out] * 6))
    assert offsets(out) == list(range(9))
    assert len(loaded(out).snapshots()) == 1
    assert audit(out, logs)[0] == 0


def test_a_transaction_that_fails_after_it_was_stored_is_done(
    ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    real: Callable[..., Any] = tables.Transaction.commit_transaction
    errors = [exceptions.CommitFailedException("no answer")]

    def commit(self: Any) -> Any:
        done = real(self)
        if errors and self.table_metadata.current_snapshot_id is not None:
            raise errors.pop()
        return done

    monkeypatch.setattr(tables.Transaction, "commit_transaction", commit)
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert errors == []
    assert offsets(out) == list(range(9))


def test_snapshots_may_expire(ingest: Run, logs: Path, tmp_path: Path) -> None:
    """What tells that a run was added stays when its snapshot goes."""
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG)
    table = loaded(out)
    first = table.current_snapshot().snapshot_id
    table.append(rows(out).slice(0, 1).cast(table.schema().as_arrow()))
    table.maintenance.expire_snapshots().by_id(first).commit()
    publish(out)
    assert offsets(out) == [0, *range(9)]


def test_others_may_write_the_table_too(ingest: Run, audit: Run, logs: Path, tmp_path: Path) -> None:
    """Files that another has rewritten are known by their partition."""
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG)
    append(logs / "t-0", *run_of(9, 12))
    assert ingest(logs, out, *ICEBERG)[0] == 0
    table = loaded(out)
    table.overwrite(table.scan().to_arrow())
    append(logs / "t-0", *run_of(12, 15))
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert offsets(out) == list(range(15))
    status, _, err = audit(out, logs)
    assert status == 0, err
    assert main(["compact", "--engine", "local", str(out)]) == 0
    assert offsets(out) == list(range(15))


def test_a_compaction_that_another_has_overtaken_changes_nothing(
    ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for end in (9, 12):
        ingest(logs, out, *ICEBERG)
        append(logs / "t-0", *run_of(end, end + 3))
    with monkeypatch.context() as patch:
        patch.setattr(tables.Transaction, "commit_transaction", fail)
        assert main(["compact", "--engine", "local", str(out)]) == 3
    table = loaded(out)
    table.overwrite(table.scan().to_arrow())
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert offsets(out) == list(range(15))


def test_the_second_of_two_runs_is_refused(audit: Run, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    plans = [
        plan_ingest(request_of((str(logs),), str(out), Query(), tuple(SCHEMA.names), kind="iceberg"))
        for _ in range(2)
    ]
    ingest_run(plans[0], LocalEngine(1))
    with pytest.raises(ConflictError, match="another run was committed meanwhile"):
        ingest_run(plans[1], LocalEngine(1))
    assert offsets(out) == list(range(9))
    assert audit(out, logs)[0] == 0


POINTS = ("the commit is made", "before the Iceberg transaction", "after the Iceberg transaction")


@pytest.mark.parametrize("verb", ["ingest", "compact"])
@pytest.mark.parametrize("point", pick(POINTS[1:2], POINTS))
@pytest.mark.long
def test_a_kill_at_a_point(
    ingest: Run, audit: Run, logs: Path, tmp_path: Path, point: str, verb: str
) -> None:
    out = tmp_path / "out"
    ingest(logs, out, *ICEBERG)
    append(logs / "t-0", *run_of(9, 12))
    if verb == "compact":
        ingest(logs, out, *ICEBERG)
    words = [verb, "--engine", "local", *([logs, out, *ICEBERG] if verb == "ingest" else [out])]
    assert run_killed(point, *words) == -9
    append(logs / "t-0", *run_of(12, 15))
    assert ingest(logs, out, *ICEBERG)[0] == 0
    assert offsets(out) == list(range(15))
    status, _, err = audit(out, logs)
    assert status == 0, err


def test_a_table_that_was_moved(ingest: Run, logs: Path, tmp_path: Path) -> None:
    ingest(logs, tmp_path / "out", *ICEBERG)
    shutil.move(tmp_path / "out", tmp_path / "moved")
    status, _, err = ingest(logs, tmp_path / "moved", *ICEBERG)
    assert (status, "the Iceberg table was moved" in err) == (2, True)


def test_a_path_that_is_no_address(ingest: Run, logs: Path, tmp_path: Path) -> None:
    status, _, err = ingest(logs, tmp_path / "a#b", *ICEBERG)
    assert (status, "choose another destination" in err) == (2, True)
    assert ingest(logs, tmp_path / "a b%20ä", *ICEBERG)[0] == 0
    assert offsets(tmp_path / "a b%20ä") == list(range(9))
