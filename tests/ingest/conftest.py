"""Fixtures: the commands in this process, and a log directory that most tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ingest.ingested import Run, auditor, locally
from tests.ingest.stored import bucket, impatient, s3_server, table
from tests.made.directories import append, run_of

__all__ = ["bucket", "impatient", "s3_server", "table"]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with offsets 0 to 8 of partition t-0."""
    return append(tmp_path / "logs" / "t-0", *run_of(0, 9)).parent


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a table is to be."""
    return tmp_path / "out"


@pytest.fixture
def ingest(capsys: pytest.CaptureFixture[str]) -> Run:
    """`ingest --engine local`; gives status, table, messages."""
    return locally(capsys)


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Run:
    """`audit`; gives status, table, messages."""
    return auditor(capsys)
