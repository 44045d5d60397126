"""The table of docs/verify-reference.md: `python -m tests.nodes.page` makes it of the recorded outcomes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.nodes.trials import STATES_OF_NODE, Outcome, recorded
from tests.nodes.ways import PLANTS, WAYS, Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verify-reference.md"
MARKS = "<!-- nodes, made by tests/nodes/page.py -->", "<!-- end of nodes -->"
CLEANED = "states-0/"
"""What the log cleaner does there at any start is no consequence."""


def consequence(outcome: Outcome) -> str:
    """What a broker has made of a changed node, in a few words."""
    if not outcome.starts:
        return "does not start"
    if outcome.strayed:
        return "puts aside"
    kept = (".snapshot", ".kafka_cleanshutdown")
    deleted = [one for one in outcome.deleted if not one.startswith(CLEANED) and not one.endswith(kept)]
    if deleted:
        return "deletes"
    trimmed = outcome.name if outcome.way == "zeros" else ""  # zeros at the end are a preallocated file's
    if any(not one.startswith(CLEANED) and one != trimmed for one in outcome.cut):
        return "truncates"
    return "serves less" if outcome.served else "serves all"


def table() -> list[str]:
    """The lines of both tables."""
    outcomes = recorded()
    ways = " | ".join(WAYS)
    lines = [f"| state | file | {ways} |", "|---" * (len(WAYS) + 2) + "|"]
    for state in STATES_OF_NODE:
        for name in dict.fromkeys(case.name for case in outcomes if case.state == state and case.name):
            cells = [_cell(outcomes.get(Case(state, name, way))) for way in WAYS]
            lines.append(f"| {state} | {_short(name)} | {' | '.join(cells)} |")
    lines += [
        "",
        f"| what was done | {' | '.join(STATES_OF_NODE)} |",
        "|---" * (len(STATES_OF_NODE) + 1) + "|",
    ]
    for plant in PLANTS:
        cells = [_cell(outcomes.get(Case(state, "", plant))) for state in STATES_OF_NODE]
        lines.append(f"| {plant} | {' | '.join(cells)} |")
    return lines


def _cell(outcome: Outcome | None) -> str:
    return "not tried" if outcome is None else consequence(outcome)


def _short(name: str) -> str:
    return f"`{re.sub(r'/0{8,}(?=[0-9])', '/', name)}`"


def page_with(lines: list[str]) -> str:
    """The page with the tables."""
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    text = "\n".join(lines)
    return f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(table()))
