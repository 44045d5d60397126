"""Planning of a read's tasks, in a process on the driver without a JVM.

Spark 4.0 asks for them for each query, Spark 4.1 to 4.3 once a frame.

Rows of some views come from planning alone: `segments`, `aborted`, and its findings for `damage`. No record
is read for them, so they ride in a task as they are. Nothing here knows pyarrow: planning goes on without it,
and the task says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import InputPartition

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import TransactionInDoubtError
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import PartitionLog, Split, StoredFile
from kafka_segments.query.committed import Committed
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Condition, TopicPartition
from kafka_segments.query.resolve import logs_asked_for
from kafka_segments.query.snapshot import pinned_logs, read_snapshot
from kafka_segments.spark.policy import apply_to_plan
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.settings import driver_settings

__all__ = ["Row", "Task", "make_tasks", "tasks_of"]

_log = get_logger(__name__)

Row = Mapping[str, Any]
"""Values by the view's names of columns; what is left out is null."""

_PER_MICRO = 1000  # nanoseconds


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
    if options.view in ("segments", "aborted"):
        return [Task((), rows=tuple(_MAKERS[options.view](found)))]
    tasks = tasks_of(found)
    if options.view == "damage":
        first = Task((), rows=tuple(_damage(found)))
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


def _segments(plan: Plan) -> Iterator[Row]:
    """A row for each segment that is read, with the offsets that it is read for."""
    ranges: dict[tuple[str, int], list[Split]] = {}
    for split in (split for task in plan.tasks for split in task):
        ranges.setdefault((split.segment.file.path, split.segment.file.position), []).append(split)
    for splits in ranges.values():
        split, segment = splits[0], splits[0].segment
        ends = [one.end for one in splits]
        yield {
            "topic": split.topic,
            "partition": split.partition,
            "baseOffset": segment.base_offset,
            "startOffset": min(one.start for one in splits),
            "endOffset": None if None in ends else max(end for end in ends if end is not None),
            "size": segment.size,
            "modified": segment.file.modified_ns // _PER_MICRO,
            "isNewest": segment.is_newest,
            "beside": ",".join(sorted(segment.beside)),
            "form": segment.form,
            "sourceFile": segment.file.path,
        }


def _aborted(plan: Plan) -> Iterator[Row]:
    """A row for each transaction that readers are not given: aborted, open, or in doubt."""
    for (topic, partition), committed in plan.committed.items():
        for producer_id, first, last in committed.void:
            yield {
                "topic": topic,
                "partition": partition,
                "producerId": producer_id,
                "firstOffset": first,
                "lastOffset": last,
                "state": _state(committed, producer_id, first, last),
            }
        pin = committed.pin
        if pin is not None and not any(
            producer_id == pin.producer_id and last >= pin.first_offset
            for producer_id, _first, last in committed.void
        ):
            yield {
                "topic": topic,
                "partition": partition,
                "producerId": pin.producer_id,
                "firstOffset": pin.first_offset,
                "state": "open",
            }


def _state(committed: Committed, producer_id: int, first: int, last: int) -> str:
    pin = committed.pin
    if pin is not None and pin.producer_id == producer_id and last >= pin.first_offset:
        return "open"
    for doubt in committed.doubts:
        is_same = getattr(doubt.error, "producer_id", None) == producer_id
        if isinstance(doubt.error, TransactionInDoubtError) and is_same and doubt.touches(first, last + 1):
            return "in doubt"
    return "aborted"


def _damage(plan: Plan) -> Iterable[Row]:
    """A row for each finding of planning but what the query itself leaves out."""
    kinds = Kind.LOST, Kind.DAMAGE, Kind.UNUSED, Kind.DIVERGED, Kind.REMARK
    return [one.as_row() for one in plan.of(*kinds)]


_MAKERS: Mapping[str, Callable[[Plan], Iterable[Row]]] = {
    "segments": _segments,
    "aborted": _aborted,
    "damage": _damage,
}
