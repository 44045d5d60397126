"""Splits of what is new in some logs since the last run, and where that ends."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query import cut
from kafka_segments.query.continuation import PartitionState, log_from
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Bound, Limits, Query, TopicPartition, Topics, at_offsets

__all__ = ["NewOffsets", "Planned", "pack", "plan_new"]

_TASK_BYTES = 256 << 20
_LIMITS = Limits(max_partition_bytes=_TASK_BYTES)


NewOffsets = tuple[int, int | None]
"""The first offset that a run takes, and the one after the last; None if only reading finds it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run takes.

    Attributes:
        splits: in order of topic, partition and offset.
        offsets: by partition.
        plans: with their findings.
        logs: the partitions, without the segments that were read before.
    """

    splits: tuple[Split, ...]
    offsets: Mapping[TopicPartition, NewOffsets]
    plans: tuple[Plan, ...]
    logs: tuple[PartitionLog, ...] = ()


def plan_new(
    logs: Iterable[PartitionLog],
    known: Mapping[TopicPartition, PartitionState],
    query: Query,
    places: Places,
) -> Planned:
    """Plan to read what is new.

    Args:
        logs: the partitions.
        known: how far those are read that are known; they are read from there on, or from the log's start
            if nothing of them was read; the others as the query says.
        query: start, end and isolation; its limits apply to planning alone.
        places: filesystems by path.

    Raises:
        KafkaFormatError: as `plan.plan`.
    """
    limits = replace(_LIMITS, max_walk_bytes=query.limits.max_walk_bytes)
    query = replace(query, limits=limits, conditions=())
    logs = list(logs)
    new = [log for log in logs if (log.topic, log.partition) not in known]
    old = [log for log in logs if (log.topic, log.partition) in known]
    # Nothing of them was read: what their logs lack at the beginning did not exist for the table, either.
    empty = [log for log in old if known[log.topic, log.partition].next_offset == 0]
    old = [log for log in old if known[log.topic, log.partition].next_offset > 0]
    starts = {(log.topic, log.partition): known[log.topic, log.partition].next_offset for log in old}
    trimmed = [log_from(log, starts[log.topic, log.partition]) for log in old]
    plans = [
        plan(some, replace(query, topics=_named(some), start=start), places)
        for some, start in ((new, query.start), (empty, Bound("earliest")), (trimmed, at_offsets(starts)))
        if some
    ]
    # A log may end before them by its headers, if these contradict the records.
    splits = sorted(
        (
            replace(split, start=max(split.start, starts.get((split.topic, split.partition), 0)))
            for made in plans
            for task in made.tasks
            for split in task
        ),
        key=lambda one: (one.topic, one.partition),
    )
    from_zero = [*empty, *(new if query.start.kind == "earliest" else ())]
    keys = {(log.topic, log.partition) for log in from_zero}
    return Planned(tuple(splits), _offsets(plans, splits, keys), tuple(plans), (*new, *empty, *trimmed))


def _offsets(
    plans: Iterable[Plan], splits: Iterable[Split], from_zero: Container[TopicPartition]
) -> dict[TopicPartition, NewOffsets]:
    """The offsets that a run takes, by partition; what some logs lack at the beginning is part of them."""
    ends, found = _ends(splits), dict[TopicPartition, NewOffsets]()
    for one in (one for made in plans for one in made.ranges):
        key = one.topic, one.partition
        end = ends.get(key) if one.end is None else one.end
        found[key] = 0 if key in from_zero else one.start, end
    return found


def _named(logs: Sequence[PartitionLog]) -> Topics:
    """Select just these partitions: they were chosen, internal ones too."""
    return Topics(partitions=frozenset((log.topic, log.partition) for log in logs))


def _ends(splits: Iterable[Split]) -> dict[TopicPartition, int | None]:
    """The end of each partition by its last split: where its log ended when it was planned.

    A split that begins there was cut off at a header that may be damaged: reading decides.
    """
    ends = ((one, one.reached if one.end is None else one.end) for one in splits)
    return {(one.topic, one.partition): None if end == one.start else end for one, end in ends}


def pack(splits: Sequence[Split]) -> list[tuple[Split, ...]]:
    """Divide splits among tasks, keeping their order.

    The number of cores plays no part: each engine writes the same files.
    """
    return cut.pack(splits, _TASK_BYTES)
