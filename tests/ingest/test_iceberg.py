"""Iceberg tables: what Delta tables do not have. `test_lake_tables.py` asks both kinds alike."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.forms import pick
from tests.ingest import lakes
from tests.ingest.ingested import Run, request_of
from tests.ingest.killed import run_killed
from tests.ingest.lakes import ICEBERG, iceberg
from tests.made.directories import append, run_of

from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.ingest.job import ingest as ingest_run
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query import Query

offsets = partial(lakes.offsets, words=ICEBERG)
publish = partial(lakes.publish, words=ICEBERG)


def test_polars_reads_it(ingest: Run, logs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars", "2.1")  # 2.0 finds no field ids with pyarrow 18
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # its own one is a package of its own
    ingest(logs, out, *ICEBERG)
    found = polars.scan_iceberg(iceberg(out)).filter(polars.col("offset") > 3).collect()
    assert found.sort("offset").select("topic", "partition", "offset", "key").rows() == [
        ("t", 0, offset, b"k") for offset in range(4, 9)
    ]


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


def test_a_run_is_added_once_by_many_at_once(
    audit: Run, logs: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run, too, for which each makes the catalog and the table."""
    with monkeypatch.context() as patch:
        patch.setattr(lakes.iceberg_table.IcebergTable, "_add", lambda self, run: None)
        plan = plan_ingest(request_of((str(logs),), str(out), Query(), tuple(SCHEMA.names), kind="iceberg"))
        ingest_run(plan, LocalEngine(1))
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(publish, [out] * 6))
    assert offsets(out) == list(range(9))
    assert len(iceberg(out).snapshots()) == 1
    assert audit(out, logs)[0] == 0


def test_snapshots_may_expire(ingest: Run, logs: Path, out: Path) -> None:
    """What tells that a run was added stays when its snapshot goes."""
    ingest(logs, out, *ICEBERG)
    table = iceberg(out)
    first = table.current_snapshot().snapshot_id
    table.append(lakes.rows(out, ICEBERG).slice(0, 1).cast(table.schema().as_arrow()))
    table.maintenance.expire_snapshots().by_id(first).commit()
    publish(out)
    assert offsets(out) == [0, *range(9)]


POINTS = ("the commit is made", "before the Iceberg transaction", "after the Iceberg transaction")


@pytest.mark.parametrize("verb", ["ingest", "compact"])
@pytest.mark.parametrize("point", pick(POINTS[1:2], POINTS))
@pytest.mark.long
def test_a_kill_at_a_point(ingest: Run, audit: Run, logs: Path, out: Path, point: str, verb: str) -> None:
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
