"""What every test folder shares: which kinds of test this machine can run, in which process, what they tell.

A marked test is skipped where its tools are missing; the closing summary says how many and why. With
`KAFKA_SEGMENTS_REQUIRE=all`, or a comma-separated list of markers, a missing tool is a failure instead:
CI sets it, so that nothing is left out there unnoticed.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests import forms
from tests.chromium import started_browser
from tools import browser, java, parts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent

# Tests of one group stay in one process: they share a Spark session, a broker, an installed wheel.
GROUPS = {
    "packaging": "packaging",
    "connect": "connect",
    "cluster": "cluster",
    "spark": "spark",
    "connector": "spark",
    "oracle": "oracle",
    "broker": "broker",
    "node": "node",
    "languages": "node",
    "s3": "s3",
    "browser": "browser",
}


# Which groups start first: the longest, so that two processes end at about the same time. Then come the tests
# with a full form, then all others; within each, pytest-randomly has shuffled modules and their tests.
FIRST_GROUPS = (
    "spark",
    "cluster",
    "connect",
    "packaging",
    "ingest",
    "node",
    "oracle",
    "broker",
    "s3",
)

# What tests tell travels with their reports, as properties of these names.
COUNTS, LINES = "counts of ", "lines on "

# Two busy cores make single examples slow; hypothesis' deadline would fail them at random.
settings.register_profile("kafka-segments", deadline=None)
settings.load_profile("kafka-segments")

# Tests start hundreds of processes, Spark's workers above all: without bytecode each compiles our modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def lacks_for_spark() -> str | None:
    """Why no Spark session can start here; else point JAVA_HOME and the workers' Python at the right ones."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    found = java.find()
    if found is None:
        return f"no Java {java.OLDEST} or newer (make test installs one where it can)"
    os.environ["JAVA_HOME"] = str(java.spark_home(found))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return None


def lacks_for_oracle() -> str | None:
    """Why Kafka's Java classes cannot be run here."""
    from tests.oracle import jvm

    return jvm.missing_tools()


def lacks_for_node() -> str | None:
    """Why the Kaitai compiler cannot be run here."""
    from compiler.errors import ToolchainError
    from compiler.toolchain import find_toolchain

    try:
        find_toolchain()
    except ToolchainError as error:
        return str(error)
    return None


def lacks_for_s3() -> str | None:
    """Why no S3 server can be started here."""
    from tests.io import server

    return None if server.binary().exists() else "the S3 server is not built (make test does, with Go)"


def lacks_for_browser() -> str | None:
    """Why no browser can be driven here."""
    return browser.missing()


def lacks_for_connect() -> str | None:
    """Why there can be no client of Spark Connect here."""
    absent = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else lacks_for_spark()


def lacks_for_connector() -> str | None:
    """Why Spark's own `kafka` source cannot be asked here."""
    from tools import spark_versions

    if not spark_versions.is_there(spark_versions.CONNECTOR):
        return f"no environment with Spark {spark_versions.CONNECTOR} (make test makes one)"
    return lacks_for_oracle()


CHECKS: dict[str, Callable[[], str | None]] = {
    "spark": lacks_for_spark,
    "oracle": lacks_for_oracle,
    "broker": lacks_for_oracle,
    "connect": lacks_for_connect,
    "connector": lacks_for_connector,
    "node": lacks_for_node,
    "languages": lacks_for_node,
    "s3": lacks_for_s3,
    "browser": lacks_for_browser,
}


@cache
def lack(marker: str) -> str | None:
    """What this machine lacks for a kind of test: as `make test` found on preparing, or as checked here."""
    found = json.loads(os.environ.get("KAFKA_SEGMENTS_LACKS", "{}")).get(marker)
    return CHECKS[marker]() if found is None and marker in CHECKS else found


def kinds_of(item: pytest.Item) -> list[str]:
    """The markers of a test that say what it needs."""
    return [marker for marker in GROUPS if item.get_closest_marker(marker)]


def pytest_configure(config: pytest.Config) -> None:
    """Know the marker of groups where pytest-xdist is not installed: in environments of other Sparks."""
    if not config.pluginmanager.hasplugin("xdist"):
        config.addinivalue_line("markers", "xdist_group(name): tests that share a process")


def rank(item: pytest.Item) -> int:
    """The place of a test's group among those that start first, or that of all other tests."""
    marker = item.get_closest_marker("xdist_group")
    group = marker.args[0] if marker else None
    if group in FIRST_GROUPS:
        return FIRST_GROUPS.index(group)
    return len(FIRST_GROUPS) + (item.get_closest_marker("long") is None)


def has_a_form(item: pytest.Item) -> bool:
    """Whether the test is one of this run's form: `long(short=False)` has a full one alone."""
    return forms.IS_FULL or all(marker.kwargs.get("short", True) for marker in item.iter_markers("long"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep each kind of test together in one process; xdist looks at the groups after this."""
    config.hook.pytest_deselected(items=[item for item in items if not has_a_form(item)])
    items[:] = filter(has_a_form, items)
    if number := os.environ.pop(parts.VARIABLE, None):  # a test's own run of pytest is no part
        taken = parts.parts()[int(number) - 1].takes([item.nodeid for item in items])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]
    for item in items:
        kinds = kinds_of(item)
        if kinds and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(GROUPS[kinds[0]]))
    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Let the garbage collector leave the tests themselves alone: it took half a second a time for them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run; fail it where it is required."""
    required = os.environ.get("KAFKA_SEGMENTS_REQUIRE", "").split(",")
    for kind in kinds_of(item):
        reason = lack(kind)
        if reason is not None and ("all" in required or kind in required):
            pytest.fail(f"KAFKA_SEGMENTS_REQUIRE asks for the {kind} tests, but: {reason}", pytrace=False)
        if reason is not None:
            pytest.skip(f"[{kind}] {reason}")


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str, Mapping[str, int]], None]:
    """Have counts printed at the end, in their order, summed up with those of other tests under the title."""

    def note(title: str, counts: Mapping[str, int]) -> None:
        request.node.user_properties.append((COUNTS + title, dict(counts)))

    return note


@pytest.fixture
def print_at_end(request: pytest.FixtureRequest) -> Callable[[str, list[str]], None]:
    """Have lines printed at the end under a title, behind those of other tests."""

    def note(title: str, lines: list[str]) -> None:
        request.node.user_properties.append((LINES + title, lines))

    return note


def told(terminalreporter: pytest.TerminalReporter, prefix: str) -> Iterator[tuple[str, Any]]:
    """Title and content of what tests told, from whatever process."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if getattr(report, "when", None) == "call":
                for name, content in report.user_properties:
                    if name.startswith(prefix):
                        yield name.removeprefix(prefix), content


def print_told(terminalreporter: pytest.TerminalReporter) -> None:
    """A table for each title, and the lines."""
    tables: dict[str, Counter[str]] = {}
    for title, counts in told(terminalreporter, COUNTS):
        tables.setdefault(title, Counter()).update(counts)
    sections = {
        title: [f"{count:9,} {name}" for name, count in counts.items()] for title, counts in tables.items()
    }
    for title, lines in told(terminalreporter, LINES):
        sections.setdefault(title, []).extend(lines)
    for title, lines in sections.items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session", name="browser")
def shared_browser() -> Iterator[Browser]:
    """Chromium, for all tests of the process."""
    with started_browser() as opened:
        yield opened


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests told, the seed of the order, and which kinds of test were left out and why."""
    print_told(terminalreporter)
    seed = terminalreporter.config.getoption("randomly_seed", None)
    if terminalreporter.config.pluginmanager.hasplugin("randomly"):
        terminalreporter.line(f"random order: the same again with --randomly-seed={seed}")
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.getreports("skipped"))
    left_out = {reason: count for reason, count in reasons.items() if reason.startswith("Skipped: [")}
    if left_out:
        terminalreporter.section("not run on this machine")
    for reason, count in left_out.items():
        terminalreporter.line(f"{count:5} {reason.removeprefix('Skipped: ')}")
