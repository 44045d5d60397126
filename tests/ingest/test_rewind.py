"""`kafka-segments rewind`: the way out where a log was truncated, written again, or recreated."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, data_files, parquet_rows, rows_in_millis
from tests.made import directories
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.ingest.runs.run_log import RunLog

ID, OTHER = "1oQZnfFqTVWOHr1q3zBQ6A", "7nGr8hXvQSuYl0nV1pUj3w"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory of two partitions with offsets 0 to 8."""
    append(tmp_path / "logs" / "t-0", *run_of(0, 9))
    append(tmp_path / "logs" / "t-1", *run_of(0, 9, b"w"))
    return tmp_path / "logs"


def rewind(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["rewind", "--engine", "local", *map(str, words)])
    return status, capsys.readouterr().err


def way_out(capsys: pytest.CaptureFixture[str], err: str, out: Path) -> tuple[int, str]:
    """Run the command that a refusal names."""
    found = re.search(r"kafka-segments rewind DEST (\S+) --to-offset (\d+)", err)
    assert found is not None, err
    return rewind(capsys, out, found[1], "--to-offset", found[2])


def check(ingest: Run, audit: Run, logs: Path, out: Path, tmp_path: Path) -> None:
    """The table has what one of the log alone would have."""
    assert ingest(logs, tmp_path / "fresh")[0] == 0
    assert parquet_rows(out) == parquet_rows(tmp_path / "fresh")
    status, _, err = audit(out, logs)
    assert status == 0, err
    assert ingest(logs, out)[0] == 0, "and it goes on"


def test_a_truncated_log(
    ingest: Run, audit: Run, logs: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for end in (9, 18, 27):
        append(logs / "t-0", *run_of(end, end + 9))
        assert ingest(logs, out)[0] == 0
    path = directories.segment_path(logs / "t-0", 0)
    path.write_bytes(b"".join([*run_of(0, 24), *run_of(24, 40, b"other")]))
    status, _, err = ingest(logs, out)
    assert status == 2
    status, said = way_out(capsys, err, out)
    # The last batch of the run before it was written again, too: that is seen at once.
    assert (status, "t-0: 18 rows removed; the next run begins at offset 18" in said) == (0, True)
    assert ingest(logs, out)[0] == 0
    check(ingest, audit, logs, out, tmp_path)


def test_leader_epochs_lead_there_at_once(
    ingest: Run, audit: Run, logs: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories.leader_epochs(logs / "t-0", (0, 0), (2, 12))
    for end in (9, 18, 27):
        append(logs / "t-0", *run_of(end, end + 9))
        assert ingest(logs, out)[0] == 0
    path = directories.segment_path(logs / "t-0", 0)
    path.write_bytes(b"".join([*run_of(0, 12), *run_of(12, 60, b"other")]))
    directories.leader_epochs(logs / "t-0", (0, 0), (3, 12))
    status, _, err = ingest(logs, out)
    assert (status, "--to-offset 12," in err) == (2, True)
    status, said = way_out(capsys, err, out)
    assert (status, "t-0: 24 rows removed; the next run begins at offset 12" in said) == (0, True)
    assert ingest(logs, out)[0] == 0
    check(ingest, audit, logs, out, tmp_path)


def test_a_recreated_topic(
    ingest: Run, audit: Run, logs: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories.topic_id(logs / "t-0", ID)
    assert ingest(logs, out)[0] == 0
    shutil.rmtree(logs / "t-0")
    append(logs / "t-0", *run_of(0, 30, b"new"))
    directories.topic_id(logs / "t-0", OTHER)
    status, _, err = ingest(logs, out)
    assert status == 2
    assert way_out(capsys, err, out)[0] == 0
    assert [row.partition for row in parquet_rows(out)] == [1] * 9
    assert ingest(logs, out)[0] == 0
    check(ingest, audit, logs, out, tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_files_that_compact_has_merged_are_cut(
    ingest: Run, audit: Run, logs: Path, out: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    for end in (9, 18, 27):
        append(logs / "t-0", *run_of(end, end + 9))
        assert ingest(logs, out, "--table", kind)[0] == 0
    rows = rows_of(out, kind)
    assert main(["compact", "--engine", "local", str(out)]) == 0
    status, err = rewind(capsys, out, "t-0", "--to-offset", "20")
    assert status == 0, err
    assert "t-0: 16 rows removed; the next run begins at offset 20" in err
    assert rows_of(out, kind) == [row for row in rows if row.partition == 1 or row.offset < 20]
    status, table, err = audit(out)
    assert (status, table["t", 0]["records"], table["t", 0]["end offset"]) == (0, "20", "20"), err
    assert ingest(logs, out, "--table", kind)[0] == 0
    assert rows_of(out, kind) == rows
    status, _, err = audit(out, logs)
    assert status == 0, err


def test_within_a_run_and_again(
    ingest: Run, audit: Run, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The part of an account that stays counts its rows, and what its offsets may have been besides."""
    logs = tmp_path / "set"
    shutil.copytree(kafka_rows.RECORDED / "kafka-4.3" / "clean" / "transactions-0", logs / "transactions-0")
    assert ingest(logs, out)[0] == 0
    rows, (_, audited, _) = parquet_rows(out), audit(out)
    for offset in (20, 19, 7):
        status, err = rewind(capsys, out, "transactions:0", "--to-offset", offset)
        assert (status, f"the next run begins at offset {offset}," in err) == (0, True)
        assert parquet_rows(out) == [row for row in rows if row.offset < offset]
        status, found, err = audit(out, logs)
        assert (status, found["transactions", 0]["end offset"]) == (0, str(offset)), err
    assert ingest(logs, out)[0] == 0
    assert parquet_rows(out) == rows
    status, found, err = audit(out, logs)
    names = ("end offset", "records", "lost")
    assert [found["total", -1].get(name) for name in names] == [
        audited["total", -1].get(name) for name in names
    ]
    assert status == 0, err


def rows_of(out: Path, kind: str) -> list[kafka_rows.Row]:
    if kind == "parquet":
        return parquet_rows(out)
    lakes = pytest.importorskip("tests.ingest.lakes")
    return rows_in_millis(lakes.rows(out, ("--table", kind)))


def test_a_whole_topic_and_a_table_without_rows(
    ingest: Run, audit: Run, logs: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ingest(logs, out)[0] == 0
    status, err = rewind(capsys, out, "t", "--to-offset", "0")
    assert (status, err.count("9 rows removed")) == (0, 2)
    assert data_files(out) == ["no-rows.parquet"]
    assert audit(out)[0] == 0
    assert rewind(capsys, out, "t", "--to-offset", "0")[0] == 2, "there is no such topic now"
    assert ingest(logs, out)[0] == 0
    assert "no-rows.parquet" not in data_files(out)
    check(ingest, audit, logs, out, tmp_path)


def test_what_is_refused(
    ingest: Run, logs: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ingest(logs, out)[0] == 0
    newest = RunLog(str(out)).newest()
    for words, message in (
        ((out, "t-7", "--to-offset", "0"), "the table has no topic and no partition t-7"),
        ((tmp_path / "none", "t-0", "--to-offset", "0"), "this is not a table of kafka-segments ingest"),
        ((out, "t-0", "--to-offset", "-1"), "'-1' is not an offset"),
        ((out, "t-0"), "--to-offset"),
    ):
        status, err = rewind(capsys, *words)
        assert (status, message in err) == (2, True), err
    status, err = rewind(capsys, out, "t-0", "--to-offset", "9")
    assert (status, "nothing to remove" in err) == (0, True)
    assert RunLog(str(out)).newest() == newest
