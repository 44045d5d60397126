"""What the IDE shows of the samples, without it: by the compiler and the runtime that it has, in Node."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from compiler.toolchain import FOLDER, ensure_packages, find_toolchain, run_node
from tests.webide import expected

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "generated" / "webide"
SCRIPT = Path(__file__).with_name("lines.js")

pytestmark = pytest.mark.node


@cache
def nodes() -> dict[str, dict[expected.Path, dict[str, Any]]]:
    """What there is at the nodes that are looked at, and behind the last entry."""
    tools = find_toolchain()
    ensure_packages(tools)
    further: dict[str, list[expected.Path]] = {
        "plain.log": [(*expected.RECORD, "body"), (*expected.RECORD, "body", "key"), ("entries", 13)],
        "damaged.log": [expected.DAMAGED_RECORDS, ("entries", 0, *expected.RECORDS), ("entries", 6)],
    }
    paths = {name: [*lines, *further.get(name, [])] for name, lines in expected.LINES.items()}
    jobs = [
        {"schema": expected.SCHEMAS[name], "file": str(BUNDLE / name), "paths": asked}
        for name, asked in paths.items()
    ]
    answers = json.loads(run_node(tools, SCRIPT, str(FOLDER), str(BUNDLE), json.dumps(jobs)))
    return {
        name: dict(zip(asked, answer, strict=True))
        for (name, asked), answer in zip(paths.items(), answers, strict=True)
    }


@pytest.mark.parametrize("name", expected.SCHEMAS)
def test_lines_of_the_samples(name: str) -> None:
    lines = expected.LINES[name]
    assert {path: nodes()[name][path]["line"] for path in lines} == lines


def test_there_are_no_further_entries() -> None:
    assert nodes()["plain.log"]["entries", 13]["line"] is None
    assert nodes()["damaged.log"]["entries", 6]["line"] is None


def test_the_names_below_a_record_and_the_bytes_of_its_key() -> None:
    found = nodes()["plain.log"]
    assert found[*expected.RECORD, "body"]["names"] == [*expected.BELOW_BODY]
    assert found[*expected.RECORD, "body", "key"]["bytes"] == [*expected.KEY_BYTES]


def test_records_that_cannot_be_read() -> None:
    assert nodes()["damaged.log"][expected.DAMAGED_RECORDS]["failed"]
    assert not nodes()["damaged.log"]["entries", 0, *expected.RECORDS]["failed"]
