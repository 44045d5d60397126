"""From paths to the logs that a query asks for, for the Spark source and `kafka-segments plan` alike."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.errors import OptionError
from kafka_segments.io.filesystems import Places
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.replicas import resolve
from kafka_segments.log.skipped_files import PassedOver
from kafka_segments.query.offsets import select
from kafka_segments.query.prune import drop_by_partition
from kafka_segments.query.query import Query

__all__ = ["logs_asked_for"]


def logs_asked_for(
    places: Places,
    paths: Sequence[str],
    query: Query,
    files: FileOptions,
    passed: list[PassedOver] | None = None,
) -> list[PartitionLog]:
    """The logs at some paths, each offset once; partitions that nobody asks for are not looked at.

    Args:
        places: where they are.
        paths: see `discover`.
        query: what is asked for; if there is no such topic or partition, everything is listed, so that it
            can be said what there is.
        files: which files count.
        passed: see `discover`.

    Raises:
        KafkaFormatError: see `discover` and `resolve`.
    """
    topics = query.topics

    def is_wanted(topic: str, partition: int | None) -> bool:
        if topics.names is not None and topic not in topics.names:
            return False
        known = topics.partitions
        if known is not None and not any(
            name == topic and partition in (None, number) for name, number in known
        ):
            return False
        return partition is None or drop_by_partition(topic, partition, query.conditions) is None

    logs = resolve(places, discover(places, paths, files, is_wanted, passed))
    try:
        select(logs, topics)
    except OptionError:
        return resolve(places, discover(places, paths, files, None, passed))
    return logs
