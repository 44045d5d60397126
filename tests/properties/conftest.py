"""Prints at the end what the generated batches were like: the counts come with the tests' reports."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.properties import census


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One table over all tests that counted, from whatever process."""
    counts: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if getattr(report, "when", None) == "call":
                counts.update(dict(report.user_properties).get(census.PROPERTY, {}))
    if counts:
        terminalreporter.section("generated batches, by shape")
        for line in census.lines(counts):
            terminalreporter.line(line)
