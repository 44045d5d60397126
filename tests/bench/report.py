"""The run's rows as a table for people and as `bench.json` for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.goals import Row


def word(row: Row) -> str:
    """What the last column of a goal says."""
    return {True: "met", False: "MISSED", None: "not judged"}[row["met"]]


def number(value: float | None, digits: int = 2) -> str:
    """A figure as people read it; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def aligned(lines: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Columns of text: the first `left` and the last to the left, those between to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    last = len(widths) - 1
    for line in lines:
        cells = [
            cell.ljust(width) if place < left or place == last else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def goal_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows with a goal, on this kind of CPU or on others."""
    return [row for row in rows if row["goal"] is not None or "peer" in row]


def goal_cells(row: Row) -> tuple[str, str]:
    """What was measured, and what it is compared with."""
    if "peer" in row:
        return rate(row.get("ours_mrps")), rate(row.get("peer_mrps"))
    return f"{number(row['figure'], 3)} {row['unit']}", row["limit"] or "-"


def goal_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The rows with a goal."""
    lines = [["goal", "corpus", "figure", "peer", "ratio", "goal", "met", ""]]
    for row in rows:
        figure, other = goal_cells(row)
        least = "-" if row["goal"] is None else f"{row['goal']:g}"
        lines.append(
            [
                row["name"],
                row["corpus"],
                figure,
                other,
                significant(row["ratio"]),
                least,
                word(row),
                row["note"],
            ]
        )
    yield from aligned(lines, 2)


def rate(mrps: float | None) -> str:
    """Million records a second."""
    return f"{significant(mrps)} M/s"


def significant(value: float | None) -> str:
    """A figure with three digits, however small; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The figures that have no goal."""
    lines = [["figure", "corpus", "value", ""]]
    lines += [
        [row["name"], row["corpus"], f"{number(row['figure'], 3)} {row['unit']}", row["note"]] for row in rows
    ]
    yield from aligned(lines, 2)


def decoder_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Who read or wrote what how fast."""
    head = [
        "corpus",
        "decoder",
        "M records/s",
        "seconds",
        "ours/it",
        "MB read",
        "passes",
        "checksum's share",
        "",
    ]
    lines = [head]
    for row in rows:
        share = row["checksum_share"]
        lines.append(
            [
                row["corpus"],
                row["name"],
                significant(row["mrps"]),
                number(row["seconds"], 4),
                significant(row["ratio"]),
                number(row["bytes"] / 1e6, 1),
                str(row["passes"]),
                "-" if share is None else f"{share:.1%}",
                row["note"],
            ]
        )
    yield from aligned(lines, 2)


def table(rows: Sequence[Row], heading: str) -> str:
    """All rows, in three parts."""
    goals = goal_rows(rows)
    decoders = [row for row in rows if "decoder" in row]
    figures = [row for row in rows if "decoder" not in row and row not in goals]
    counts = {said: sum(word(row) == said for row in goals) for said in ("met", "MISSED", "not judged")}
    parts = [heading, *decoder_lines(decoders), "", *(figure_lines(figures) if figures else ()), ""]
    parts += [*goal_lines(goals), "", ", ".join(f"{count} {said}" for said, count in counts.items())]
    return "\n".join(parts)


def markdown(rows: Sequence[Row], heading: str) -> str:
    """The rows with a goal as a table for a page of the documentation."""
    lines = [
        heading,
        "",
        "| | corpus | figure | other or limit | ratio | goal | |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for row in goal_rows(rows):
        least = "-" if row["goal"] is None else f"{row['goal']:g}"
        cells = [row["name"], row["corpus"], *goal_cells(row), significant(row["ratio"]), least, word(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as JSON, one on a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
