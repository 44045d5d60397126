"""What verbs print: values as lines of JSON for programs, or words for people; tables of text, and CSV.

Strategy: a verb yields a `Line` for each thing that it has to say. What of it is printed, and how it is
escaped, is decided here only. The events of segments have renderers of their own: `jsonl` and `text`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kafka_segments.cli import console, jsonl
from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError
from kafka_segments.errors.escaping import escape, shown
from kafka_segments.log.findings import Finding

__all__ = [
    "Line",
    "attributes_of",
    "csv_text",
    "error_values",
    "left_out_values",
    "line_values",
    "print_lines",
    "print_table",
    "table_lines",
]


class Line(NamedTuple):
    """Something that a verb prints.

    Attributes:
        values: for programs: an object of JSON, or damage; None for nothing.
        words: for people, without a newline; text that is ready as bytes; None for nothing.
        status: the exit status that it stands for.
    """

    values: dict[str, Any] | Damage | None
    words: str | bytes | None = None
    status: int = console.CLEAN

    def rendered(self, form: str) -> bytes:
        """Return what is printed in a format, with its newline."""
        if form == "jsonl":
            return b"" if self.values is None else jsonl.encode(self.values)
        if self.words is None or isinstance(self.words, bytes):
            return self.words or b""
        return f"{shown(self.words)}\n".encode()


def print_lines(lines: Iterable[Line], form: str) -> int:
    """Print lines, each as soon as it is there; return the greatest of their statuses.

    Args:
        lines: what to print.
        form: "jsonl" or "text".

    Raises:
        BrokenPipeError: the reader has closed the pipe; `console.printing` ends quietly.
        OutputError: see `console.writing`.
    """
    status = console.CLEAN
    for line in lines:
        status = max(status, line.status)
        console.write(line.rendered(form))
        console.flush()
    return status


def line_values(kind: str, one: Any, *names: str, **more: Any) -> dict[str, Any]:
    """Return an object of JSON: its type, attributes of something, and more."""
    return {"type": kind} | attributes_of(one, *names) | more


def attributes_of(one: Any, *names: str) -> dict[str, Any]:
    """Return some attributes by name."""
    return {name: getattr(one, name) for name in names}


def error_values(error: KafkaFormatError) -> dict[str, Any]:
    """Return the values of an error of a file."""
    return {"path": error.path, "error": type(error).__name__, "detail": error.detail}


def left_out_values(found: Sequence[Finding]) -> dict[str, Any]:
    """Return the values of adjacent segments of a partition that are left out for the same reason."""
    return attributes_of(found[0], "topic", "partition", "first_offset") | {
        "last_offset": found[-1].last_offset,
        "num_bytes": sum(one.num_bytes for one in found),
        "paths": [one.path for one in found],
        "why": found[0].detail,
    }


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], totals: Sequence[str], *, note: str = ""
) -> None:
    """Print a table whose last row are the totals; `note` is a line after the other rows, if there is one."""
    console.print_all(f"{line}\n".encode() for line in table_lines(titles, rows, totals, note=note))


def table_lines(
    titles: Sequence[str], rows: Sequence[Sequence[str]], totals: Sequence[str] = (), *, note: str = ""
) -> list[str]:
    """Return a table as lines, with names to the left and numbers to the right.

    Args:
        titles: of the columns.
        rows: as many texts each.
        totals: the last row; none if it is empty.
        note: a line after the rows; none if it is empty.
    """
    lines = [titles, *rows, *([totals] if totals else [])]
    widths = [max(len(row[column]) for row in lines) for column in range(len(titles))]
    rule = "  ".join("-" * width for width in widths)
    head, *texts = (_aligned(row, widths) for row in lines)
    if not totals:
        return [head, rule, *texts]
    return [head, rule, *texts[:-1], *([note] if note else []), rule, texts[-1]]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    numbers = (word.rjust(width) for word, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([shown(row[0]).ljust(widths[0]), *numbers])


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV; None is an empty value, and unprintable characters are escaped."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([escape(one) if isinstance(one, str) else one for one in row] for row in rows)
    return text.getvalue()
