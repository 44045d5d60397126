"""Records of log directories, replicas, tiers and stores as Arrow: `scan` and `list_partitions`.

Strategy: the planner and the reader of the Spark source, one split after the other in this process. The plan
narrows the reading by offsets, and by times with sound indexes; rows are then filtered exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from kafka_segments.errors import OptionError
from kafka_segments.formats.entries import Damage
from kafka_segments.formats.on_damage import OnDamage, check_on_damage
from kafka_segments.io.filesystems import Places
from kafka_segments.io.loggers import get_logger
from kafka_segments.io.store_settings import STORE_PREFIXES, store_settings
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.findings import Finding, Findings, Kind, data_loss
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import Split, is_reported_before
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import (
    EARLIEST,
    LATEST,
    Condition,
    Limits,
    Query,
    TopicPartition,
    Topics,
    at_offsets,
)
from kafka_segments.query.resolve import logs_asked_for, select

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.query.read.scan_rows import ScanRows
    from kafka_segments.query.read.small_splits import SmallSplits

__all__ = ["PartitionSummary", "list_partitions", "scan"]

Path = str | os.PathLike[str]
OffsetRange = tuple[int | None, int | None]
Time = datetime | int

_log = get_logger(__name__)
_WHOLE = Limits(max_partition_bytes=1 << 62)


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """Offsets and sizes of a partition at some paths.

    Attributes:
        topic: its name.
        partition: its number.
        start_offset: the first available offset; None for a partition without segments.
        end_offset: after the last offset, and not below the first; None if the end of the newest segment does
            not show it.
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
        By topic and number; internal topics too.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log.
        OptionError: an unknown storage option.
    """
    places = _places(storage_options)
    found, budget = [], Budget(0)
    for log in resolve(places, discover(places, _texts(paths), prefer_names=True)):
        end = find_reached(places, log.pieces[-1].segment, budget) if log.pieces else None
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
) -> pa.RecordBatchReader:
    """Read records of partitions as a stream of Arrow batches, by partition and offset.

    Args:
        paths: log directories, partitions' directories, tiers, segments, patterns, or addresses in stores;
            replicas of a partition make one log.
        topics: names; all but internal topics if None.
        partitions: numbers, of all those topics; or topics with numbers, such as `("orders", 3)`.
        offsets: `(start, end)`: only records with start <= offset < end, None is open. Or a pair for each
            partition to read, by topic and number: missing offsets of these ranges are lost.
        since: only records at or after this time: with a time zone, or milliseconds since 1970. Records
            without a timestamp are excluded if a time is given.
        until: only records before this time.
        isolation: "read_committed" excludes records of aborted and open transactions.
        columns: names, of `topic`, `partition` and those of `kafka_segments.segment.table.SCHEMA` and its
            further ones; topic, partition and all of `SCHEMA` if None.
        on_damage: "raise" raises the first damage, loss of offsets or doubtful transaction; "skip" continues
            after it; a function receives each as a `Damage`.
        max_timestamp_skew: no record is earlier than one before it by more than this (a timedelta, or
            milliseconds), so that reading can stop after `until`. Without it later records are read too, or
            their timestamps alone in small segments, as producers may set any time.
        storage_options: settings of stores by Hadoop's names (`fs.s3a.endpoint`), also prefixed with
            `spark.hadoop.`.

    Returns:
        A reader of non-empty batches. `topic` is a string and `partition` an int32, never null.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log; while reading: damage or lost offsets.
        OptionError: an unknown topic, partition, column, isolation level or storage option, or invalid
            bounds.
        MissingExtraError: the extra `arrow` is not installed.

    Example:
        >>> reader = scan("/var/lib/kafka", topics="orders", since=1700000000000)  # doctest: +SKIP
    """
    from kafka_segments.query.read.scan_rows import ScanRows

    check_on_damage(on_damage)
    places = _places(storage_options)
    times = _milliseconds("since", since), _milliseconds("until", until)
    query = _query(topics, partitions, offsets, times, isolation)
    query = replace(query, max_timestamp_skew_ms=_skew(max_timestamp_skew))
    rows = ScanRows(columns, query.conditions)
    logs = logs_asked_for(places, _texts(paths), query, FileOptions(), prefer_names=True)
    _check_numbers(query, {log.partition for log in select(logs, query.topics)[0]})
    found = plan(logs, query, places)
    for text in found.warnings():
        _log.warning("%s", text)
    asked = [one for one in query.conditions if one.column == "offset"]
    due = [
        one
        for one in found.of(Kind.LOST) + found.of(Kind.DAMAGE)
        if all(condition.touches(one.first_offset, one.last_offset) for condition in asked)
    ]
    return rows.reader(_batches(found, due, rows, places, on_damage))


def _batches(
    found: Plan, due: Iterable[Finding], rows: ScanRows, places: Places, on_damage: OnDamage
) -> Iterator[pa.RecordBatch]:
    from kafka_segments.query.read.small_splits import SmallSplits
    from kafka_segments.query.read.split_reader import Reading, read_split

    for finding in due:
        _handle_finding(finding, on_damage)
    before = None
    small = SmallSplits(places, rows.sources)
    for split in (split for task in found.tasks for split in task):
        findings = _ScanFindings(split, split.segment.file == before, on_damage)
        before = split.segment.file
        is_added = small.add(split, findings)
        if small.is_full or not is_added:
            yield from _small_rows(small, rows)
        if not is_added:
            for batch in read_split(split, places, Reading(rows.sources), findings):
                yield from rows.of(batch, split.topic, split.partition)
    yield from _small_rows(small, rows)


def _small_rows(small: SmallSplits, rows: ScanRows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of small splits, one batch for each partition."""
    batch, parts = small.take() or (None, [])
    first = 0
    for (topic, partition), group in groupby(parts, lambda part: (part[0].topic, part[0].partition)):
        num_rows = sum(num for _split, num in group)
        if batch is not None:
            yield from rows.of(batch.slice(first, num_rows), topic, partition)
        first += num_rows


class _ScanFindings(Findings):
    """Findings of a split, handled by `on_damage`; an incomplete batch being written is ignored."""

    def __init__(self, split: Split, is_continued: bool, on_damage: OnDamage) -> None:
        super().__init__()
        self._split, self._is_continued = split, is_continued
        self._on_damage: OnDamage = on_damage

    def add(self, finding: Finding) -> None:
        if finding.kind is Kind.NOTE:
            _log.warning("%s", finding)
        elif finding.kind is not Kind.PENDING and not is_reported_before(
            finding, self._split, self._is_continued
        ):
            _handle_finding(finding, self._on_damage, self._split.segment.file.path)


def _handle_finding(finding: Finding, on_damage: OnDamage, path: str = "") -> None:
    from kafka_segments.segment.columnar.damage_events import handle_damage

    damage = finding.damage
    if damage is None:
        where = path or finding.path or ""
        damage = Damage(where, 0, 0, data_loss(finding), finding.first_offset, finding.last_offset)
    handle_damage(damage, damage.error, on_damage)


def _places(storage_options: Mapping[str, str] | None) -> Places:
    options = dict(storage_options or {})
    unknown = [name for name in options if not name.startswith(STORE_PREFIXES)]
    if unknown:
        raise OptionError(
            f"unknown storage option {unknown[0]}: settings of stores have Hadoop's names, for example "
            "fs.s3a.endpoint (docs/stores.md)"
        )
    return Places(store_settings(options))


def _texts(paths: Any) -> list[str]:
    found = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    found = list(found) if isinstance(found, Iterable) else [found]
    for path in found:
        if not isinstance(path, (str, os.PathLike)):
            raise OptionError(f"a path is of type {type(path).__name__}: give a str or a path")
    if not found:
        raise OptionError(
            "there is no path in paths: give a log directory, a partition's directory or a segment"
        )
    return [os.fsdecode(path) for path in found]


def _query(
    topics: str | Iterable[str] | None,
    partitions: Iterable[int] | Iterable[TopicPartition] | None,
    offsets: OffsetRange | Mapping[TopicPartition, OffsetRange] | None,
    times: tuple[int | None, int | None],
    isolation: Any,
) -> Query:
    from kafka_segments.segment.columnar.stream import check_offsets

    query = replace(_of_partitions(topics, partitions, offsets), isolation=isolation, limits=_WHOLE)
    conditions = list(query.conditions)
    if not isinstance(offsets, Mapping):
        conditions += _between("offset", *check_offsets(offsets))
    conditions += _between("timestamp", *times)
    return replace(query, conditions=tuple(conditions))


def _of_partitions(
    topics: str | Iterable[str] | None,
    partitions: Iterable[int] | Iterable[TopicPartition] | None,
    offsets: Any,
) -> Query:
    """Make a query from the selected partitions and a mapping of offsets."""
    names = None if topics is None else frozenset(_listed("topics", topics))
    numbers = None if partitions is None else _listed("partitions", partitions)
    if isinstance(offsets, Mapping):
        if names is not None or numbers is not None:
            raise OptionError(
                "offsets by partition say which partitions are read: leave topics and partitions out"
            )
        return _at_offsets(_listed("offsets", offsets), offsets)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise OptionError(f"topics are names, not {topics!r}")
    if numbers is None or all(_is_number(one) for one in numbers):
        conditions = () if numbers is None else (Condition("partition", values=frozenset(numbers)),)
        return Query(Topics(names=names), conditions=conditions)
    if names is not None or not all(map(_is_partition, numbers)):
        raise OptionError("partitions are numbers, or pairs of topic and number where no topics are given")
    return Query(Topics(partitions=frozenset(numbers)))


def _check_numbers(query: Query, there: set[Any]) -> None:
    asked = {number for one in query.conditions if one.column == "partition" for number in one.values or ()}
    if not asked <= there:
        raise OptionError(f"there is no partition {min(asked - there)} of the topics that are asked for")


def _at_offsets(keys: list[Any], offsets: Mapping[Any, Any]) -> Query:
    from kafka_segments.segment.columnar.stream import check_offsets

    if not all(map(_is_partition, keys)):
        raise OptionError(f"offsets are by pairs of topic and number, not {keys[0]!r}")
    pairs = {key: check_offsets(offsets[key] if offsets[key] is not None else ()) for key in keys}
    for (topic, partition), pair in pairs.items():
        if any(one is not None and one < 0 for one in pair):
            raise OptionError(f"offsets of {topic}-{partition} are {pair}, below 0: None is open")
    start = at_offsets({key: EARLIEST if one[0] is None else one[0] for key, one in pairs.items()})
    end = at_offsets({key: LATEST if one[1] is None else one[1] for key, one in pairs.items()})
    return Query(Topics(partitions=frozenset(keys)), start, end)


def _listed(name: str, given: Any) -> list[Any]:
    """What an argument names: one thing at least."""
    if not isinstance(given, Iterable):
        raise OptionError(f"{name} is {given!r}: give several")
    found = [given] if isinstance(given, str) else list(given)
    if not found:
        raise OptionError(f"{name} names nothing; leave it out to read all")
    return found


def _is_number(one: Any) -> bool:
    return isinstance(one, int) and not isinstance(one, bool)


def _is_partition(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and _is_number(one[1])


def _between(column: Any, start: int | None, end: int | None) -> Iterator[Condition]:
    if start is not None or end is not None:
        yield Condition(column, lowest=start, highest=None if end is None else end - 1)


def _skew(skew: Any) -> int | None:
    """The skew in milliseconds, rounded up."""
    if isinstance(skew, timedelta):
        return -(-skew // timedelta(milliseconds=1))
    if skew is not None and (not isinstance(skew, int) or isinstance(skew, bool)):
        raise OptionError(f"max_timestamp_skew is {skew!r}; give a timedelta, or milliseconds")
    return skew


def _milliseconds(name: str, time: Any) -> int | None:
    """A time in milliseconds, rounded up, so that lower timestamps are before it."""
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise OptionError(f"{name} is {time}, without a time zone: give it one")
        since_epoch = time - datetime(1970, 1, 1, tzinfo=UTC)
        return -(-since_epoch // timedelta(milliseconds=1))
    if time is not None and (not isinstance(time, int) or isinstance(time, bool)):
        raise OptionError(f"{name} is {time!r}; give a datetime with a time zone, or milliseconds since 1970")
    return time
