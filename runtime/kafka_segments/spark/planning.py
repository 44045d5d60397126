"""Planning of a read's tasks, in a process on the driver without a JVM.

Spark 4.0 asks for them for each query, Spark 4.1 to 4.3 once a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.datasource import InputPartition

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.log.findings import Finding
from kafka_segments.log.model import PartitionLog, Split, StoredFile
from kafka_segments.query.committed import Committed
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Condition, TopicPartition
from kafka_segments.query.resolve import logs_asked_for
from kafka_segments.query.snapshot import pinned_logs, read_snapshot
from kafka_segments.spark.planned import PLANNED, Row, planned_rows
from kafka_segments.spark.policy import apply_to_plan
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.settings import driver_settings

__all__ = ["Task", "make_tasks", "tasks_of"]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TaskPart:
    """A range of offsets, with what its neighbours say of it.

    Attributes:
        split: the range.
        is_continued: the one before it in the segment is read too.
    """

    split: Split
    is_continued: bool = False


@dataclass
class Task(InputPartition):
    """What one task reads, in order.

    Attributes:
        parts: what is read.
        findings: of planning, that have a row in the view `records`.
        rows: of other views, which planning alone can make.
    """

    parts: tuple[TaskPart, ...]
    findings: tuple[Finding, ...] = ()
    rows: tuple[Row, ...] = ()


def make_tasks(options: ReadOptions, conditions: Sequence[Condition]) -> list[InputPartition]:
    """Plan a read, and cut it into tasks.

    Raises:
        KafkaFormatError: paths that cannot be read or hold no logs; a query that cannot be answered; what is
            lost or damaged, where that is an error.
    """
    places = Places(driver_settings(options.settings))
    found = plan_read(options, conditions, places)
    if options.view in PLANNED:
        return [Task((), rows=tuple(planned_rows(options.view, found)))]
    tasks = tasks_of(found)
    if options.view == "damage":
        first = Task((), rows=tuple(planned_rows("damage", found)))
    else:
        due = apply_to_plan(found.findings, options)
        for text in found.warnings():
            _log.warning("%s", text)
        first = Task((), tuple(due))
    if first.findings or first.rows:
        tasks.insert(0, first)
    return list(tasks)


def plan_read(options: ReadOptions, conditions: Iterable[Condition], places: Places) -> Plan:
    """The plan of a read, before anything is reported."""
    query = replace(options.query, conditions=tuple(conditions))
    if options.view == "aborted":
        query = replace(query, isolation="read_committed")
    logs, committed = find_logs(options, query.conditions, places)
    return plan(logs, query, places, committed)


def find_logs(
    options: ReadOptions, conditions: Sequence[Condition], places: Places
) -> tuple[Sequence[PartitionLog], Mapping[TopicPartition, Committed]]:
    """The partitions that a read is about, and what is known of their transactions."""
    if options.snapshot is None:
        return logs_at(options, conditions, places), {}
    snapshot = read_snapshot(places, options.snapshot)
    is_error = options.query.fail_on_data_loss and options.view != "damage"
    logs, changed = pinned_logs(snapshot, places, fail_on_data_loss=is_error)
    for one in changed:
        _log.warning("%s: %s since the snapshot was taken", one.path, one.why)
    return logs, snapshot.committed()


def logs_at(options: ReadOptions, conditions: Sequence[Condition], places: Places) -> list[PartitionLog]:
    """The logs at the paths of a read; errors as for `logs_asked_for`."""
    query = replace(options.query, conditions=tuple(conditions))
    return logs_asked_for(places, options.paths, query, options.files)


def tasks_of(found: Plan) -> list[Task]:
    """Return the tasks of a plan, each range with what the others say of it."""
    tasks: list[Task] = []
    before: StoredFile | None = None
    for task in found.tasks:
        parts = []
        for split in task:
            parts.append(TaskPart(split, split.segment.file == before))
            before = split.segment.file
        tasks.append(Task(tuple(parts)))
    return tasks
