"""Tests that have two forms: a short one for `make test`, a full one for `make test-long`.

Such a test has the marker `long` and asks here which form it is in. `make test-long` sets the variable of the
environment and runs tests with the marker alone, part by part (`tests/parts.toml`); without it every run is a
short one, `make test-fast` leaves the marked tests out. What a run has counted is told through the fixtures
`tell` and `print_at_end` (in `tests/conftest.py`), whatever process it ran in.
"""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import settings

VARIABLE = "KAFKA_SEGMENTS_LONG"
IS_FULL = os.environ.get(VARIABLE, "") not in ("", "0")
"""Whether this is a run of full forms."""

T = TypeVar("T")


def pick(short: T, full: T) -> T:
    """The one of the two that fits the form of this run: a number of examples, a list of files."""
    return full if IS_FULL else short


def examples(base: settings, short: int, full: int) -> settings:
    """Settings for Hypothesis: the same examples in every short run, new ones in each full run."""
    return settings(base, max_examples=pick(short, full), derandomize=not IS_FULL)
