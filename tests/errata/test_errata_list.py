"""The list of errata is whole: every row is there, with a test that is collected and runs, or a reason."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST: dict[str, Any] = tomllib.loads((HERE / "errata.toml").read_text(encoding="utf-8"))
ROWS: list[dict[str, str]] = LIST["row"]
KEYS = {"table", "name", "section", "source", "verdict", "claim", "truth", "seen", "page", "words"}


@cache
def collected() -> Counter[str]:
    """Names of the tests that pytest collects in the modules on errata, without their parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", "-m", "", str(HERE)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "/test_errata_" in line and "::" in line]
    names = {line.partition("[")[0] for line in lines}
    return Counter(name.rpartition("::")[2] for name in names)


def test_every_row_is_listed() -> None:
    assert Counter(row["table"] for row in ROWS) == LIST["num_rows"]
    assert LIST["num_rows"]["1a"] + LIST["num_rows"]["1b"] == 57


def test_rows_say_what_they_have_to() -> None:
    for row in ROWS:
        assert row.keys() - {"reason"} == KEYS, row["name"]
        assert all(row.values()), row["name"]
        assert len(row.get("reason", "because it is so")) > 15, row["name"]
    names = Counter(row["name"] for row in ROWS)
    assert {name: count for name, count in names.items() if count > 1} == {}


def test_every_row_has_its_test_or_a_reason() -> None:
    tests = collected()
    shown = {f"test_{row['name']}" for row in ROWS if "reason" not in row}
    own = {name for name in tests if name not in globals()}
    assert own == shown
    assert max(tests.values()) == 1, "one name, two tests"
    assert len(ROWS) - len(shown) <= len(ROWS) // 10, "most rows can be shown"


def test_no_test_of_a_row_can_be_skipped() -> None:
    for path in HERE.glob("test_*.py"):
        if path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pytest\.(skip|xfail|importorskip)|pytest\.mark\.(?!parametrize)", text), (
            path.name
        )
