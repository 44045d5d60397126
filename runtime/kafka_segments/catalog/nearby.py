"""Logs of this machine, each in one directory: for those who plan before copies are compared."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kafka_segments.catalog.model import LogEnd, PartitionLog, Piece, StoredFile, StoredSegment
from kafka_segments.logdir import PartitionDir, list_partitions
from kafka_segments.places import Entry, Places

__all__ = ["nearby_logs"]

_SUFFIXES = ("index", "timeindex", "txnindex", "snapshot")


def nearby_logs(paths: Iterable[str], places: Places, end: LogEnd | None = None) -> list[PartitionLog]:
    """The partitions in log directories, partitions' directories and `.log` files of this machine.

    Args:
        paths: any mixture of the three.
        places: where they are listed.
        end: what is known of the ends of all of them.

    Raises:
        KafkaFormatError: see `logdir.list_partitions`.
    """
    return [_log(found, places, end or LogEnd()) for found in list_partitions(paths)]


def _log(found: PartitionDir, places: Places, end: LogEnd) -> PartitionLog:
    entries = {entry.name: entry for entry in places.entries(os.path.abspath(found.path))}
    pieces = []
    for segment in found.segments:
        stem = f"{segment.base_offset:020d}"
        beside = {
            suffix: _stored(entries[f"{stem}.{suffix}"])
            for suffix in _SUFFIXES
            if f"{stem}.{suffix}" in entries
        }
        file = _stored(entries[f"{stem}.log"])
        pieces.append(
            Piece(
                segment.base_offset,
                None,
                StoredSegment(file, segment.base_offset, segment.is_newest, beside),
            )
        )
    return PartitionLog(
        found.topic,
        found.partition,
        tuple(pieces),
        log_start_offset=found.log_start_offset,
        end=end,
        copies=(os.path.abspath(found.path),),
    )


def _stored(entry: Entry) -> StoredFile:
    return StoredFile(entry.path, entry.size, entry.identity, entry.modified_ns)
