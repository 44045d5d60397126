"""Every statement of the five documents has its place in docs/concepts, and the page there says it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from tests.errata.test_errata_list import HERE, LIST, ROOT, ROWS

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
