"""Logs that a query selects from paths, for the Spark source, `scan` and `kafka-segments plan`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from kafka_segments.core.formats.file_names import name_in, parse_directory_name
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import LogPiece, PartitionCopy, PartitionLog
from kafka_segments.log.replicas import resolve
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped
from kafka_segments.query.prune import drop_by_partition
from kafka_segments.query.query import INTERNAL_TOPICS, Query, TopicPartition, Topics, topic_pattern

__all__ = ["logs_asked_for", "select", "whole_log"]

L = TypeVar("L", PartitionCopy, PartitionLog)

_INTERNAL_WHY = "it is an internal topic of Kafka: name it in subscribe or assign to read it"


def logs_asked_for(
    places: Places,
    paths: Sequence[str],
    query: Query,
    files: FileOptions,
    skipped: list[SkippedFiles] | None = None,
    *,
    prefer_names: bool = False,
    checkpoints: Checkpoints | None = None,
    is_merged: Callable[[str], bool] | None = None,
    is_needed: Callable[[str, int | None], bool] | None = None,
    otherwise: Callable[[PartitionLog, OptionError], PartitionLog] | None = None,
) -> list[PartitionLog]:
    """List the logs of selected partitions at some paths, each offset once.

    Those of other topics may be listed too; their copies are not compared.

    Args:
        places: filesystems by path.
        paths: see `discover`.
        query: the request; for a missing topic or partition everything is listed, for the error's text.
        files: options for the choice of files.
        skipped: see `discover`.
        prefer_names: see `discover`.
        checkpoints: see `discover`.
        is_merged: whether copies of a topic are compared and merged; None: of those that the query selects.
        is_needed: whether a topic (with None for the partition) or a partition may have rows that the caller
            keeps; None is of all.
        otherwise: see `resolve`.

    Raises:
        KafkaFormatError: see `discover` and `resolve`.
    """
    topics, left_out = query.topics, list[SkippedFiles]() if skipped is None else skipped
    how: Any = {"skipped": left_out, "prefer_names": prefer_names, "checkpoints": checkpoints}
    copies = discover(places, paths, files, partial(_is_wanted, query, is_needed), **how)
    is_narrowed = bool(query.conditions) or is_needed is not None
    try:
        _check_there(copies, topics)
        # What conditions and `is_needed` leave is no reason to read internal topics.
        is_usual = any(copy.topic not in INTERNAL_TOPICS for copy in copies)
        is_enough = is_usual or topics != Topics() or not is_narrowed
    except OptionError:
        is_enough = False
    if not is_enough:
        copies = discover(places, paths, files, **how)
    if is_merged is None:
        merged = {copy.topic for copy in _selected(copies, topics)}
    else:
        merged = set(filter(is_merged, {copy.topic for copy in copies}))
    if skipped is None:
        log_skipped(left_out, is_all=False)
    logs = resolve(places, [copy for copy in copies if copy.topic in merged], otherwise=otherwise)
    logs += _unmerged(copy for copy in copies if copy.topic not in merged)
    return [*logs, *_unlisted(left_out, {(log.topic, log.partition) for log in logs})]


def _is_wanted(
    query: Query, is_needed: Callable[[str, int | None], bool] | None, topic: str, partition: int | None
) -> bool:
    """Whether a partition (None: any of a topic) is listed, if what the query selects is there."""
    names, known = query.topics.names, query.topics.partitions
    if names is not None and topic not in names:
        return False
    if known is not None and not any(name == topic and partition in (None, number) for name, number in known):
        return False
    if is_needed is not None and not is_needed(topic, partition):
        return False
    return partition is None or drop_by_partition(topic, partition, query.conditions) is None


def _unlisted(left_out: Iterable[SkippedFiles], there: Container[TopicPartition]) -> Iterator[PartitionLog]:
    """Yield partitions of whose only directory is known that it cannot be listed, with that as damage."""
    for one in left_out:
        name = parse_directory_name(name_in(one.paths[0]))
        if one.error is not None and name is not None and (name.topic, name.partition) not in there:
            key, error = (name.topic, name.partition), one.error
            found = Finding(Kind.DAMAGE, *key, error.detail, path=error.path, error=error)
            yield PartitionLog(*key, (), copies=one.paths, findings=(found,))


def _unmerged(copies: Iterable[PartitionCopy]) -> Iterator[PartitionLog]:
    """Yield the largest copy of each partition as a log that can be listed, not read."""
    for key, own in groupby(copies, key=lambda copy: (copy.topic, copy.partition)):
        largest = max(own, key=lambda copy: sum(one.size for one in copy.segments))
        pieces = (LogPiece(one.base_offset, one.end_offset, one) for one in largest.segments)
        yield PartitionLog(*key, tuple(pieces), copies=(largest.path,))


def select(logs: Iterable[PartitionLog], topics: Topics) -> tuple[list[PartitionLog], list[Finding]]:
    """Select partitions; also return findings for the others.

    Raises:
        OptionError: a named topic or partition does not exist.
    """
    logs = list(logs)
    _check_there(logs, topics)
    chosen = _selected(logs, topics)
    asked = set(map(id, chosen))
    return chosen, [
        whole_log(
            log, _INTERNAL_WHY if _is_passed_over(log, topics) else "its topic or partition is not selected"
        )
        for log in logs
        if id(log) not in asked  # by identity: comparing values would take as long as planning
    ]


def _check_there(logs: Sequence[L], topics: Topics) -> None:
    """Check that topics select what exists; errors as for `select`."""
    there = {(log.topic, log.partition) for log in logs}
    names = {topic for topic, _partition in there}
    if topics.names is not None and not topics.names <= names:
        raise _absent("topic", min(topics.names - names), names)
    if topics.partitions is not None and not topics.partitions <= there:
        topic, partition = min(topics.partitions - there)
        own = sorted(number for name, number in there if name == topic)
        if own:
            raise _absent("partition", f"{partition} of {topic}", map(str, own))
        raise _absent("topic", topic, names)
    if logs and topics.pattern is not None and not _selected(logs, topics):
        raise _absent("topic", f"that matches {topics.pattern!r}", names)


def _selected(logs: Sequence[L], topics: Topics) -> list[L]:
    chosen = [log for log in logs if _is_selected(log, topics)]
    if not chosen and topics == Topics():
        chosen = list(logs)  # all topics are internal: the caller's paths name them
    return chosen


def _is_selected(log: PartitionCopy | PartitionLog, topics: Topics) -> bool:
    if topics.names is not None:
        return log.topic in topics.names
    if topics.partitions is not None:
        return (log.topic, log.partition) in topics.partitions
    return not _is_passed_over(log, topics) and (
        topics.pattern is None or topic_pattern(topics.pattern).search(log.topic) is not None
    )


def _is_passed_over(log: PartitionCopy | PartitionLog, topics: Topics) -> bool:
    """Whether a log is of an internal topic, and topics are not selected by name."""
    return log.topic in INTERNAL_TOPICS and topics.names is None and topics.partitions is None


def _absent(what: str, name: str, there: Iterable[str]) -> OptionError:
    some = sorted(there)
    close = difflib.get_close_matches(name, some, 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    shown = ", ".join(some[:10]) + (", ..." if len(some) > 10 else "") or "nothing at all"
    return OptionError(f"there is no {what} {name} in these paths{hint}; there is {shown}")


def whole_log(log: PartitionLog, why: str) -> Finding:
    """Return the finding that no record of a log is read."""
    num_bytes = sum(piece.segment.size for piece in log.pieces)
    path = log.copies[0] if log.copies else (log.pieces[0].segment.file.path if log.pieces else "")
    return Finding(Kind.LEFT_OUT, log.topic, log.partition, why, path=path, num_bytes=num_bytes)
