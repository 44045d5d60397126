"""Rows of `ls`: figures of segments, summed for copies, partitions and topics, and how they are printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kafka_segments.cli.jobs import size_words
from kafka_segments.cli.output import (
    Line,
    attributes_of,
    csv_text,
    finding_line,
    line_values,
    passed_over_line,
    table_lines,
)
from kafka_segments.cli.text import counted, moment_words
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.segment_figures import SegmentFigures, codec_name
from kafka_segments.log.skipped_files import SkippedFiles

__all__ = ["LEVELS", "SORT_KEYS", "ListRow", "csv_of", "listing_lines", "row_of", "rows_at", "sorted_rows"]

LEVELS = ("topics", "partitions", "copies", "segments")
"""What a row may stand for."""
SORT_KEYS = ("name", "size", "time", "segments", "records")
"""What rows are sorted by."""
_KEYS: dict[str, tuple[str, ...]] = {
    "total": (),
    "topics": ("topic",),
    "partitions": ("topic", "partition"),
    "copies": ("topic", "partition", "directory"),
    "segments": ("topic", "partition", "directory", "base_offset"),
}
_TITLES = ("segments", "start", "end", "size", "first time", "last time", "codecs", "formats", "records")


def _least(numbers: Iterable[int | None]) -> int | None:
    return min((one for one in numbers if one is not None), default=None)


def _greatest(numbers: Iterable[int | None]) -> int | None:
    return max((one for one in numbers if one is not None), default=None)


def _counted(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total = Counter[int]()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _summed_by(how: Callable[[Sequence[Any]], Any]) -> Any:
    """Return a field; `how` makes its value of those of several rows."""
    return field(metadata={"sum": how})


@dataclass(frozen=True, slots=True)
class ListRow:
    """Figures of a segment, or of several.

    Attributes:
        topic: name; None in a row for several topics. So with all names.
        partition: number.
        directory: of the copy.
        path: of the segment.
        base_offset: likewise, by its name.
        num_topics: topics in it.
        num_partitions: their partitions.
        num_copies: directories of these.
        num_segments: segments in these.
        num_bytes: of all these segments.
        num_bytes_beside: of indexes and other files of a segment.
        start_offset: the first one; None in a row for several partitions. So with `end_offset`.
        end_offset: the offset after the last one.
        first_timestamp: milliseconds; None if unknown.
        max_timestamp: likewise.
        num_batches: batches, messages and wrappers; None if they were not counted.
        num_records: likewise.
        num_old_segments: segments in which magic 0 or 1 was seen.
        num_old_bytes: their bytes.
        codecs: bytes by number of the codec; 0 if they were not counted.
        magics: likewise, by format.
        is_exact: whether all figures are from all headers.
        errors: what could not be read.
    """

    topic: str | None
    partition: int | None
    directory: str | None
    path: str | None
    base_offset: int | None
    num_topics: int
    num_partitions: int
    num_copies: int
    num_segments: int
    num_bytes: int = _summed_by(sum)
    num_bytes_beside: int = _summed_by(sum)
    start_offset: int | None = _summed_by(_least)
    end_offset: int | None = _summed_by(_greatest)
    first_timestamp: int | None = _summed_by(_least)
    max_timestamp: int | None = _summed_by(_greatest)
    num_batches: int | None = _summed_by(_total)
    num_records: int | None = _summed_by(_total)
    num_old_segments: int = _summed_by(sum)
    num_old_bytes: int = _summed_by(sum)
    codecs: Mapping[int, int] = _summed_by(_counted)
    magics: Mapping[int, int] = _summed_by(_counted)
    is_exact: bool = _summed_by(all)
    errors: tuple[KafkaFormatError, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """The path of a segment or a directory, the name of a partition or a topic."""
        if self.path is not None or self.directory is not None:
            return self.path or self.directory or ""
        if self.topic is None:
            return "total"
        return self.topic if self.partition is None else f"{self.topic}-{self.partition}"


_COLUMNS = tuple(one.name for one in fields(ListRow))[: -len(("codecs", "magics", "is_exact", "errors"))]
_ALIKE = tuple(one.name for one in fields(SegmentFigures) if one.name != "first_offset")


def row_of(copy: PartitionCopy, segment: StoredSegment, figures: SegmentFigures) -> ListRow:
    """Make the row of a segment."""
    is_old = any(magic < 2 for magic in figures.magics)
    start = figures.first_offset
    if copy.log_start_offset is not None:  # records below it are deleted
        start = min(max(start, copy.log_start_offset), figures.end_offset)
    alike = {name: getattr(figures, name) for name in _ALIKE}
    return ListRow(
        *(copy.topic, copy.partition, copy.path, segment.path, segment.base_offset),
        num_topics=1,
        num_partitions=1,
        num_copies=1,
        num_segments=1,
        num_bytes=segment.size,
        num_bytes_beside=sum(one.size for one in segment.beside.values()),
        start_offset=start,
        num_old_segments=int(is_old),
        num_old_bytes=segment.size if is_old else 0,
        **alike,
    )


def rows_at(level: str, segments: Sequence[ListRow]) -> list[ListRow]:
    """Sum rows of segments.

    Args:
        level: one of `LEVELS`, or "total" for one row of all.
        segments: their rows.
    """
    names = _KEYS[level]
    groups: dict[tuple[object, ...], list[ListRow]] = {} if names else {(): []}
    for row in segments:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return [
        rows[0] if level == "segments" else _summed(rows, num_names=len(key)) for key, rows in groups.items()
    ]


def _summed(rows: Sequence[ListRow], num_names: int) -> ListRow:
    """The sum of rows of segments; the first `num_names` of topic, partition and directory are theirs all."""
    names = ("topic", "partition", "directory")
    found: dict[str, Any] = dict.fromkeys((*names, "path", "base_offset"))
    found |= attributes_of(rows[0], *names[:num_names]) if rows else {}
    for name, how in ((one.name, one.metadata.get("sum")) for one in fields(ListRow)):
        found |= {} if how is None else {name: how([getattr(row, name) for row in rows])}
    if num_names < len(("topic", "partition")):
        found |= {"start_offset": None, "end_offset": None}
    return ListRow(
        **found,
        num_topics=len({row.topic for row in rows}),
        num_partitions=len({(row.topic, row.partition) for row in rows}),
        num_copies=len({row.directory for row in rows}),
        num_segments=len(rows),
    )


def sorted_rows(rows: Sequence[ListRow], key: str, *, is_reversed: bool) -> list[ListRow]:
    """Sort rows; those with the same value stay in the order of their names.

    Args:
        rows: in the order of their names.
        key: one of `SORT_KEYS`.
        is_reversed: whether the greatest comes first.
    """
    if key == "name":
        return list(reversed(rows)) if is_reversed else list(rows)
    field_of = {"size": "num_bytes", "time": "max_timestamp", "segments": "num_segments"}
    name = field_of.get(key, f"num_{key}")

    def value(row: ListRow) -> int:
        found = getattr(row, name)
        return -1 if found is None else int(found)

    return sorted(rows, key=value, reverse=is_reversed)


def listing_lines(
    level: str,
    rows: Sequence[ListRow],
    total: ListRow,
    skipped: Iterable[SkippedFiles],
    findings: Sequence[Finding],
    *,
    is_human: bool,
) -> Iterator[Line]:
    """Yield lines for rows and what was not read: objects for programs, a table for people.

    Args:
        level: what a row stands for.
        rows: in their order.
        total: one row of all.
        skipped: files and directories that a broker would not read.
        findings: of the copies.
        is_human: sizes with units, in text.
    """
    if rows:  # else nothing could be listed, and errors have said so
        for text in _table(level, rows, total, is_human=is_human):
            yield Line(None, text)
    kind = {"copies": "copy"}.get(level, level[:-1])
    yield from (Line(_values(kind, row)) for row in rows)
    # People find these on standard error.
    yield from (passed_over_line(other)._replace(words=None) for other in skipped)
    for one in (*of_kinds(findings, *LEFT_OUT_KINDS), *of_kinds(findings, Kind.UNUSED)):
        yield finding_line(one)._replace(words=None)
    yield Line(_values("total", total))


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


def csv_of(rows: Iterable[ListRow]) -> str:
    """Return rows as CSV."""
    titles = (*_COLUMNS, "codecs", "magics", "read")
    made = ((*attributes_of(row, *_COLUMNS).values(), _codecs(row), _magics(row), _read(row)) for row in rows)
    return csv_text(titles, made)


def _codecs(row: ListRow) -> str:
    return " ".join(map(codec_name, row.codecs))


def _magics(row: ListRow) -> str:
    return " ".join(map(str, row.magics))


def _table(level: str, rows: Sequence[ListRow], total: ListRow, *, is_human: bool) -> Iterator[str]:
    titles = [level, *_TITLES[: None if total.is_exact else -1]]
    texts = [_texts(row, is_human=is_human)[: len(titles)] for row in (*rows, total)]
    yield from table_lines(titles, texts[:-1], texts[-1])
    how = "" if total.is_exact else "; codecs, formats and times are those of their ends (--headers: of all)"
    beside, old = _size(total.num_bytes_beside, is_human), _size(total.num_old_bytes, is_human)
    yield (
        f"{counted(total.num_topics, 'topic')}, {counted(total.num_partitions, 'partition')} in "
        f"{counted(total.num_copies, 'directory', 'directories')}; files beside segments: {beside}{how}"
    )
    if not total.num_old_segments:
        return
    topics = sorted({row.topic or "" for row in rows if row.num_old_segments})
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
