"""What `ingest` reads: whole segments as the source's planner makes them, small ones packed together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from kafka_segments.io.filesystems import Places
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query import cut
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Bound, Limits, Query, Topics

__all__ = ["MAX_TASK_BYTES", "Isolation", "pack", "plan_segments", "splits_of"]

MAX_TASK_BYTES = 64 << 20
_UNCUT = Limits(max_partition_bytes=1 << 62)

Isolation = Literal["read_uncommitted", "read_committed"]


def plan_segments(logs: Iterable[PartitionLog], isolation: Isolation, places: Places) -> Plan:
    """Plan to read logs from their start to their end, or to the last stable offset; segments are not cut.

    Raises:
        KafkaFormatError: as `plan.plan`.
    """
    logs = list(logs)
    if not logs:
        return Plan(())
    names = Topics(names=frozenset(log.topic for log in logs))  # they were chosen, internal ones too
    query = Query(topics=names, end=Bound("log-end"), isolation=isolation, limits=_UNCUT)
    return plan(logs, query, places)


def splits_of(planned: Plan) -> list[Split]:
    """The splits of a plan, in order."""
    return [split for task in planned.tasks for split in task]


def pack(splits: Sequence[Split], at_least: int = 1) -> list[tuple[Split, ...]]:
    """Cut the list into tasks, keeping its order; a large segment is one by itself.

    Args:
        splits: the segments.
        at_least: tasks to make if there are segments enough, to keep so many cores busy.
    """
    return cut.pack(splits, MAX_TASK_BYTES, at_least)
