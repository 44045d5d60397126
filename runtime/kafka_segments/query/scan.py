"""Records of log directories, replicas, tiers and stores as Arrow: `scan` and `list_partitions`.

Strategy: the planner and the reader of the Spark source, one split after the other, or some at a time. The
plan narrows the reading by offsets, and by times with sound indexes; rows are then filtered exactly. A filter
only narrows the plan; the caller applies it to the rows. Rows are counted by the headers of batches where
`PlannedScan.counts` may, and by reading offsets elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.io.threads import check_threads, hand_over, in_threads
from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.findings import Finding, Findings, Kind, data_loss
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import PartitionLog, Split, is_reported_before, lower
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Query, TopicPartition, Topics
from kafka_segments.query.resolve import logs_asked_for, select
from kafka_segments.query.scan_arguments import Path, ScanOptions, places_of, query_of_arguments, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.core.segment.columnar.arrow_schema import Binary
    from kafka_segments.query.row_filter import RowFilter
    from kafka_segments.query.scan_rows import ScanRows

__all__ = ["PartitionSummary", "PlannedScan", "ScanRequest", "list_partitions", "scan"]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The arguments of `scan`, checked, without its columns.

    Attributes:
        paths: where the logs are.
        places: filesystems by path.
        query: which records.
        on_damage: what becomes of damage.
        max_decompressed: bytes that one batch may decompress to.
        threads: that read at a time.
        in_order: whether rows are by partition and offset.
    """

    paths: tuple[str, ...]
    places: Places
    query: Query
    on_damage: OnDamage
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    threads: int = 1
    in_order: bool = True

    @classmethod
    def of(
        cls,
        paths: Path | Iterable[Path],
        *,
        on_damage: OnDamage = "raise",
        storage_options: Mapping[str, str] | None = None,
        max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
        threads: int = 1,
        in_order: bool = True,
        **asked: Any,
    ) -> ScanRequest:
        """Check arguments; `asked` are those of `query_of_arguments`.

        Raises:
            OptionError: an invalid argument.
        """
        check_on_damage(on_damage)
        places = places_of(storage_options)
        query = query_of_arguments(**asked, threads=check_threads(threads))
        paths = tuple(texts_of(paths))
        return cls(paths, places, query, on_damage, max_decompressed, threads, in_order)

    def plan(self, wanted: RowFilter | None = None) -> PlannedScan:
        """Find the logs, and plan their reading.

        Args:
            wanted: leaves out what none of its rows are in.

        Raises:
            KafkaFormatError: a path cannot be read or holds no log.
            OptionError: an unknown topic or partition.
        """
        logs = self._logs(wanted)
        query = self.query
        if wanted is not None:
            there = [(log.topic, log.partition) for log in logs]
            query = replace(query, conditions=(*query.conditions, *wanted.conditions(there)))
        found = plan(logs, query, self.places)
        for text in found.warnings():
            _log.warning("%s", text)
        asked = [one for one in query.conditions if one.column == "offset"]
        due = [
            one
            for one in found.of(Kind.LOST) + found.of(Kind.DAMAGE)
            if all(condition.touches(one.first_offset, one.last_offset) for condition in asked)
        ]
        return PlannedScan(self, found, tuple(due))

    def batches(
        self, columns: Sequence[str], wanted: RowFilter | None, binary: Binary = "copy"
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows of some columns, of which the caller has to filter those that it wants.

        Where columns are of partitions alone, rows are counted and not read: see `PlannedScan.counts`.

        Raises:
            KafkaFormatError: damage or lost offsets, if `on_damage` is `raise`; see `plan`.
        """
        from kafka_segments.query.scan_rows import ScanRows

        rows = ScanRows(columns, self.query.conditions, binary)
        planned = self.plan(wanted)
        if not rows.is_of_partitions:
            yield from planned.batches(rows)
            return
        for (topic, partition), num_rows in planned.counts():
            yield from rows.repeated(topic, partition, num_rows)

    def check(self) -> None:
        """Find the logs, and check that what is requested exists; errors as for `plan`."""
        select(self._logs(None), self.query.topics)

    def _logs(self, wanted: RowFilter | None) -> list[PartitionLog]:
        query = self.query
        numbers = [one for one in query.conditions if one.column == "partition"]
        # Partitions that are named must exist, whether or not a filter wants them: then all are listed.
        is_named = query.topics != Topics() or numbers
        is_needed = None if wanted is None or is_named else wanted.may_be_in
        logs = logs_asked_for(
            self.places, self.paths, query, FileOptions(), prefer_names=True, is_needed=is_needed
        )
        there = {log.partition for log in select(logs, query.topics)[0]}
        asked = {number for one in numbers for number in one.values or () if isinstance(number, int)}
        if not asked <= there:
            raise OptionError(f"there is no partition {min(asked - there)} of the topics that are asked for")
        return logs


@dataclass(frozen=True, slots=True)
class PlannedScan:
    """A plan, to be read.

    Attributes:
        request: what it is of.
        found: the plan.
        due: its findings that are to be reported.
    """

    request: ScanRequest
    found: Plan
    due: tuple[Finding, ...]

    def batches(self, rows: ScanRows) -> Iterator[pa.RecordBatch]:
        """Yield the rows, by partition and offset.

        Raises:
            KafkaFormatError: damage or lost offsets, if `on_damage` is `raise`.
        """
        self._report()
        for _key, batch in self._read(list(self._splits()), rows):
            yield batch

    def counts(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield partitions with numbers of their rows, some of them several times; errors as for `batches`.

        Headers count the records where damage is raised, no transaction is left out and no time is asked for.
        Of a split in which headers show damage, gaps or repeated offsets, or in which they do not count
        exactly, the offsets are read.
        """
        from kafka_segments.query.read.batch_views import count_rows
        from kafka_segments.query.scan_rows import ScanRows

        self._report()
        query = self.request.query
        rows = ScanRows(["offset"], query.conditions)
        is_timed = any(one.column == "timestamp" for one in query.conditions)
        is_headers = self.request.on_damage == "raise" and not is_timed and not self.found.committed
        if not is_headers:
            read = self._read(list(self._splits()), rows)
            yield from ((key, batch.num_rows) for key, batch in read)
            return
        own = [one for one in query.conditions if one.column == "offset"]
        end = lower(*(None if one.highest is None else one.highest + 1 for one in own))
        lowest = max((one.lowest or 0 for one in own), default=0)
        for split, is_continued in self._splits():
            num_rows = count_rows(split, self.request.places, (lowest, end))
            if num_rows is not None:
                yield (split.topic, split.partition), num_rows
                continue
            for key, batch in self._read([(split, is_continued)], rows):
                yield key, batch.num_rows

    def _splits(self) -> Iterator[tuple[Split, bool]]:
        """Yield splits, and whether the one before is of the same file."""
        before = None
        for split in (split for task in self.found.tasks for split in task):
            yield split, split.segment.file == before
            before = split.segment.file

    def _report(self) -> None:
        for finding in self.due:
            _handle_finding(finding, self.request.on_damage)

    def _read(
        self, splits: Sequence[tuple[Split, bool]], rows: ScanRows
    ) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        from kafka_segments.query.read.split_reader import Reading, read_split

        reading = Reading(rows.sources, max_decompressed=self.request.max_decompressed, binary=rows.binary)

        def events(part: tuple[Split, bool]) -> Generator[pa.RecordBatch | Finding, None, None]:
            split = part[0]
            findings = _ScanFindings(*part, self.request.on_damage, partial(hand_over, events))
            for batch in read_split(split, self.request.places, reading, findings):
                yield from rows.of(batch, split.topic, split.partition)

        shared = in_threads(events, splits, self.request.threads, in_order=self.request.in_order)
        with closing(shared) as found:
            for part, event in found:
                if isinstance(event, Finding):
                    _ScanFindings(*part, self.request.on_damage).add(event)
                else:
                    yield (part[0].topic, part[0].partition), event


class _ScanFindings(Findings):
    """Findings of a split, handled by `on_damage`; an incomplete batch being written is ignored.

    `hand_over` takes one to the caller's thread, or returns False.
    """

    def __init__(
        self,
        split: Split,
        is_continued: bool,
        on_damage: OnDamage,
        hand_over: Callable[[Finding], bool] = lambda _finding: False,
    ) -> None:
        super().__init__()
        self._hand_over = hand_over
        self._split, self._is_continued = split, is_continued
        self._on_damage: OnDamage = on_damage

    def add(self, finding: Finding) -> None:
        if self._hand_over(finding):
            return
        if finding.kind is Kind.NOTE:
            _log.warning("%s", finding)
        elif finding.kind is not Kind.PENDING and not is_reported_before(
            finding, self._split, self._is_continued
        ):
            _handle_finding(finding, self._on_damage, self._split.segment.file.path)


def _handle_finding(finding: Finding, on_damage: OnDamage, path: str = "") -> None:
    from kafka_segments.core.formats.on_damage import report_damage

    damage = finding.damage
    if damage is None:
        where = path or finding.path or ""
        damage = Damage(where, 0, 0, data_loss(finding), finding.first_offset, finding.last_offset)
    report_damage(damage, damage.error, on_damage)


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
    binary: Binary = "copy",
    **options: Unpack[ScanOptions],
) -> pa.RecordBatchReader:
    """Read records of partitions as a stream of Arrow batches, by partition and offset.

    Args:
        paths: log directories, partitions' directories, tiers, segments, patterns, or addresses in stores;
            replicas of a partition are merged into one log.
        columns: names, of `topic`, `partition` and those of `core.segment.table.SCHEMA` and its further
            ones; topic, partition and all of `SCHEMA` if None.
        binary: "copy", or "view" for columns of views, as for `Segment.read_batches`. Rows that are picked
            one by one, by time for example, are copied.
        options: which records, and how: `topics`, `partitions`, `offsets`, `since`, `until`, `isolation`,
            `on_damage`, `max_timestamp_skew`, `storage_options`, `max_decompressed`, `threads`, `in_order`;
            see `kafka_segments.query.scan_arguments.ScanOptions`.

    Returns:
        A reader of non-empty batches. `topic` is a string and `partition` an int32, never null.

    Raises:
        KafkaFormatError: a path cannot be read or holds no log; while reading: damage or lost offsets.
        OptionError: an unknown topic, partition, column, isolation level or storage option; invalid bounds
            or `binary`.
        MissingExtraError: the extra `arrow` is not installed.

    Example:
        >>> reader = scan("/var/lib/kafka", topics="orders", since=1700000000000)  # doctest: +SKIP
    """
    from kafka_segments.query.scan_rows import ScanRows

    request = ScanRequest.of(paths, **options)
    rows = ScanRows(columns, request.query.conditions, binary)
    return rows.reader(request.plan().batches(rows))
