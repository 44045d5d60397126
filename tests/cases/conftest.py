"""Fixtures of `ingest`, for the states of disks that it is to get through."""

from __future__ import annotations

from tests.ingest.conftest import audit, ingest

__all__ = ["audit", "ingest"]
