"""What a task reads: whole segments, small ones packed together as Spark does with files (FilePartition)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_segments.logdir import PartitionDir

__all__ = ["MAX_TASK_BYTES", "SegmentSplit", "pack", "segment_splits"]

MAX_TASK_BYTES = 64 << 20
_OPEN_COST = 1 << 20  # bytes that could be read while a file is opened


@dataclass(frozen=True, slots=True)
class SegmentSplit:
    """One segment to read: all that a task on another machine must know of it."""

    path: str
    topic: str
    partition: int
    size: int
    is_newest: bool
    log_start_offset: int | None


def segment_splits(partitions: Iterable[PartitionDir]) -> list[SegmentSplit]:
    """The segments of partitions in order, by absolute path: a task runs in another directory than we do."""
    return [
        SegmentSplit(
            os.path.abspath(segment.path),
            partition.topic,
            partition.partition,
            segment.size,
            segment.is_newest,
            partition.log_start_offset,
        )
        for partition in partitions
        for segment in partition.segments
    ]


def pack(
    splits: Sequence[SegmentSplit], max_bytes: int = MAX_TASK_BYTES, at_least: int = 1
) -> list[tuple[SegmentSplit, ...]]:
    """Cut the list into tasks, keeping its order.

    Args:
        splits: the segments.
        max_bytes: of a task; a larger segment is one by itself.
        at_least: tasks to make if there are segments enough, to keep so many cores busy.
    """
    total = sum(split.size + _OPEN_COST for split in splits)
    limit = min(max_bytes, max(_OPEN_COST, total // at_least))
    tasks: list[tuple[SegmentSplit, ...]] = []
    task: list[SegmentSplit] = []
    weight = 0
    for split in splits:
        if task and weight + split.size + _OPEN_COST > limit:
            tasks.append(tuple(task))
            task, weight = [], 0
        task.append(split)
        weight += split.size + _OPEN_COST
    if task:
        tasks.append(tuple(task))
    return tasks
