"""Tables of text on standard output, with names to the left and numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.cli import console
from kafka_segments.errors.escaping import shown

__all__ = ["print_table", "table_lines"]


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], totals: Sequence[str], *, note: str = ""
) -> None:
    """Print a table.

    Args:
        titles: of the columns.
        rows: as many texts each.
        totals: the last row.
        note: a line after the rows; none if it is empty.
    """
    head, rule, *texts = table_lines(titles, [*rows, totals])
    notes = [note] if note else []
    console.print_all(f"{line}\n".encode() for line in (head, rule, *texts[:-1], *notes, rule, texts[-1]))


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines: the titles, a rule, and the rows."""
    lines = [titles, *rows]
    widths = [max(len(row[column]) for row in lines) for column in range(len(titles))]
    rule = "  ".join("-" * width for width in widths)
    texts = [_line(row, widths) for row in lines]
    return [texts[0], rule, *texts[1:]]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Align text to the left, numbers to the right."""
    numbers = (word.rjust(width) for word, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([shown(row[0]).ljust(widths[0]), *numbers])
