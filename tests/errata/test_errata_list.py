"""The list of errata is whole, each row with its test; every statement of the five documents has its page."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.python import run_python

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST: dict[str, Any] = tomllib.loads((HERE / "errata.toml").read_text(encoding="utf-8"))
ROWS: list[dict[str, str]] = LIST["row"]
KEYS = {"table", "name", "section", "source", "verdict", "claim", "truth", "seen", "page", "words"}


@cache
def collected() -> Counter[str]:
    """Names of the tests that pytest collects in the modules on errata, without their parameters."""
    options = ["--collect-only", "-q", "-p", "no:xdist", "-m", ""]
    done = run_python("-m", "pytest", *options, HERE, cwd=ROOT)
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


CONCEPTS = ROOT / "docs" / "concepts"
SEEDS: dict[str, dict[str, dict[str, str]]] = tomllib.loads((HERE / "seeds.toml").read_text(encoding="utf-8"))
ERRATA = {row["name"]: row for row in ROWS}


def statements() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Document, name and row of every statement."""
    for document, rows in SEEDS.items():
        for name, row in rows.items():
            yield document, name, row


def text_of(page: str) -> str:
    """A page below docs/concepts, in one line."""
    return " ".join((CONCEPTS / page).read_text(encoding="utf-8").split())


def missing(rows: Iterator[tuple[str, dict[str, str]]]) -> list[str]:
    """Rows whose page does not have their words."""
    return [
        f"{name}: {row['page']}"
        for name, row in rows
        if " ".join(row["words"].split()) not in text_of(row["page"])
    ]


def test_every_statement_that_is_right_is_said_by_its_page() -> None:
    right = ((f"{document}-{name}", row) for document, name, row in statements() if "erratum" not in row)
    assert missing(right) == []


def test_every_other_statement_is_an_erratum_of_its_document() -> None:
    for document, name, row in statements():
        if "erratum" in row:
            assert row.keys() == {"says", "erratum"}, name
            assert (
                document in ERRATA[row["erratum"]]["source"] or ERRATA[row["erratum"]]["source"] == "all"
            ), name
        else:
            assert row.keys() == {"says", "page", "words"}, name
            assert len(row["words"]) > 8, name


def test_every_erratum_is_a_statement_of_each_of_its_documents() -> None:
    said = {(document, row.get("erratum")) for document, _name, row in statements()}
    for name, row in ERRATA.items():
        for document in row["source"].split(", "):
            assert (document, name) in said or document in ("K", "all"), f"{name}: {document}"


def test_the_truth_of_every_erratum_is_said_by_a_page() -> None:
    assert missing(iter(ERRATA.items())) == []
    assert {row["verdict"] for row in ROWS} == {"wrong", "imprecise", "right"}


def test_the_page_of_errata_has_every_one() -> None:
    page = text_of("errata.md")
    names: dict[str, Any] = LIST["documents"]
    for row in ROWS:
        assert f"| {row['claim']} | " in page and f" | {row['verdict']} | {row['truth']}" in page, row["name"]
    for name in names.values():
        assert f"| {name} | " in page, "the list of documents"
    assert page.count(" | wrong | ") + page.count(" | imprecise | ") + page.count(" | right | ") == len(ROWS)
