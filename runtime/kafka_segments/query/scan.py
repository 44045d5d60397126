"""Records of log directories, replicas, tiers and stores as Arrow: `scan` and `list_partitions`.

Strategy: the plan narrows the reading by offsets, and by times with sound indexes; rows are then filtered
exactly (`scan_request`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from kafka_segments.log.discovery import discover
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.replicas import resolve
from kafka_segments.query.scan_arguments import Path, ScanOptions, places_of, texts_of
from kafka_segments.query.scan_request import ScanRequest

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PartitionSummary", "list_partitions", "scan"]


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """Offsets and sizes of a partition at some paths.

    Attributes:
        topic: its name.
        partition: its number.
        start_offset: the first available offset; None for a partition without segments.
        end_offset: the last offset plus one, at least the first; None if the newest segment does not show it.
        num_segments: segments to read, of all copies together.
        num_bytes: of these segments.
        paths: the directories of its copies.
    """

    topic: str
    partition: int
    start_offset: int | None
    end_offset: int | None
    num_segments: int
    num_bytes: int
    paths: tuple[str, ...]


def list_partitions(
    paths: Path | Iterable[Path], *, storage_options: Mapping[str, str] | None = None
) -> list[PartitionSummary]:
    """List the partitions at some paths, without reading records.

    Args:
        paths: as for `scan`.
        storage_options: as for `scan`.

    Returns:
        The partitions by topic and number, including those of internal topics.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log.
        OptionError: an unknown storage option.
    """
    places = places_of(storage_options)
    found = []
    for log in resolve(places, discover(places, texts_of(paths), prefer_names=True)):
        end = find_reached(places, log.pieces[-1].segment) if log.pieces else None
        start = max(log.pieces[0].start, log.log_start_offset or 0) if log.pieces else None
        if start is not None and end is not None:
            end = max(start, end)  # a broker that loads a log which ends before its start empties it
        numbers, sizes = (start, end), [piece.segment.size for piece in log.pieces]
        found.append(PartitionSummary(log.topic, log.partition, *numbers, len(sizes), sum(sizes), log.copies))
    return found


def scan(
    paths: Path | Iterable[Path],
    *,
    columns: Sequence[str] | None = None,
    **options: Unpack[ScanOptions],
) -> pa.RecordBatchReader:
    """Read records of partitions as a stream of Arrow batches, by partition and offset.

    Args:
        paths: log directories, partitions' directories, tiers, segments, patterns, or addresses in stores;
            replicas of a partition are merged into one log.
        columns: names, of `topic`, `partition` and those of `core.segment.table.SCHEMA` and its further
            ones; topic, partition and all of `SCHEMA` if None.
        options: which records, and how: `topics`, `partitions`, `offsets`, `since`, `until`, `isolation`,
            `on_damage`, `max_timestamp_skew`, `storage_options`, `max_decompressed`; see
            `kafka_segments.query.scan_arguments.ScanOptions`.

    Returns:
        A reader of non-empty batches. `topic` is a string and `partition` an int32, never null.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log; while reading: damage or lost offsets.
        OptionError: an unknown topic, partition, column, isolation level or storage option; invalid bounds.
        MissingExtraError: the extra `arrow` is not installed.

    Example:
        >>> reader = scan("/var/lib/kafka", topics="orders", since=1700000000000)  # doctest: +SKIP
    """
    from kafka_segments.query.scan_rows import ScanRows

    request = ScanRequest.of(paths, **options)
    rows = ScanRows(columns, request.query.conditions)
    return rows.reader(request.plan().batches(rows))
