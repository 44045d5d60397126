"""Plan of a run: whether it may continue the table, which logs it reads, and what is new in them.

Everything here can be repeated, and is where files have gone since they were listed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.file_names import absolute_path, parse_directory_name
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import (
    ExpiredOffsetsError,
    LogChangedError,
    OptionError,
    ReadError,
    RecreatedTopicError,
    TruncatedLogError,
)
from kafka_segments.ingest.committing import recover
from kafka_segments.ingest.destination import check_destination, partition_path
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.run_log import read_history
from kafka_segments.ingest.runs.run_state import PartitionState, RunState, TableSettings
from kafka_segments.ingest.splits import Planned, plan_new
from kafka_segments.ingest.tables import Table, open_table
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped
from kafka_segments.query.continuation import WaysOut, check_continues
from kafka_segments.query.query import INTERNAL_TOPICS, Query, TopicPartition, Topics
from kafka_segments.query.resolve import logs_asked_for, select

__all__ = ["IngestPlan", "Request", "is_left_out", "plan_ingest"]

_NUM_TRIES = 5
"""Maximum: no broker deletes faster than that, and a source that does not exist stays missing."""
_NUM_NAMED = 3  # partitions in a message

_WAYS_OUT: WaysOut = {
    RecreatedTopicError: "Write the new topic to another destination; or, to replace the old topic's rows "
    "by its own: kafka-segments rewind DEST {topic}:{partition} --to-offset 0",
    TruncatedLogError: "To keep what the log no longer has, write the log to another destination; to "
    "replace it by the log's records: kafka-segments rewind DEST {topic}:{partition} --to-offset {offset}, "
    "then ingest again",
    ExpiredOffsetsError: "With -o failOnDataLoss=false the run continues at the log's start and counts the "
    "deleted offsets as lost",
}
"""What to do about a log that does not continue where the last run ended."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked to do.

    Attributes:
        sources: log directories, partitions' directories, segments; addresses and patterns.
        destination: a directory or its address: new, empty, or a table.
        query: topics, where partitions begin that are new to the table, where they end, isolation.
        settings: of the table.
        files: which files of the sources count.
        on_error: a partition that does not continue where the last run ended, or whose copies contradict each
            other, is an error (`stop`), or left out (`skip`).
        others: see `WriteSettings`.
    """

    sources: tuple[str, ...]
    destination: str
    query: Query
    settings: TableSettings
    files: FileOptions = field(default_factory=FileOptions)
    bloom_filter: bool = False
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    store_settings: dict[str, str] = field(default_factory=dict)
    timestamp_overflow: str = "null"
    on_error: str = "stop"


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """Plan of a run.

    Attributes:
        request: what was asked for.
        table: to write to.
        before: the newest run; None for a new table.
        logs: the partitions.
        planned: what is new in them.
        internal: topics that are there and were not named.
        said: what people should know at once.
        has_earlier_damage: a killed run was finished that had found damage or lost offsets.
    """

    request: Request
    table: Table
    before: RunState | None
    logs: tuple[PartitionLog, ...]
    planned: Planned
    internal: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    has_earlier_damage: bool = False

    @property
    def number(self) -> int:
        """Number of the newest run; 0 for a new table."""
        return 0 if self.before is None else self.before.number

    @property
    def num_bytes(self) -> int:
        """Size of the segments that are read."""
        return sum({one.segment.file.path: one.segment.size for one in self.planned.splits}.values())

    @property
    def num_segments(self) -> int:
        """Number of these segments."""
        return len({one.segment.file.path for one in self.planned.splits})


def plan_ingest(request: Request, say: Callable[[str], None] = lambda _words: None) -> IngestPlan:
    """Check sources, destination and state, finish what a killed run left, and plan.

    Args:
        request: what is asked for.
        say: is called with words on what was finished or removed.

    Raises:
        KafkaFormatError: a source cannot be read; the destination is something else or lies in a source;
            a requested topic does not exist; a log does not continue where the last run ended.
    """
    earlier: list[bool] = []
    for number in range(1, _NUM_TRIES + 1):
        try:
            plan = _plan(request, say, earlier)
            break
        except ReadError as error:
            # Retention and the cleaner delete and replace segments after they were listed.
            if error.errno != errno.ENOENT or number == _NUM_TRIES:
                raise
    return replace(plan, has_earlier_damage=any(earlier))


def _plan(request: Request, say: Callable[[str], None], earlier: list[bool]) -> IngestPlan:
    """Try it; note whether a run was finished that had found damage."""
    places, asked = Places(request.store_settings), request.settings
    logs, hidden = _logs(request, places)
    destination = check_destination(request.destination, request.sources, places)
    table = open_table(asked.kind, destination, request.store_settings, asked.catalog)
    before = table.log.newest()
    if before is not None:
        _check_settings(before.settings, asked, request.destination)
    table.check(asked)
    if before is not None:
        earlier.append(recover(table, before, say))
    known = {} if before is None else before.by_partition()
    _check_topics(asked, {log.topic for log in logs} | {topic for topic, _ in known}, destination)
    for at, log in enumerate(logs):
        partition_path(log.topic, log.partition, is_typed=asked.kind != "parquet")
        if (log.topic, log.partition) in known and not is_left_out(log):
            is_strict = request.query.fail_on_data_loss
            state = known[log.topic, log.partition]
            states = partial(_earlier_states, table, state)
            try:
                check_continues(log, state, places, _WAYS_OUT, may_have_expired=not is_strict, earlier=states)
            except LogChangedError as error:
                if request.on_error == "stop":
                    raise
                logs[at] = _left_out(log, error)
    planned = plan_new([log for log in logs if log.pieces], known, request.query, places)
    names = tuple(sorted({log.topic for log in hidden}))
    said = _absent(known, logs) if request.query.topics == Topics() else []
    return IngestPlan(request, table, before, tuple(logs), planned, names, tuple(said))


def is_left_out(log: PartitionLog) -> bool:
    """Whether nothing is known of a log but that it cannot be read."""
    return not log.pieces and of_kinds(log.findings, Kind.DAMAGE, Kind.DIVERGED) != []


def _left_out(log: PartitionLog, error: LogChangedError | OptionError) -> PartitionLog:
    """Return a log of which nothing is read, nor noted in the table's state; it says why."""
    path = error.path or (log.copies[0] if log.copies else None)
    finding = Finding(Kind.DIVERGED, log.topic, log.partition, error.detail, path=path)
    return replace(log, pieces=(), topic_id=None, leader_epochs=(), findings=(finding,))


def _absent(known: Mapping[TopicPartition, PartitionState], logs: Iterable[PartitionLog]) -> list[str]:
    """Name the partitions that a table has, but the sources no longer have."""
    gone = sorted(known.keys() - {(log.topic, log.partition) for log in logs})
    named = [f"{topic}-{partition}" for topic, partition in gone[:_NUM_NAMED]]
    more = f" and {len(gone) - _NUM_NAMED} more" if len(gone) > _NUM_NAMED else ""
    return [f"the table has partitions that these logs lack: {', '.join(named)}{more}"] if gone else []


def _logs(request: Request, places: Places) -> tuple[list[PartitionLog], list[PartitionLog]]:
    """The logs to read, and those of internal topics that were not named."""
    skipped: list[SkippedFiles] = []
    topics = request.query.topics
    paths = list(map(absolute_path, request.sources))
    is_hidden = _is_internal(request.sources, topics)
    found = logs_asked_for(
        places,
        paths,
        request.query,
        request.files,
        skipped,
        prefer_names=True,
        is_merged=lambda topic: not is_hidden(topic),
        otherwise=_left_out if request.on_error == "skip" else None,
    )
    log_skipped(skipped, is_all=True)
    return _choose(found, request.sources, topics)


def _check_topics(settings: TableSettings, topics: Collection[str], path: str) -> None:
    """Check that a table has one topic if its rows do not say of which they are.

    Args:
        settings: of the table.
        topics: that it has, or gets.
        path: of the table, for errors.

    Raises:
        OptionError: it would have several.
    """
    if len(topics) > 1 and not FileColumns.of(settings).has_topic:
        raise OptionError(
            f"--layout {settings.layout} has no column for the topic, so the Iceberg table can hold only "
            f"one, but there are {', '.join(sorted(topics))}; choose one with --subscribe",
            path=path,
        )


def _choose(
    logs: Iterable[PartitionLog], sources: Sequence[str], topics: Topics
) -> tuple[list[PartitionLog], list[PartitionLog]]:
    """Return the logs to write, and the internal topics that were not named.

    A topic is named by `subscribe`, or by a source that is one of its directories or segments.

    Args:
        logs: what the sources hold.
        sources: as given.
        topics: what is asked for.

    Raises:
        OptionError: a requested topic does not exist, or all topics are internal.
    """
    is_any = topics == Topics()
    asked = list(logs) if is_any else select(logs, topics)[0]
    is_hidden = _is_internal(sources, topics)
    hidden = [log for log in asked if is_hidden(log.topic)]
    chosen = [log for log in asked if log not in hidden]
    if hidden and not chosen:
        names = ", ".join(sorted({log.topic for log in hidden}))
        raise OptionError(f"there are only internal topics here ({names}); name them in --subscribe to write")
    return chosen, hidden


def _is_internal(sources: Sequence[str], topics: Topics) -> Callable[[str], bool]:
    """Return a function that decides whether a topic is internal, and not named; arguments as `_choose`."""
    hidden = INTERNAL_TOPICS - set(topics.names or ()) - set(_topics_of(sources))
    return hidden.__contains__


def _topics_of(sources: Sequence[str]) -> Iterable[str]:
    for source in sources:
        path = os.path.abspath(source)
        for directory in (path, os.path.dirname(path)) if path.endswith(".log") else (path,):
            partition = parse_directory_name(os.path.basename(directory))
            if partition is not None:
                yield partition.topic


def _earlier_states(table: Table, known: PartitionState) -> list[PartitionState]:
    """Return the states of a partition after earlier runs that took something of it, the newest first."""
    key = known.topic, known.partition
    accounts = read_history(table.log, table.destination).accounts.get(key, [])
    return [table.log.read(number).by_partition()[key] for number, _ in reversed(accounts)]


def _check_settings(known: TableSettings, asked: TableSettings, path: str) -> None:
    """Check that a run may write into a table: as it was written before, except for columns that are new.

    Args:
        known: of the table.
        asked: of the run.
        path: of the table, for errors.

    Raises:
        OptionError: they contradict each other.
    """
    pairs = {
        "--table": (known.kind, asked.kind),
        "--catalog and --identifier": (known.catalog, asked.catalog),
        "--layout": (known.layout, asked.layout),
        "--isolation": (known.isolation, asked.isolation),
        "--divide-by": (known.divided_by, asked.divided_by),
    }
    for name, (before, now) in pairs.items():
        if before != now:
            raise OptionError(
                f"it was written with {name} {before or 'left out'}, but this run has {name} "
                f"{now or 'left out'}: give the same, or choose another destination",
                path=path,
            )
    missing = [name for name in known.columns if name not in asked.columns]
    if missing:
        raise OptionError(
            f"it has the columns {', '.join(known.columns)}, but this run lacks {', '.join(missing)}: "
            "columns can be added later, not left out",
            path=path,
        )
