"""Job of `kafka-segments ingest`: plan what is new, let an engine write it, commit the run, publish it.

A run reads the newest run's state, and becomes the next one. Everything before the commit can be repeated or
thrown away; everything after it is finished by the next run if this one is killed.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import LogChangedError, OptionError
from kafka_segments.ingest.destination import check_destination, partition_path
from kafka_segments.ingest.files.placeholder import with_placeholder
from kafka_segments.ingest.reports.report import PLANNED_KINDS, PartitionReport
from kafka_segments.ingest.resume import WAYS_OUT, check_settings, earlier_states
from kafka_segments.ingest.runs import staging
from kafka_segments.ingest.runs.recovery import recover
from kafka_segments.ingest.runs.run_state import (
    CatalogTable,
    PartitionState,
    RunState,
    TableSettings,
    updated,
)
from kafka_segments.ingest.settling import settle
from kafka_segments.ingest.splits import Planned, pack, plan_new
from kafka_segments.ingest.tables import Table, open_table
from kafka_segments.ingest.task import Output, PartitionOutput, WriteSettings, WriteTask
from kafka_segments.ingest.topics import check_topics, choose, is_internal
from kafka_segments.ingest.transactional import report_uncommitted
from kafka_segments.ingest.vanishing import again_if_gone
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped
from kafka_segments.query.continuation import check_continues
from kafka_segments.query.job_engine import Engine, Progress
from kafka_segments.query.query import Query, TopicPartition, Topics
from kafka_segments.query.resolve import logs_asked_for

__all__ = ["Ingest", "IngestPlan", "Request", "ingest", "plan_ingest"]

_NUM_NAMED = 3  # partitions in a message


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked to do.

    Attributes:
        sources: log directories, partitions' directories, segments; addresses and patterns.
        destination: a directory or its address: new, empty, or a table.
        query: topics, where partitions begin that are new to the table, where they end, isolation.
        files: which files of the sources count.
        catalog: see `TableSettings`.
        on_error: a partition that does not continue where the last run ended, or whose copies contradict each
            other, is an error (`stop`), or left out (`skip`).
        others: see `WriteSettings`.
    """

    sources: tuple[str, ...]
    destination: str
    query: Query
    columns: tuple[str, ...]
    files: FileOptions = field(default_factory=FileOptions)
    kind: str = "parquet"
    divided_by: str | None = None
    bloom_filter: bool = False
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    store_settings: dict[str, str] = field(default_factory=dict)
    layout: str | None = None
    catalog: CatalogTable | None = None
    timestamp_overflow: str = "null"
    on_error: str = "stop"

    @property
    def settings(self) -> TableSettings:
        """The settings of the table."""
        return TableSettings(
            kind=self.kind,
            columns=self.columns,
            isolation=self.query.isolation,
            divided_by=self.divided_by,
            layout=self.layout,
            catalog=self.catalog,
        )


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


@dataclass(frozen=True, slots=True)
class Ingest:
    """Result of a run.

    Attributes:
        run: as committed.
        partitions: reports, by topic and number.
        start_seconds: what the start of the engine took.
        job_seconds: what its tasks took.
    """

    run: RunState
    partitions: tuple[PartitionReport, ...]
    start_seconds: float
    job_seconds: float


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
    plan = _plan(request, say, earlier)
    return replace(plan, has_earlier_damage=any(earlier))


@again_if_gone
def _plan(request: Request, say: Callable[[str], None], earlier: list[bool]) -> IngestPlan:
    """Try it; note whether a run was finished that had found damage."""
    places = Places(request.store_settings)
    logs, hidden = _logs(request, places)
    destination = check_destination(request.destination, request.sources, places)
    table = open_table(request.kind, destination, request.store_settings, request.catalog)
    before = table.log.newest()
    if before is not None:
        check_settings(before.settings, request.settings, request.destination)
    table.check(request.settings)
    if before is not None:
        earlier.append(recover(table, before, say))
    known = {} if before is None else before.by_partition()
    check_topics(request.settings, {log.topic for log in logs} | {topic for topic, _ in known}, destination)
    for at, log in enumerate(logs):
        partition_path(log.topic, log.partition, is_typed=not table.is_bare_directory)
        if (log.topic, log.partition) in known and not _is_left_out(log):
            is_strict = request.query.fail_on_data_loss
            state = known[log.topic, log.partition]
            states = partial(earlier_states, table, state)
            try:
                check_continues(log, state, places, WAYS_OUT, may_have_expired=not is_strict, earlier=states)
            except LogChangedError as error:
                if request.on_error == "stop":
                    raise
                logs[at] = _left_out(log, error)
    planned = plan_new([log for log in logs if log.pieces], known, request.query, places)
    names = tuple(sorted({log.topic for log in hidden}))
    said = _absent(known, logs) if request.query.topics == Topics() else []
    return IngestPlan(request, table, before, tuple(logs), planned, names, tuple(said))


def _is_left_out(log: PartitionLog) -> bool:
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
    paths = [path if is_address(path) else os.path.abspath(path) for path in request.sources]
    is_hidden = is_internal(request.sources, topics)
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
    return choose(found, request.sources, topics)


def ingest(
    plan: IngestPlan,
    engine: Engine,
    *,
    show: Progress | None = None,
    say: Callable[[str], None] = lambda _words: None,
) -> Ingest:
    """Write what is new, commit the run, and publish it.

    Args:
        plan: what `plan_ingest` returned.
        engine: runs the tasks. Where these are on other machines, they must see the same files.
        show: see `Progress`.
        say: is called with what people should know at once.

    Raises:
        OutputError: something could not be written; the table is as it was.
        ConflictError: another run was committed meanwhile; likewise.
        TimestampRangeError: a timestamp is beyond microseconds in 64 bits; likewise.
        MissingExtraError: the engine does not start.
    """
    table, started = plan.table, time.monotonic()
    for words in plan.said:
        say(words)
    if not plan.planned.splits:
        run, reports = _run_of(plan, "", [])
        if _is_nothing_new(plan, run):
            return Ingest(plan.before or run, tuple(reports), engine.start_seconds, 0.0)
    with staging.committing(table, plan.number) as new:
        tasks = _tasks(plan, new.root)
        outputs = engine.run(tasks, show) if tasks else []
        run, reports = _run_of(plan, new.run_id, outputs)
        if _is_nothing_new(plan, run):
            return Ingest(plan.before or run, tuple(reports), engine.start_seconds, 0.0)
        run = new.run = with_placeholder(table, run, plan.before, is_empty=plan.before is None)
    job_seconds = time.monotonic() - started - engine.start_seconds
    places = Places(plan.request.store_settings)
    max_bytes = plan.request.query.limits.max_walk_bytes
    told = report_uncommitted(reports, _uncommitted(plan), plan.planned.splits, places, max_bytes)
    return Ingest(run, tuple(told), engine.start_seconds, job_seconds)


def _tasks(plan: IngestPlan, root: str) -> list[WriteTask]:
    request = plan.request
    names = {one.name for one in fields(request)} & {one.name for one in fields(WriteSettings)}
    same: dict[str, Any] = {name: getattr(request, name) for name in names}
    table, files = plan.table, plan.table.log.files
    settings = WriteSettings(root, table_files=files, is_bare_directory=table.is_bare_directory, **same)
    live = frozenset((log.topic, log.partition) for log in plan.logs if log.end.is_live)
    return [WriteTask(splits, live, settings) for splits in pack(plan.planned.splits)]


def _run_of(
    plan: IngestPlan, run_id: str, outputs: Sequence[Output]
) -> tuple[RunState, list[PartitionReport]]:
    found, planned = _by_partition(outputs), _planned_findings(plan)
    known = {} if plan.before is None else plan.before.by_partition()
    files = [file for output in outputs for file in output.files]
    bytes_out: Counter[tuple[str | None, int | None]] = Counter()
    for file in files:
        bytes_out[file.topic, file.partition] += file.num_bytes
    reports, states = [], []
    for log in plan.logs:
        key = log.topic, log.partition
        output, offsets = found.get(key, PartitionOutput(*key)), plan.planned.offsets.get(key)
        account, state = settle(log, known.get(key), offsets, output, planned.get(key, []))
        findings = (*planned.get(key, []), *output.findings)
        reports.append(PartitionReport(account, bytes_out[key], findings, output.num_beyond))
        if key in known or not _is_left_out(log):
            states.append(state)
    run = RunState(
        plan.number + 1,
        run_id,
        time.time_ns() // 1_000_000,
        plan.request.settings,
        updated(known, states),
        tuple(files),
        # Partitions that stand still need no line in every run's file.
        accounts=tuple(
            one.account
            for one in reports
            if one.account.num_offsets or (one.account.topic, one.account.partition) not in known
        ),
        damaged=tuple(one for output in outputs for one in output.damaged),
    )
    return run, reports


def _is_nothing_new(plan: IngestPlan, run: RunState) -> bool:
    """Whether a run has no offset and no partition that the one before did not have."""
    before = plan.before
    if before is None or any(one.num_offsets for one in run.accounts) or run.damaged:
        return False
    return (before.partitions, before.settings) == (run.partitions, run.settings)


def _by_partition(outputs: Iterable[Output]) -> dict[TopicPartition, PartitionOutput]:
    found: dict[TopicPartition, PartitionOutput] = {}
    for output in outputs:
        for one in output.partitions:
            key = one.topic, one.partition
            found.setdefault(key, PartitionOutput(*key)).add(one)
    return found


def _planned_findings(plan: IngestPlan) -> dict[TopicPartition, list[Finding]]:
    found: dict[TopicPartition, list[Finding]] = {}
    known = () if plan.before is None else plan.before.partitions
    starts = {(one.topic, one.partition): one.next_offset for one in known}
    for made in plan.planned.plans:
        for one in made.of(*PLANNED_KINDS):
            key, last = (one.topic, one.partition), one.last_offset
            if one.kind is not Kind.LOST or last is None or last >= starts.get(key, 0):
                found.setdefault(key, []).append(one)
    for log in plan.logs:
        if not log.pieces:
            found.setdefault((log.topic, log.partition), []).extend(of_kinds(log.findings, *PLANNED_KINDS))
    return found


def _uncommitted(plan: IngestPlan) -> tuple[PartitionLog, ...]:
    """Logs of which records of aborted and open transactions are written, too."""
    return plan.planned.logs if plan.request.query.isolation == "read_uncommitted" else ()
