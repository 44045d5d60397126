"""An executor that stops past its timeout, and goes on after its task was repeated and committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ingest.ingested import Run, auditor, parquet_rows
from tests.ingest.stored import BUCKET, Bucket, bucket, s3_server, table
from tests.made.directories import append, run_of
from tests.python import run_python

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

__all__ = ["bucket", "s3_server", "table"]

NUM_ROWS = 60


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Run:
    return auditor(capsys)


def run_stopped(logs: Path, out: str, folder: Path, words: list[str]) -> list[str]:
    """Run the ingest; return the files of the attempt that went on."""
    marks = folder / "marks"
    marks.mkdir()
    command = ["-m", "tests.spark.stopped", logs, out, marks, *words]
    # Its executors' work directories and logs would appear where it runs.
    done = run_python(*command, status=None, timeout=900, cwd=folder)
    assert (marks / "status").exists(), done.stderr
    assert (marks / "status").read_text() == "0", done.stderr
    assert (marks / "straggler").exists(), done.stderr
    return (marks / "straggler").read_text().splitlines()


@pytest.mark.long(short=False)
@pytest.mark.parametrize("place", ["directory", pytest.param("store", marks=pytest.mark.s3)])
def test_an_executor_that_goes_on_after_the_commit(
    workers_path: None, request: pytest.FixtureRequest, audit: Run, tmp_path: Path, place: str
) -> None:
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, NUM_ROWS)).parent
    folder, words = tmp_path / "out", []
    out = str(folder)
    if place == "store":
        pytest.importorskip("obstore")
        where: Bucket = request.getfixturevalue("bucket")
        name = request.getfixturevalue("table")
        folder, words, out = where.folder / name, where.plain_words, f"s3a://{BUCKET}/{name}"
    files = run_stopped(logs, out, tmp_path, words)
    assert files, "the attempt that was given up has written its files"
    assert [row.offset for row in parquet_rows(folder)] == list(range(NUM_ROWS))
    assert not any((folder / one).exists() for one in files), "no run names them"
    status, rows, err = audit(*words, out, logs)
    assert (status, rows["t", 0]["records"]) == (0, str(NUM_ROWS)), err
