"""Prints at the end what the long forms have gone through: the counts come with the tests' reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from tests.properties import census

PREFIX = "counts of "


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str, Mapping[str, int]], None]:
    """Have counts printed at the end, summed up with those of other tests under the same title."""

    def note(title: str, counts: Mapping[str, int]) -> None:
        request.node.user_properties.append((PREFIX + title, dict(counts)))

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A table for each title over all tests that told something, from whatever process."""
    tables: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if getattr(report, "when", None) == "call":
                for name, counts in report.user_properties:
                    if name.startswith(PREFIX):
                        tables.setdefault(name.removeprefix(PREFIX), Counter()).update(counts)
    for title, counts in tables.items():
        terminalreporter.section(title)
        for line in census.lines(counts):
            terminalreporter.line(line)
