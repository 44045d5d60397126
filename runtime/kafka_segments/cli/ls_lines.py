"""Output of `ls`: as a table, as JSON lines or as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.cli import jsonl
from kafka_segments.cli.jobs import size_words
from kafka_segments.cli.ls_rows import ListRow
from kafka_segments.cli.output import (
    attributes_of,
    csv_text,
    error_values,
    left_out_values,
    line_values,
    table_lines,
)
from kafka_segments.cli.text import counted, moment_words
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, of_kinds
from kafka_segments.log.segment_figures import codec_name
from kafka_segments.log.skipped_files import SkippedFiles

__all__ = ["Listing", "listing_lines"]

_TITLES = ("segments", "start", "end", "size", "first time", "last time", "codecs", "formats", "records")
_COLUMNS = (
    "topic",
    "partition",
    "directory",
    "path",
    "base_offset",
    "num_topics",
    "num_partitions",
    "num_copies",
    "num_segments",
    "num_bytes",
    "num_bytes_beside",
    "start_offset",
    "end_offset",
    "first_timestamp",
    "max_timestamp",
    "num_batches",
    "num_records",
    "num_old_segments",
    "num_old_bytes",
)


@dataclass(frozen=True, slots=True)
class Listing:
    """What `ls` prints.

    Attributes:
        level: what a row stands for.
        rows: in their order.
        totals: one row of all.
        skipped: files and directories that a broker would not read.
        findings: of the copies.
    """

    level: str
    rows: Sequence[ListRow]
    totals: Sequence[ListRow]
    skipped: Sequence[SkippedFiles]
    findings: Sequence[Finding]


def listing_lines(listing: Listing, form: str, *, is_human: bool) -> Iterator[bytes]:
    """Yield what is printed of a listing.

    Args:
        listing: what is listed.
        form: "text", "jsonl" or "csv".
        is_human: sizes with units, in text.
    """
    if form == "jsonl":
        yield from map(jsonl.encode, _objects(listing))
    elif form == "csv":
        yield _csv(listing.rows).encode()
    else:
        for line in _lines(listing, is_human=is_human):
            yield f"{line}\n".encode("utf-8", "backslashreplace")


def _objects(listing: Listing) -> Iterator[dict[str, Any]]:
    kind = {"copies": "copy"}.get(listing.level, listing.level[:-1])
    yield from (_values(kind, row) for row in listing.rows)
    yield from (line_values("passed_over", other, "paths", "why") for other in listing.skipped)
    for one in of_kinds(listing.findings, *LEFT_OUT_KINDS):
        yield {"type": "left_out"} | left_out_values([one])
    for error in filter(None, (one.error for one in of_kinds(listing.findings, Kind.UNUSED))):
        yield {"type": "finding"} | error_values(error)
    yield from (_values("total", row) for row in listing.totals)


def _values(kind: str, row: ListRow) -> dict[str, Any]:
    codecs = {codec_name(number): size for number, size in row.codecs.items()}
    magics = {str(magic): size for magic, size in row.magics.items()}
    errors = ({"error": type(one).__name__} | attributes_of(one, "position", "detail") for one in row.errors)
    return line_values(
        kind,
        row,
        *_COLUMNS,
        codecs=list(codecs),
        magics=list(row.magics),
        bytes_by_codec=codecs if row.is_exact else None,
        bytes_by_magic=magics if row.is_exact else None,
        read=_read(row),
        errors=list(errors),
    )


def _read(row: ListRow) -> str:
    """What the figures are made of."""
    return "headers" if row.is_exact else "ends"


def _csv(rows: Sequence[ListRow]) -> str:
    titles = (*_COLUMNS, "codecs", "magics", "read")
    made = ((*attributes_of(row, *_COLUMNS).values(), _codecs(row), _magics(row), _read(row)) for row in rows)
    return csv_text(titles, made)


def _codecs(row: ListRow) -> str:
    return " ".join(map(codec_name, row.codecs))


def _magics(row: ListRow) -> str:
    return " ".join(map(str, row.magics))


def _lines(listing: Listing, *, is_human: bool) -> Iterator[str]:
    if not listing.rows:  # nothing could be listed; errors have said so
        return
    total = listing.totals[0]
    is_counted = total.is_exact and bool(listing.rows)
    titles = [listing.level, *_TITLES[: None if is_counted else -1]]
    rows = [_texts(row, is_human=is_human)[: len(titles)] for row in (*listing.rows, total)]
    yield from table_lines(titles, rows[:-1], rows[-1])
    yield from _notes(listing, total, is_human=is_human)


def _notes(listing: Listing, total: ListRow, *, is_human: bool) -> Iterator[str]:
    how = "" if total.is_exact else "; codecs, formats and times are those of their ends (--headers: of all)"
    beside, old = _size(total.num_bytes_beside, is_human), _size(total.num_old_bytes, is_human)
    yield (
        f"{counted(total.num_topics, 'topic')}, {counted(total.num_partitions, 'partition')} in "
        f"{counted(total.num_copies, 'directory', 'directories')}; files beside segments: {beside}{how}"
    )
    if not total.num_old_segments:
        return
    topics = sorted({row.topic or "" for row in listing.rows if row.num_old_segments})
    yield (
        f"magic 0 or 1: {counted(total.num_old_segments, 'segment')}, {old}, in {', '.join(topics)}. Kafka "
        "4 serves these messages as they are, and converts them for no client (KIP-724); `kafka-segments "
        "convert --to-magic 2` rewrites a segment"
    )


def _texts(row: ListRow, *, is_human: bool) -> list[str]:
    numbers = row.num_segments, row.start_offset, row.end_offset
    times = row.first_timestamp, row.max_timestamp
    return [
        row.name,
        *("" if number is None else str(number) for number in numbers),
        _size(row.num_bytes, is_human),
        *(moment_words(-1 if one is None else one) for one in times),
        _codecs(row) or "-",
        _magics(row) or "-",
        "-" if row.num_records is None else str(row.num_records),
    ]


def _size(num_bytes: int, is_human: bool) -> str:
    return size_words(num_bytes) if is_human else str(num_bytes)
