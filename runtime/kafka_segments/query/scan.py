"""Records of log directories, replicas, tiers and stores as Arrow: `scan` and `list_partitions`.

Strategy: the plan narrows the reading by offsets, and by times with sound indexes; rows are then filtered
exactly (`scan_request`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.replicas import resolve
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.scan_arguments import OffsetRange, Path, Time, places_of, texts_of
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
    topics: str | Iterable[str] | None = None,
    partitions: Iterable[int] | Iterable[TopicPartition] | None = None,
    offsets: OffsetRange | Mapping[TopicPartition, OffsetRange] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted",
    columns: Sequence[str] | None = None,
    on_damage: OnDamage = "raise",
    max_timestamp_skew: timedelta | int | None = None,
    storage_options: Mapping[str, str] | None = None,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> pa.RecordBatchReader:
    """Read records of partitions as a stream of Arrow batches, by partition and offset.

    Args:
        paths: log directories, partitions' directories, tiers, segments, patterns, or addresses in stores;
            replicas of a partition are merged into one log.
        topics: names; all but internal topics if None.
        partitions: numbers, for all those topics; or pairs of topic and number, such as `("orders", 3)`.
        offsets: `(start, end)`: only records with start <= offset < end, None is open. Or a pair for each
            partition to read, by topic and number: missing offsets of these ranges are lost.
        since: only records at or after this time: with a time zone, a text in ISO 8601 (UTC unless it names a
            zone), or milliseconds since 1970. Records without a timestamp are excluded if a time is given.
        until: only records before this time.
        isolation: "read_committed" excludes records of aborted and open transactions.
        columns: names, of `topic`, `partition` and those of `core.segment.table.SCHEMA` and its further
            ones; topic, partition and all of `SCHEMA` if None.
        on_damage: "raise" raises the first damage, loss of offsets or doubtful transaction; "skip" continues
            after it; a function receives each as a `Damage`.
        max_timestamp_skew: the most by which a record may be earlier than one before it (a timedelta, or
            milliseconds): reading can then stop after `until`. Without it, later records are read too,
            because producers may set any time.
        storage_options: settings of stores by Hadoop's names (`fs.s3a.endpoint`), also prefixed with
            `spark.hadoop.`.
        max_decompressed: bytes that one batch may decompress to; a larger one is damage.

    Returns:
        A reader of non-empty batches. `topic` is a string and `partition` an int32, never null.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log; while reading: damage or lost offsets.
        OptionError: an unknown topic, partition, column, isolation level or storage option; invalid bounds.
        MissingExtraError: the extra `arrow` is not installed.

    Example:
        >>> reader = scan("/var/lib/kafka", topics="orders", since=1700000000000)  # doctest: +SKIP
    """
    from kafka_segments.query.read.scan_rows import ScanRows

    request = ScanRequest.of(
        paths,
        topics=topics,
        partitions=partitions,
        offsets=offsets,
        since=since,
        until=until,
        isolation=isolation,
        max_timestamp_skew=max_timestamp_skew,
        on_damage=on_damage,
        storage_options=storage_options,
        max_decompressed=max_decompressed,
    )
    rows = ScanRows(columns, request.query.conditions)
    return rows.reader(request.plan().batches(rows))
