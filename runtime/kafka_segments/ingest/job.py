"""Job of `kafka-segments ingest`: let an engine write what is new, commit the run, publish it.

A run reads the newest run's state, and becomes the next one. Everything before the commit can be repeated or
thrown away; everything after it is finished by the next run if this one is killed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import Engine, Progress
from kafka_segments.ingest.committing import committing
from kafka_segments.ingest.run_plan import IngestPlan, is_left_out
from kafka_segments.ingest.runs.account import (
    PLANNED_KINDS,
    Account,
    PartitionReport,
    account_of,
    lost_spans,
)
from kafka_segments.ingest.runs.run_state import PartitionState, RunState, following, updated
from kafka_segments.ingest.splits import NewOffsets, pack
from kafka_segments.ingest.task import Output, PartitionOutput, WriteSettings, WriteTask
from kafka_segments.ingest.transactional import report_uncommitted
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.query import TopicPartition

__all__ = ["Ingest", "ingest"]


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
    with committing(table, plan.number) as new:
        tasks = _tasks(plan, new.root)
        outputs = engine.run(tasks, show) if tasks else []
        run, reports = _run_of(plan, new.run_id, outputs)
        if _is_nothing_new(plan, run):
            return Ingest(plan.before or run, tuple(reports), engine.start_seconds, 0.0)
        run = new.run = table.completed(run, is_empty=plan.before is None)
    job_seconds = time.monotonic() - started - engine.start_seconds
    places = Places(plan.request.store_settings)
    max_bytes = plan.request.query.limits.max_walk_bytes
    told = report_uncommitted(reports, _uncommitted(plan), plan.planned.splits, places, max_bytes)
    return Ingest(run, tuple(told), engine.start_seconds, job_seconds)


def _tasks(plan: IngestPlan, root: str) -> list[WriteTask]:
    request = plan.request
    names = {one.name for one in fields(request)} & {one.name for one in fields(WriteSettings)}
    same: dict[str, Any] = {name: getattr(request, name) for name in names}
    settings = WriteSettings(root, request.settings, plan.table.log.files, **same)
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
        account, state = _settle(log, known.get(key), offsets, output, planned.get(key, []))
        findings = (*planned.get(key, []), *output.findings)
        reports.append(PartitionReport(account, bytes_out[key], findings, output.num_beyond))
        if key in known or not is_left_out(log):
            states.append(state)
    run = following(
        plan.before,
        run_id,
        plan.request.settings,
        partitions=updated(known, states),
        files=tuple(files),
        # Partitions that stand still need no line in every run's file.
        accounts=tuple(
            one.account
            for one in reports
            if one.account.num_offsets or (one.account.topic, one.account.partition) not in known
        ),
        damaged=tuple(one for output in outputs for one in output.damaged),
    )
    return run, reports


def _settle(
    log: PartitionLog,
    known: PartitionState | None,
    offsets: NewOffsets | None,
    output: PartitionOutput,
    planned: Sequence[Finding],
) -> tuple[Account, PartitionState]:
    """Return the account of a partition, and its state after the run.

    Args:
        log: the partition.
        known: its state before; None if it is new to the table.
        offsets: that were planned; None without any.
        output: of all tasks.
        planned: findings of the plan.

    Raises:
        AccountError: more offsets were read than there are.
    """
    key = log.topic, log.partition
    start, end = (0, 0) if offsets is None else offsets
    if known is not None:
        start, end = known.next_offset, known.next_offset if offsets is None else end
    last = output.counts.last
    end = min(MAX_LONG, max(start, output.counts.end if end is None else end))
    spans = [*output.lost, *lost_spans(planned, (start, end))]
    account = account_of(key, (start, end), output.counts, spans)
    if last is None and known is not None:
        last = known.last
    epochs = log.leader_epochs or (known.leader_epochs if known is not None else ())
    topic_id = log.topic_id or (known.topic_id if known is not None else None)
    return account, PartitionState(*key, end, topic_id, tuple(epochs), last)


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
