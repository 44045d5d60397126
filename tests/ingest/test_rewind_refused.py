"""`kafka-segments rewind` where it is cut short, or has to refuse."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest
from tests.ingest import lakes
from tests.ingest.ingested import Run, parquet_rows
from tests.ingest.test_rewind import ID, OTHER, rewind
from tests.made import directories
from tests.made.directories import append, run_of

from kafka_segments.errors import UndecidedRunError
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles
from kafka_segments.ingest.runs.run_log import RunLog, read_history
from kafka_segments.ingest.runs.run_state import PartitionState


def test_a_commit_without_an_answer_leaves_what_was_written(
    ingest: Run,
    audit: Run,
    logs: Path,
    out: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ingest(logs, out)[0] == 0
    late: list[tuple[str, bytes]] = []

    def create(_self: LocalTableFiles, path: str, data: bytes) -> bool:
        late.append((path, data))
        raise UndecidedRunError("no answer came", path=path)

    with monkeypatch.context() as patch:
        patch.setattr(LocalTableFiles, "create", create)
        assert rewind(capsys, out, "t-0", "--to-offset", "0")[0] == 3
    assert LocalTableFiles(str(out)).create(*late[0]), "the request is served after all"
    status, table, err = ingest(logs, out)
    assert (status, table["t", 0]["records"]) == (0, "9"), err
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert audit(out, logs)[0] == 0


def test_a_name_of_a_topic_and_a_partition(
    ingest: Run, tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("orders-3", "orders-3-0", "orders-3-1"):
        append(tmp_path / "logs" / name, *run_of(0, 3))
    assert ingest(tmp_path / "logs", out)[0] == 0
    status, err = rewind(capsys, out, "orders-3", "--to-offset", "0")
    assert (status, "give orders-3:all, or orders:3" in err) == (2, True), err
    status, err = rewind(capsys, out, "orders:4", "--to-offset", "0")
    assert (status, "the table has no topic and no partition orders:4" in err) == (2, True), err
    status, err = rewind(capsys, out, "orders:3", "--to-offset", "0")
    assert (status, err.count("3 rows removed")) == (0, 1), err
    assert [(row.topic, row.partition) for row in parquet_rows(out)] == [
        ("orders-3", partition) for partition in (0, 0, 0, 1, 1, 1)
    ]
    status, err = rewind(capsys, out, "orders-3:all", "--to-offset", "0")
    assert (status, err.count("3 rows removed")) == (0, 2), err


def test_a_recreated_topic_with_an_empty_partition(
    ingest: Run, audit: Run, logs: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that was empty at first: the state before its rows has the old topic's id."""
    append(logs / "t-1")
    append(logs / "t-2")
    for partition in range(3):
        directories.topic_id(logs / f"t-{partition}", ID)
    assert ingest(logs, out)[0] == 0
    append(logs / "t-2", *run_of(0, 3))
    assert ingest(logs, out)[0] == 0
    shutil.rmtree(logs)
    for partition in range(3):
        append(logs / f"t-{partition}", *run_of(0, 6, b"new"))
        directories.topic_id(logs / f"t-{partition}", OTHER)
    assert ingest(logs, out)[0] == 2
    status, err = rewind(capsys, out, "t", "--to-offset", "0")
    assert (status, "t-1: 0 rows removed; the next run begins at the log's start" in err) == (0, True), err
    status, table, err = ingest(logs, out)
    assert (status, table["total", -1]["records"]) == (0, "18"), err
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("change", ["z-order", "without statistics"])
def test_a_delta_table_that_others_have_rewritten(
    ingest: Run, audit: Run, logs: Path, out: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    assert ingest(logs, out, "--table", "delta")[0] == 0
    append(logs / "t-0", *run_of(9, 18))
    assert ingest(logs, out, "--table", "delta")[0] == 0
    if change == "z-order":
        lakes.delta(out).optimize.z_order(["value"])
    else:
        none = {"delta.dataSkippingNumIndexedCols": "0"}
        lakes.delta(out).alter.set_table_properties(none)
        lakes.delta(out).optimize.compact()

    def offsets() -> list[int]:
        found: list[int] = lakes.delta(out).to_pyarrow_table()["offset"].to_pylist()
        return found

    assert offsets() != sorted(offsets())
    status, err = rewind(capsys, out, "t-0", "--to-offset", "9")
    assert (status, "t-0: 9 rows removed; the next run begins at offset 9" in err) == (0, True), err
    assert offsets() == list(range(9))
    assert ingest(logs, out, "--table", "delta")[0] == 0
    assert sorted(offsets()) == list(range(18))
    status, _, err = audit(out)
    assert status == 0, err


def test_rows_that_others_have_removed_or_added(
    ingest: Run, logs: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ingest(logs, out, "--table", "delta")[0] == 0
    lakes.delta(out).delete("offset < 2")
    newest = RunLog(str(out)).newest()
    status, err = rewind(capsys, out, "t-0", "--to-offset", "0")
    assert (status, "t-0: runs have written 9 rows, but the files below this directory have 7" in err) == (
        2,
        True,
    ), err
    assert RunLog(str(out)).newest() == newest
    assert os.listdir(out / "_kafka_segments") == ["runs"]


def _num_states() -> int:
    gc.collect()
    # By type, for isinstance() asks weak proxies of other libraries, whose objects may be gone.
    return sum(type(one) is PartitionState for one in gc.get_objects())


def test_a_history_holds_the_partitions_of_one_run(ingest: Run, logs: Path, out: Path) -> None:
    for partition in range(1, 5):
        append(logs / f"t-{partition}", *run_of(0, 1))
    for end in (9, 10, 11):
        append(logs / "t-0", *run_of(end, end + 1))
        assert ingest(logs, out)[0] == 0
    before = _num_states()
    history = read_history(RunLog(str(out)), str(out))
    assert _num_states() - before == 5
    assert [number for number, _ in history.accounts["t", 0]] == [1, 2, 3]
