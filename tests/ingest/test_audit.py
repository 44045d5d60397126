"""Audits of tables that somebody has changed: each change is found, and where."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.ingest.ingested import Run
from tests.made import directories
from tests.made.directories import append, run_of
from tests.spark.test_reader import flipped

from kafka_segments.errors import OutputError
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles
from kafka_segments.ingest.runs.run_log import RunLog, files_by_partition
from kafka_segments.ingest.runs.run_state import DataFile


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    append(tmp_path / "logs" / "t-0", *run_of(0, 9))
    append(tmp_path / "logs" / "u-1", *run_of(0, 3))
    return tmp_path / "logs"


@pytest.fixture
def out(ingest: Run, logs: Path, tmp_path: Path) -> Path:
    """A table of two runs."""
    ingest(logs, tmp_path / "out")
    append(logs / "t-0", *run_of(9, 18))
    ingest(logs, tmp_path / "out")
    return tmp_path / "out"


def files(out: Path, topic: str = "t") -> list[Path]:
    return sorted(out.glob(f"topic={topic}/*/*.parquet"))


def test_a_sound_table(audit: Run, out: Path, logs: Path) -> None:
    status, table, err = audit(out, logs)
    assert (status, err) == (0, "")
    assert table["t", 0] == {
        "runs": "2", "files": "2", "first offset": "0", "end offset": "18", "records": "18", "control": "0",
        "aborted": "0", "absent": "0", "lost": "0", "problems": "0",
    }  # fmt: skip
    assert table["total", -1] == {
        "files": "3", "records": "21", "control": "0", "aborted": "0", "absent": "0", "lost": "0",
        "problems": "0",
    }  # fmt: skip


def test_a_file_that_is_gone(audit: Run, out: Path) -> None:
    gone = files(out)[1]
    gone.unlink()
    status, table, err = audit(out)
    assert (status, table["t", 0]["records"], table["t", 0]["problems"]) == (1, "9", "2")
    assert f"t-0: {gone.relative_to(out)} cannot be read" in err
    assert "t-0: run 2, offsets 9 to 17: 9 rows were written, but the table has 0" in err


def test_a_file_that_is_there_twice(audit: Run, out: Path) -> None:
    copy = files(out)[0].with_name("copy.parquet")
    shutil.copy(files(out)[0], copy)
    status, _, err = audit(out)
    assert status == 1
    assert f"{copy.relative_to(out)} is in the table's directory, but no run has written it" in err


def test_rows_that_were_taken_out(audit: Run, out: Path) -> None:
    path = files(out)[0]
    pq.write_table(pq.ParquetFile(path).read().slice(1), path)
    status, _, err = audit(out)
    assert (status, "has 8 rows, but 9 were written" in err) == (1, True), err
    assert "t-0: run 1, offsets 0 to 8: 9 rows were written, but the table has 8" in err


def test_rows_that_were_put_twice(audit: Run, out: Path) -> None:
    path = files(out)[0]
    table = pq.ParquetFile(path).read()
    pq.write_table(table.take([0, 0, *range(2, 9)]), path)
    status, _, err = audit(out)
    assert (
        status,
        "its offsets do not increase" in err,
        "1 rows repeat the offsets of other rows" in err,
    ) == (
        1,
        True,
        True,
    )


def test_a_run_that_is_gone(audit: Run, out: Path) -> None:
    run = out / "_kafka_segments" / "runs" / f"{1:020}.json"
    run.unlink()
    status, _, err = audit(out)
    assert status == 1
    assert "run 1 is missing" in err
    assert "no run has written it" in err


def test_an_account_that_was_changed(audit: Run, out: Path) -> None:
    path = out / "_kafka_segments" / "runs" / f"{1:020}.json"
    run = json.loads(path.read_text())
    run["accounts"][0] |= {"records": 8, "end_offset": 8}
    path.write_text(json.dumps(run))
    status, _, err = audit(out)
    assert status == 1
    assert "t-0: run 2 begins at offset 9, but the run before ended at 8" in err
    assert "1 rows have offsets that no run has accounted for" in err


def test_what_is_no_table(audit: Run, out: Path, tmp_path: Path) -> None:
    assert "this is not a table of kafka-segments ingest" in audit(tmp_path)[2]
    path = out / "_kafka_segments" / "runs" / f"{2:020}.json"
    for text, said in (
        ("{}", "this is not a run of"),
        ("{", "this is not a run of"),
        ('{"format": 1}', "this is not a run"),
    ):
        path.write_text(text)
        status, _, err = audit(out)
        assert (status, said in err) == (2, True), err
    run = '{"format": "kafka-segments run", "version": 9}'
    path.write_text(run)
    assert "a run of version 9, but only 1 is known" in audit(out)[2]


def test_logs_with_records_that_the_table_lacks(audit: Run, out: Path, logs: Path) -> None:
    for path in files(out)[1:]:
        rows = pq.ParquetFile(path).read()
        pq.write_table(rows.filter([offset != 12 for offset in rows["offset"].to_pylist()]), path)
    status, _, err = audit(out, logs)
    assert status == 1
    assert "t-0: the log has 1 records that the table lacks, from offset 12 on" in err


def test_logs_that_have_less_by_now(audit: Run, out: Path, logs: Path) -> None:
    path = directories.segment_path(logs / "t-0", 0)
    path.write_bytes(b"".join([*run_of(0, 6), *run_of(9, 18)]))
    shutil.rmtree(logs / "u-1")
    status, _, err = audit(out, logs)
    assert status == 0
    assert "t-0: the log no longer has 3 of its 18 records" in err
    assert "u-1: not compared, because it is not in the logs that were given" in err


def test_damage_is_kept_in_quarantine(ingest: Run, audit: Run, tmp_path: Path) -> None:
    one, two, three = run_of(0, 9)
    append(tmp_path / "logs" / "t-0", one, flipped(two), three)
    status, table, _ = ingest(tmp_path / "logs", tmp_path / "out")
    row = table["t", 0]
    assert (status, row["records"], row["lost"], row["damage"]) == (1, "6", "3", "1")
    (kept,) = (tmp_path / "out" / "_kafka_segments" / "quarantine").iterdir()
    assert kept.read_bytes() == flipped(two)
    status, table, err = audit(tmp_path / "out", tmp_path / "logs")
    assert (status, table["t", 0]["lost"], table["t", 0]["problems"]) == (1, "3", "0"), err
    assert "t-0: 3 offsets were lost in run 1" in err
    for since, expected in ((1, 1), (2, 0)):  # once it is accepted, the audit shows what is new
        status, _, err = audit(tmp_path / "out", "--since", since)
        assert (status, "t-0: 3 offsets were lost in run 1" in err) == (expected, True)
    kept.unlink()
    assert "with damaged bytes, is missing" in audit(tmp_path / "out")[2]


def test_files_of_the_newest_run_may_go_once_it_is_published(ingest: Run, logs: Path, tmp_path: Path) -> None:
    append(logs / "t-0", flipped(run_of(9, 12)[0]), *run_of(12, 15))
    assert ingest(logs, tmp_path / "out")[0] == 1
    shutil.rmtree(tmp_path / "out" / "_kafka_segments" / "quarantine")
    append(logs / "t-0", *run_of(15, 18))
    status, table, err = ingest(logs, tmp_path / "out")
    assert (status, table["t", 0]["records"]) == (0, "3"), err


def test_files_of_a_run_that_are_nowhere_are_an_error(ingest: Run, out: Path, tmp_path: Path) -> None:
    """While others of it wait to be published."""
    run = RunLog(str(out)).newest()
    assert run is not None
    (file,) = run.files
    waiting = replace(file, path="topic=t/partition=0/waiting.parquet")
    root = tmp_path / "root"
    (root / waiting.path).parent.mkdir(parents=True)
    (root / waiting.path).touch()
    (out / file.path).unlink()
    with pytest.raises(OutputError, match="cannot be published"):
        LocalTableFiles(str(tmp_path)).publish(str(root), str(out), [waiting.path, file.path])


def test_files_are_grouped_by_partition_in_order() -> None:
    """Once: an audit of many partitions does not look through all files for each."""
    files = [DataFile(f"{at}", f"t{at % 2}", 0, 1, 1, -at) for at in range(6)] + [
        DataFile("x", None, None, 0, 1)
    ]
    assert {key: [one.path for one in own] for key, own in files_by_partition(files).items()} == {
        ("t0", 0): ["4", "2", "0"], ("t1", 0): ["5", "3", "1"],
    }  # fmt: skip
