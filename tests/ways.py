"""The two ways in which scanners and the fold of runs work: as machine code, and interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.verified import sound_runs
from kafka_segments.errors import MissingExtraError

__all__ = ["compiled", "interpreted"]


@contextmanager
def compiled() -> Iterator[None]:
    """Both are machine code from the first entry on."""
    with patch.object(scanner, "_FEW", 0), patch.object(sound_runs, "_FEW", 0):
        yield


@contextmanager
def interpreted() -> Iterator[None]:
    """Both are interpreted, as where there is no machine code; reading into Arrow is not possible."""
    missing = MissingExtraError("no machine code", extra="jit")
    with (
        patch.object(scanner.HeaderScan, "compile", side_effect=missing),
        patch.object(sound_runs, "Compiled", side_effect=missing),
    ):
        yield
