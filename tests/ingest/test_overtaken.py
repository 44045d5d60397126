"""Other writers of a Delta or Iceberg table, between the commit of a run and its publication or later."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.ingest.ingested import Run, fail
from tests.ingest.lakes import (
    CLASSES,
    DELTA,
    ICEBERG,
    both,
    call,
    delta,
    deltalake,
    iceberg,
    iceberg_tables,
    offsets,
    overwrite,
)
from tests.made.directories import append, run_of

from kafka_segments.ingest.tables import open_table

actions = pytest.importorskip("deltalake.transaction")


def taken(ingest: Run, out: Path, *words: str, ends: tuple[int, ...] = (9, 18)) -> Path:
    """A table of some runs; returns the logs."""
    logs, start = out.parent / "logs", 0
    for end in ends:
        append(logs / "t-0", *run_of(start, end))
        assert ingest(logs, out, *words)[0] == 0
        start = end
    return logs


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
    assert call("compact", out) == 0
    assert offsets(out) == list(range(18))
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("words", [DELTA, ICEBERG, (*ICEBERG, "--layout", "redpanda")])
def test_a_rewind_that_others_have_overtaken(
    ingest: Run, audit: Run, out: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """The rows go by their offsets then, from the files that the table has by now."""
    logs = taken(ingest, out, *words)
    assert call("compact", out) == 0
    overtake(monkeypatch, words[:2], lambda: overwrite(out, words))
    assert call("rewind", out, "t-0", "--to-offset", "9") == 0
    assert offsets(out, words) == list(range(9))
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(18))
    if "--layout" not in words:  # whose files do not say of which topic they are
        assert audit(out, logs)[0] == 0


@both
def test_rows_of_a_rewind_that_are_gone_already(
    ingest: Run, out: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    logs = taken(ingest, out, *words)

    def delete() -> None:
        if words == DELTA:
            delta(out).delete("offset >= 9")
        else:
            iceberg(out).delete("offset >= 9")

    overtake(monkeypatch, words, delete)
    assert call("rewind", out, "t-0", "--to-offset", "9") == 0
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


def test_compact_merges_rows_of_one_partition_only(ingest: Run, out: Path) -> None:
    """In directories with random names there are files of several."""
    append(out.parent / "logs" / "a-0", *run_of(0, 9))
    append(out.parent / "logs" / "b-0", *run_of(0, 9))
    assert ingest(out.parent / "logs", out, *DELTA)[0] == 0
    table = delta(out)
    (out / "xY").mkdir()
    found: list[Any] = []
    for number, row in enumerate(pa.table(table.get_add_actions(flatten=True)).to_pylist()):
        path, size = f"xY/part-{number}.parquet", row["size_bytes"]
        shutil.copy(out / row["path"], out / path)
        values = {"topic": row["partition.topic"], "partition": str(row["partition.partition"])}
        stats = {"numRecords": 9, "minValues": {"offset": 0}, "maxValues": {"offset": 8}, "nullCount": {}}
        found.append(actions.AddAction(path, size, values, 1, False, json.dumps(stats)))
        found.append(actions.RemoveAction(row["path"], False, 1, size, values))
    table.create_write_transaction(
        found, "append", table.schema(), partition_by=list(table.metadata().partition_columns)
    )
    assert call("compact", out) == 0
    rows = delta(out).to_pyarrow_table(columns=["topic", "offset"]).to_pylist()
    assert sorted((one["topic"], one["offset"]) for one in rows) == [
        (topic, offset) for topic in "ab" for offset in range(9)
    ]


def test_columns_of_others_are_kept(ingest: Run, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken(ingest, out, *DELTA)
    note = deltalake.Schema.from_arrow(pa.schema([pa.field("note", pa.string())])).fields
    delta(out).alter.add_columns(note)
    delta(out).update(updates={"note": "'kept'"}, predicate="offset < 9")
    assert call("compact", out) == 0
    assert (
        "1 files that others have written are left alone: they have columns that runs do not write: note"
        in (capsys.readouterr().err)
    )
    delta(out).optimize.compact()
    assert call("rewind", out, "t-0", "--to-offset", "9") == 2
    assert "columns that runs do not write (note)" in capsys.readouterr().err
    assert delta(out).to_pyarrow_table()["note"].null_count == 9


def hide_rows_of_delta(out: Path) -> None:
    """Add a deletion vector with the rows 3 and 4 to a file."""
    delta(out).alter.add_feature(
        deltalake.TableFeatures.DeletionVectors, allow_protocol_versions_increase=True
    )
    table = delta(out)
    row = pa.table(table.get_add_actions()).to_pylist()[0]
    vector = {
        "storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg0@@D7",
        "sizeInBytes": 36, "cardinality": 2,
    }  # fmt: skip
    bounds = {f"{name}Values": {"offset": row[name]["offset"]} for name in ("min", "max")}
    add = {
        "path": row["path"], "partitionValues": {"topic": "t", "partition": "0"}, "size": row["size_bytes"],
        "modificationTime": 1, "dataChange": True, "deletionVector": vector,
        "stats": json.dumps({"numRecords": row["num_records"], **bounds}),
    }  # fmt: skip
    remove = {"path": row["path"], "deletionTimestamp": 1, "dataChange": True}
    lines = json.dumps({"remove": remove}), json.dumps({"add": add})
    (out / "_delta_log" / f"{table.version() + 1:020}.json").write_text("\n".join(lines) + "\n")


def hide_rows_of_iceberg(patch: pytest.MonkeyPatch) -> None:
    """Let each file have a delete file, which pyiceberg does not write."""
    real = iceberg_tables.DataScan.plan_files

    def plan_files(self: Any) -> list[Any]:
        return [iceberg_tables.FileScanTask(one.file, {one.file}) for one in real(self)]

    patch.setattr(iceberg_tables.DataScan, "plan_files", plan_files)


@both
def test_rows_that_others_have_deleted_stay_deleted(
    ingest: Run, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: tuple[str, str],
) -> None:  # fmt: skip
    taken(ingest, out, *words, ends=(9, 18))
    if words == DELTA:
        hide_rows_of_delta(out)
    else:
        hide_rows_of_iceberg(monkeypatch)
    assert call("compact", out) == 0
    assert (
        "files that others have written are left alone: another engine has deleted rows in them"
        in capsys.readouterr().err
    )
    assert call("rewind", out, "t-0", "--to-offset", "0") == 2
    assert "another engine has deleted rows in it" in capsys.readouterr().err


def test_a_run_that_removes_nothing_does_not_list_the_table(
    ingest: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_more: Any) -> None:
        raise AssertionError("all files were listed")

    monkeypatch.setattr(deltalake.DeltaTable, "get_add_actions", fail)
    taken(ingest, out, *DELTA)


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_a_run_that_is_not_published_yet(
    ingest: Run, audit: Run, out: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    words = "--table", kind
    append(out.parent / "logs" / "t-0", *run_of(0, 9))
    with monkeypatch.context() as patch:
        patch.setattr(type(open_table(kind, str(out))), "_bring", fail)
        with suppress(OSError):
            ingest(out.parent / "logs", out, *words)
    status, _, err = audit(out)
    assert (status, "run 1 is not published yet: run ingest, which publishes it" in err) == (1, True)
    assert ingest(out.parent / "logs", out, *words)[0] == 0
    status, _, err = audit(out)
    assert (status, err) == (0, "")


@both
def test_a_table_that_cannot_be_read(ingest: Run, audit: Run, out: Path, words: tuple[str, str]) -> None:
    taken(ingest, out, *words, ends=(9,))
    name = "_delta_log/00000000000000000000.json" if words == DELTA else "_kafka_segments/catalog.db"
    (out / name).write_text("nonsense" * 1000)
    status, _, err = audit(out)
    assert (status, f"the {words[1].capitalize()} table cannot be read" in err) == (2, True), err


def test_rows_in_another_order_are_left_alone(
    ingest: Run, audit: Run, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = taken(ingest, out, *DELTA)
    rows = delta(out).to_pyarrow_table().sort_by([("offset", "descending")])
    deltalake.write_deltalake(out, rows, mode="overwrite")
    append(logs / "t-0", *run_of(18, 27))
    assert ingest(logs, out, *DELTA)[0] == 0
    capsys.readouterr()
    assert call("compact", out) == 0
    assert "left alone: their rows are not in the order of the offsets" in capsys.readouterr().err
    assert (offsets(out), audit(out, logs)[0]) == (list(range(27)), 0)


def test_files_without_bounds_are_left_alone(
    ingest: Run, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bounds of the new file would be wrong, and readers would skip it."""
    logs = taken(ingest, out, *DELTA)
    delta(out).alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "0"})
    delta(out).optimize.compact()
    append(logs / "t-0", *run_of(18, 27))
    assert ingest(logs, out, *DELTA)[0] == 0
    capsys.readouterr()
    assert call("compact", out) == 0
    assert "left alone: the table lacks the bounds of their offsets" in capsys.readouterr().err
