"""Budgets of pyproject.toml: lines of each room with docstrings, and of the tests; modules."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from tools import picture

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime" / "kafka_segments"
BUDGETS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["kafka-segments"]
# A budget this far above what it holds has to be lowered.
SLACK = 0.03


def lines(paths: Iterable[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def sizes() -> dict[str, int]:
    """Lines of each room; modules directly below the package are the room `facade`."""
    found = {"facade": lines(RUNTIME.glob("*.py"))}
    for name, first in picture.rooms().items():
        if first.parent != RUNTIME:
            found[name] = lines((RUNTIME / name).rglob("*.py"))
    return found


def test_rooms_are_within_their_budgets() -> None:
    found, budgets = sizes(), BUDGETS["lines"]
    assert found.keys() == budgets.keys()
    assert {name: size for name, size in found.items() if size > budgets[name]} == {}


def test_budgets_follow_what_they_hold() -> None:
    found = sizes()
    loose = {
        name: found[name] for name, most in BUDGETS["lines"].items() if most > found[name] * (1 + SLACK) + 50
    }
    assert loose == {}, "lower these budgets"


def test_the_tests_are_within_their_budget() -> None:
    assert lines((ROOT / "tests").rglob("*.py")) <= BUDGETS["lines-of-tests"]


def test_modules_are_few() -> None:
    assert len(list(RUNTIME.rglob("*.py"))) <= BUDGETS["modules"]
