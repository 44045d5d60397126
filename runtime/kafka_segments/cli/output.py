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
from kafka_segments.cli.text import counted
from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError
from kafka_segments.errors.escaping import escape, shown
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, error_words
from kafka_segments.log.skipped_files import SkippedFiles

__all__ = [
    "Line",
    "attributes_of",
    "csv_text",
    "error_values",
    "finding_line",
    "left_out_line",
    "line_values",
    "passed_over_line",
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


def finding_line(finding: Finding, **more: Any) -> Line:
    """Return the line of a finding: of a check, lost offsets, what is left out, a remark, or a wrong file.

    Args:
        finding: of a kind that has a line, or of a check.
        more: values for programs.
    """
    error, offsets = finding.error, attributes_of(finding, "first_offset", "last_offset")
    if finding.check is not None:
        values = line_values(
            "finding",
            finding,
            "check",
            topic=finding.topic or None,
            partition=None if finding.partition < 0 else finding.partition,
            **attributes_of(finding, "path", "position", "end_position"),
            **offsets,
            error=None if error is None else type(error).__name__,
            detail=finding.detail,
        )
        return Line(values | more, _check_words(finding))
    if finding.kind in LEFT_OUT_KINDS:
        return left_out_line([finding])
    if error is not None and finding.kind is not Kind.LOST:
        values = {"type": "finding"} | error_values(error)
        return Line(values | more, f"{type(error).__name__}: {error}")
    kind, words = ("loss", f"lost: {finding}") if finding.kind is Kind.LOST else ("remark", str(finding))
    values = line_values(kind, finding, "topic", "partition") | (offsets if kind == "loss" else {})
    return Line(values | {"why": finding.detail} | more, words)


def _check_words(finding: Finding) -> str:
    """Return what a check found in a line: place, check, what is wrong, offsets."""
    detail = finding.detail if finding.damage is None else error_words(finding.damage.error)
    offsets = ""
    if finding.first_offset is not None:
        last = finding.last_offset
        offsets = f" [offsets {finding.first_offset} to {'?' if last is None else last}]"
    return f"{finding.place if finding.path else ''}: {finding.check}: {detail}{offsets}"


def left_out_line(found: Sequence[Finding]) -> Line:
    """Return the line of adjacent segments of a partition that are left out for the same reason."""
    one, last, num_bytes = found[0], found[-1].last_offset, sum(one.num_bytes for one in found)
    values = line_values("left_out", one, "topic", "partition", "first_offset", last_offset=last)
    values |= {"num_bytes": num_bytes, "paths": [each.path for each in found], "why": one.detail}
    first, end = one.first_offset, "the end" if last is None else last
    where = "" if first is None else f" offsets {first} to {end},"
    files = counted(len(found), "file")
    name = f"{one.topic}-{one.partition}"
    return Line(values, f"    {name}: not read:{where} {num_bytes} bytes in {files}: {one.detail}")


def passed_over_line(skipped: SkippedFiles) -> Line:
    """Return the line of files and directories that a broker would not read."""
    return Line(line_values("passed_over", skipped, "paths", "why"), str(skipped))


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
