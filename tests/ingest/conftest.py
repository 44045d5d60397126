"""Fixtures: the commands in this process."""

from __future__ import annotations

import pytest
from tests.ingest.ingested import Run, auditor, locally
from tests.ingest.stored import bucket, impatient, s3_server, table

__all__ = ["bucket", "impatient", "s3_server", "table"]


@pytest.fixture
def ingest(capsys: pytest.CaptureFixture[str]) -> Run:
    """`ingest --engine local`; gives status, table, messages."""
    return locally(capsys)


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Run:
    """`audit`; gives status, table, messages."""
    return auditor(capsys)
