"""Snapshots: lists of segments with log ends and transaction outcomes, for several queries of the same data.

Strategy: a JSON file with the names of the model's attributes (msgspec); missing ones have their defaults.
Log ends are pinned: later appends are not read. When a snapshot is used, directories are listed again, and
deleted, replaced or changed files are reported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.new_outputs import new_file
from kafka_segments.core.io.outputs import check_absent
from kafka_segments.errors import KafkaFormatError, ReadError, raise_unless_file_at_fault
from kafka_segments.log.model import PartitionLog, StoredFile
from kafka_segments.log.opening import Budget
from kafka_segments.query.committed import Committed, read_committed
from kafka_segments.query.documents import content_of, read_document, write_document
from kafka_segments.query.offsets import LogView
from kafka_segments.query.query import DEFAULT_WALK_BYTES, TopicPartition
from kafka_segments.query.timestamps import TimeFinder

__all__ = [
    "Changed",
    "Snapshot",
    "changes",
    "pinned_logs",
    "read_snapshot",
    "take_snapshot",
    "write_snapshot",
]

_KIND = "snapshot"
_VERSION = 2


@dataclass(frozen=True, slots=True)
class PinnedOutcome:
    """Transaction outcome of a partition."""

    topic: str
    partition: int
    committed: Committed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Pinned logs of partitions.

    Attributes:
        logs: the partitions, with their ends.
        outcomes: of their transactions, if determined.
        taken_ms: time of the snapshot, in milliseconds since 1970.
    """

    logs: tuple[PartitionLog, ...]
    outcomes: tuple[PinnedOutcome, ...] = ()
    taken_ms: int = 0

    def committed(self) -> dict[TopicPartition, Committed]:
        """Transaction outcomes by partition."""
        return {(one.topic, one.partition): one.committed for one in self.outcomes}


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that changed after the snapshot, and how."""

    path: str
    why: str


def take_snapshot(
    logs: Sequence[PartitionLog],
    places: Places,
    *,
    with_transactions: bool = False,
    max_walk_bytes: int = DEFAULT_WALK_BYTES,
    committed: Mapping[TopicPartition, Committed] | None = None,
) -> Snapshot:
    """Take a snapshot of logs.

    Args:
        logs: the partitions.
        places: filesystems by path.
        with_transactions: also determine transaction outcomes.
        max_walk_bytes: see `committed.read_committed`.
        committed: known transaction outcomes.

    Raises:
        KafkaFormatError: a file cannot be read, or more than `max_walk_bytes` would be.
    """
    unused: list[KafkaFormatError] = []
    known = dict(committed or {})
    if with_transactions:
        for log in logs:
            key = (log.topic, log.partition)
            if key not in known and log.pieces:
                known[key] = read_committed(log, places, max_walk_bytes, unused)
    outcomes = tuple(
        PinnedOutcome(topic, partition, one) for (topic, partition), one in sorted(known.items())
    )
    budget = Budget(0)
    pinned = tuple(_with_end(log, places, known.get((log.topic, log.partition)), budget) for log in logs)
    return Snapshot(pinned, outcomes, time.time_ns() // 1_000_000)


def _with_end(log: PartitionLog, places: Places, committed: Committed | None, budget: Budget) -> PartitionLog:
    if not log.pieces or log.pieces[-1].end is not None:
        return log
    end = LogView(log, places, TimeFinder(places, budget), committed).end
    return replace(log, pieces=(*log.pieces[:-1], replace(log.pieces[-1], end=end)))


def write_snapshot(snapshot: Snapshot, path: str) -> None:
    """Write a snapshot to a new local file, which appears when complete.

    Raises:
        OptionError: the file exists.
        OutputError: it cannot be written.
    """
    path = os.fspath(path)
    check_absent(path)
    with new_file(path, path) as output:
        output.write(write_document(snapshot, _KIND, _VERSION))


def read_snapshot(places: Places, path: str) -> Snapshot:
    """Read a snapshot.

    Raises:
        ReadError: the file cannot be opened or read.
        OptionError: it is not a snapshot, or one of another version.
    """
    return read_document(Snapshot, content_of(places.open(path)), path, _KIND, _VERSION)


def pinned_logs(
    snapshot: Snapshot, places: Places, *, fail_on_data_loss: bool = True
) -> tuple[list[PartitionLog], list[Changed]]:
    """Return the logs of a snapshot, and files that changed after it.

    Raises:
        ReadError: a file changed, and `fail_on_data_loss` is set.
    """
    found = changes(snapshot, places)
    if found and fail_on_data_loss:
        raise ReadError(
            f"{found[0].why} since the snapshot was taken ({len(found)} such files); take a new one, or read "
            "what is left with failOnDataLoss=false",
            path=found[0].path,
        )
    return list(snapshot.logs), found


def changes(snapshot: Snapshot, places: Places) -> list[Changed]:
    """List segments that changed after the snapshot; each directory is listed once."""
    listed: dict[str, dict[str, Any]] = {}
    found = []
    for log in snapshot.logs:
        for piece in log.pieces:
            file = piece.segment.file
            folder, _slash, name = file.path.rpartition("/")
            if folder not in listed:
                try:
                    listed[folder] = {entry.name: entry for entry in places.entries(folder or ".")}
                except ReadError as error:
                    raise_unless_file_at_fault(error)
                    listed[folder] = {}
            why = _why_changed(file, listed[folder].get(name), is_growing=piece.segment.is_newest)
            if why is not None:
                found.append(Changed(file.path, why))
    return found


def _why_changed(file: StoredFile, entry: Any, *, is_growing: bool) -> str | None:
    if entry is None:
        return "the file is gone"
    if entry.identity != file.identity:
        return f"the file was replaced (it was {file.identity}, now it is {entry.identity})"
    needed = file.position + file.size
    if entry.size < needed or (entry.size > needed and not is_growing and not file.position):
        return f"the file had {needed} bytes, and now has {entry.size}"
    return None
