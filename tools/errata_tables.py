"""The tables of docs/concepts/errata.md: what documents say of the formats, and what is right."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

_LIST = Path(__file__).resolve().parents[1] / "tests" / "errata" / "errata.toml"
_PAGE = "errata.md"


def lines() -> Iterator[str]:
    """A heading and a table for each section, a row for each statement."""
    listed = tomllib.loads(_LIST.read_text(encoding="utf-8"))
    for section, rows in groupby(listed["row"], key=lambda row: row["section"]):
        yield ""
        yield f"## {section[0].upper()}{section[1:]}"
        yield ""
        yield "| statement | document | verdict | what is right | how we know |"
        yield "|---|---|---|---|---|"
        for row in rows:
            cells = (
                row["claim"],
                _documents(row, listed["documents"]),
                row["verdict"],
                _truth(row),
                row["seen"],
            )
            yield f"| {' | '.join(cells)} |"


def _documents(row: dict[str, str], names: dict[str, str]) -> str:
    return "all" if row["source"] == "all" else ", ".join(names[code] for code in row["source"].split(", "))


def _truth(row: dict[str, str]) -> str:
    """What is right, with a link to the page that explains it."""
    page = row["page"]
    return row["truth"] if page == _PAGE else f"{row['truth']} ([{Path(page).stem}]({page}))"
