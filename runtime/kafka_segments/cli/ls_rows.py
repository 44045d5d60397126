"""Rows of `ls`: figures of segments, summed for copies, partitions and topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.segment_figures import SegmentFigures

__all__ = ["LEVELS", "SORT_KEYS", "ListRow", "row_of", "rows_at", "sorted_rows"]

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


@dataclass(frozen=True, slots=True)
class ListRow:
    """Figures of a segment, or of several.

    Attributes:
        topic: name; None in a row for several topics. So with all names.
        partition: number.
        directory: of the copy.
        path: of the segment.
        base_offset: likewise, by its name.
        is_exact: whether all figures are from all headers.
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
        codecs: bytes by number of the codec; 0 if they were not counted.
        magics: likewise, by format.
        num_batches: batches, messages and wrappers; None if they were not counted.
        num_records: likewise.
        num_old_segments: segments in which magic 0 or 1 was seen.
        num_old_bytes: their bytes.
        errors: what could not be read.
    """

    topic: str | None
    partition: int | None
    directory: str | None
    path: str | None
    base_offset: int | None
    is_exact: bool
    num_topics: int
    num_partitions: int
    num_copies: int
    num_segments: int
    num_bytes: int
    num_bytes_beside: int
    start_offset: int | None
    end_offset: int | None
    first_timestamp: int | None
    max_timestamp: int | None
    codecs: Mapping[int, int]
    magics: Mapping[int, int]
    num_batches: int | None
    num_records: int | None
    num_old_segments: int = 0
    num_old_bytes: int = 0
    errors: tuple[KafkaFormatError, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """The path of a segment or a directory, the name of a partition or a topic."""
        if self.path is not None or self.directory is not None:
            return self.path or self.directory or ""
        if self.topic is None:
            return "total"
        return self.topic if self.partition is None else f"{self.topic}-{self.partition}"


def row_of(copy: PartitionCopy, segment: StoredSegment, figures: SegmentFigures) -> ListRow:
    """Make the row of a segment."""
    is_old = any(magic < 2 for magic in figures.magics)
    start = figures.first_offset
    if copy.log_start_offset is not None:  # records below it are deleted
        start = min(max(start, copy.log_start_offset), figures.end_offset)
    alike = {one.name: getattr(figures, one.name) for one in fields(figures) if one.name != "first_offset"}
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
    first = rows[0] if rows else None
    topic, partition, directory = (
        None if first is None or num_names <= place else getattr(first, name)
        for place, name in enumerate(("topic", "partition", "directory"))
    )
    partitions = {(row.topic, row.partition) for row in rows}
    has_offsets = num_names >= len(("topic", "partition"))
    return ListRow(
        topic,
        partition,
        directory,
        None,
        None,
        all(row.is_exact for row in rows),
        len({row.topic for row in rows}),
        len(partitions),
        len({row.directory for row in rows}),
        len(rows),
        sum(row.num_bytes for row in rows),
        sum(row.num_bytes_beside for row in rows),
        min((row.start_offset or 0 for row in rows), default=None) if has_offsets else None,
        max((row.end_offset or 0 for row in rows), default=None) if has_offsets else None,
        min((row.first_timestamp for row in rows if row.first_timestamp is not None), default=None),
        max((row.max_timestamp for row in rows if row.max_timestamp is not None), default=None),
        _counted([row.codecs for row in rows]),
        _counted([row.magics for row in rows]),
        _total([row.num_batches for row in rows]),
        _total([row.num_records for row in rows]),
        sum(row.num_old_segments for row in rows),
        sum(row.num_old_bytes for row in rows),
    )


def _counted(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for one in counts:
        for number, count in one.items():
            total[number] = total.get(number, 0) + count
    return {number: total[number] for number in sorted(total)}


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


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
