"""The two ways in which generated scanners run: as machine code, and interpreted. Both must give the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from kafka_segments.core.segment.scan import scanner
from kafka_segments.errors import MissingExtraError

__all__ = ["compiled", "interpreted"]


@contextmanager
def compiled() -> Iterator[None]:
    """Scanners are machine code from the first entry on."""
    with patch.object(scanner, "_FEW", 0):
        yield


@contextmanager
def interpreted() -> Iterator[None]:
    """Scanners are interpreted, as where there is no machine code; reading into Arrow is not possible."""
    missing = MissingExtraError("no machine code", extra="jit")
    with patch.object(scanner.HeaderScan, "compile", side_effect=missing):
        yield
