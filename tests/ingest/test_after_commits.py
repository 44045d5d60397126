"""What comes after the commit: nothing that a run has found is lost, though it fails or is killed then."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.made import directories
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.errors import KafkaFormatError, ReadError, StoreError
from kafka_segments.ingest import transactional
from kafka_segments.ingest.tables.table_base import ParquetTable

TRANSACTIONS = kafka_rows.RECORDED / "kafka-4.3/clean/transactions-0"


@pytest.fixture
def hurt(tmp_path: Path) -> Path:
    """A log directory with offsets 0 to 8 and a damaged place in t-0."""
    directory = append(tmp_path / "logs" / "t-0", *run_of(0, 3), b"\xff" * 50, *run_of(3, 9))
    return directory.parent


@pytest.mark.parametrize(
    "error", [StoreError("it stopped"), ReadError("it stopped", path="/x", errno=errno.EACCES)]
)
def test_transactions_that_cannot_be_read_after_the_commit(
    ingest: Run, tmp_path: Path, hurt: Path, monkeypatch: pytest.MonkeyPatch, error: KafkaFormatError
) -> None:
    def fails(*_arguments: Any) -> None:
        raise error

    monkeypatch.setattr(transactional, "read_committed", fails)
    status, table, err = ingest(hurt, tmp_path / "out")
    assert (status, table["t", 0]["records"], table["t", 0]["damage"]) == (1, "9", "1"), err
    assert "t-0: some of the records written may not be committed" in err
    assert "it stopped" in err
    assert f"{hurt / 't-0'}" in err


def test_counting_reads_no_more_than_it_may(ingest: Run, tmp_path: Path) -> None:
    status, table, err = ingest(TRANSACTIONS, tmp_path / "out", "-o", "maxWalkBytes=9000b")
    assert (status, table["total", -1]["lost"]) == (0, "0"), err
    assert "some of the records written may not be committed" in err
    assert "but only 9,000 of maxWalkBytes are left" in err


def test_what_a_run_had_found_that_was_killed_after_its_commit(
    ingest: Run, audit: Run, tmp_path: Path, hurt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    killed_after_its_commit(ingest, hurt, out, monkeypatch)
    log = directories.segment_path(hurt / "t-0", 0)
    whole = log.read_bytes()
    log.write_bytes(b"".join(run_of(0, 3)))
    status, _, err = ingest(hurt, out)
    finished = (
        "run 1 was committed by a process that failed, was killed or is still running: it is completed here. "
    )
    finished += (
        "Offsets of its 1 partitions: 9 records, 0 control, 0 aborted, 0 absent, 0 lost; damaged places: 1"
    )
    assert (status, finished in err, "it now ends at offset 3" in err) == (2, True, True), err
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    log.write_bytes(whole)
    status, _, err = ingest(hurt, out)
    assert (status, finished in err) == (0, False), err
    assert audit(out, hurt)[0] == 0


def killed_after_its_commit(ingest: Run, logs: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_arguments: Any) -> None:
        raise SystemExit(143)

    with monkeypatch.context() as patched:
        patched.setattr(ParquetTable, "publish", killed)
        assert ingest(logs, out)[0] == 143
    assert not list(out.glob("*.parquet"))


@pytest.mark.parametrize(
    "verb", [["compact"], ["rewind", "t:0", "--to-offset", "100"]], ids=lambda one: one[0]
)
def test_other_verbs_finish_it_too(
    ingest: Run,
    tmp_path: Path,
    hurt: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
) -> None:
    out = tmp_path / "out"
    killed_after_its_commit(ingest, hurt, out, monkeypatch)
    command = [verb[0], "--engine", "local", str(out), *verb[1:]]
    capsys.readouterr()
    assert main(command) == 1
    err = capsys.readouterr().err
    assert "run 1 was committed by a process that failed, was killed or is still running" in err
    assert f"t-0: {directories.segment_path(hurt / 't-0', 0)}, position " in err
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert main(command) == 0
    assert "run 1" not in capsys.readouterr().err


def test_the_status_is_that_of_the_damage(
    ingest: Run, tmp_path: Path, hurt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after_its_commit(ingest, hurt, tmp_path / "out", monkeypatch)
    status, table, err = ingest(hurt, tmp_path / "out")
    assert (status, table["total", -1]["damage"]) == (1, "0"), err
    place = f"t-0: {directories.segment_path(hurt / 't-0', 0)}, position "
    line = next(one for one in err.splitlines() if place in one)
    kept = line.partition("the bytes are in ")[2].rstrip(")")
    assert (tmp_path / "out" / kept).read_bytes() == b"\xff" * 50
    assert "a killed ingest had left it" not in err
    assert ingest(hurt, tmp_path / "out")[0] == 0
