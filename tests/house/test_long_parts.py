"""`make test-long` in parts: each long test stands in one of them, none takes longer than half an hour."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from tools import parts

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 30 * 60
MOST_SECONDS_OF_ALL = 2 * 60 * 60
"""Four hours of CPU, on two cores."""
HOW = 'add a line to tests/parts.toml, in the part that it fits: "{}" = SECONDS (of two idle cores)'


def modules_with_long_tests() -> set[str]:
    """All modules that give a test the marker `long`, some by `builders.samples`."""
    files = ((path, path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py"))
    marked = (path for path, text in files if re.search(r"pytest\.mark\.long\b|\bsampled\(", text))
    return {path.relative_to(ROOT).as_posix() for path in marked}


def test_each_module_with_long_tests_stands_in_one_part() -> None:
    shares = defaultdict(list)
    for part in parts.parts():
        for share in part.shares:
            shares[share.module].append((share.at, share.of))
    known = modules_with_long_tests() | {parts.LOWEST}
    assert not [HOW.format(module) for module in sorted(known - shares.keys())]
    assert not shares.keys() - known, "these have no long tests"
    for module, found in shares.items():
        assert sorted(found) == [(at, found[0][1]) for at in range(1, found[0][1] + 1)], module


def test_no_part_is_too_long() -> None:
    assert {part.title: part.seconds for part in parts.parts() if part.seconds > MOST_SECONDS} == {}
    assert sum(part.seconds for part in parts.parts()) <= MOST_SECONDS_OF_ALL


def test_shares_of_a_module_have_each_of_its_tests_once() -> None:
    tests = [f"tests/a/test_one.py::test_it[{number}]" for number in range(10)]
    others = ["tests/a/test_one_more.py::test_it", "tests/b/test_one.py::test_it"]
    shares = [parts.Share("tests/a/test_one.py", at, 3, 1) for at in (1, 2, 3)]
    taken = [share.takes([*reversed(tests), *others]) for share in shares]
    assert sorted(test for share in taken for test in share) == tests
    assert {*map(len, taken)} == {3, 4}
    assert parts.Part("", (*shares[:2],)).takes(tests) == taken[0] | taken[1]


def test_without_an_argument_the_parts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert parts.main([]) == 0
    said = capsys.readouterr().out
    for number, part in enumerate(parts.parts(), 1):
        assert f"{number}/{len(parts.parts())}" in said and part.title in said
    with pytest.raises(SystemExit, match="no part 0/3: there are 1/"):
        parts.main(["0/3"])
