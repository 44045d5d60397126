"""Gaps between segments that were given as single files.

Strategy: files of one directory belong to one partition. If all of its segments were given, all checks of
`continuity` apply; else only gaps between two adjacent ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import SEGMENT_NAME, TIERED_NAME, directory_of, with_ends
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import out_of_order
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments.errors import NotingFaults
from kafka_segments.log.model import LogEnd, LogPiece, PartitionLog
from kafka_segments.log.open_partition import LogOf, open_log

__all__ = ["gaps_between"]

Seen = Mapping[str, MisplacedBatches]
"""Detectors of misplaced batches that the files' readers have filled, by path."""


def gaps_between(places: Places, paths: Iterable[str], seen: Seen, log_of: LogOf) -> Iterator[Damage]:
    """Find gaps between segments that were given by their paths; see `continuity.find_gaps`.

    A directory that cannot be listed is skipped: the readers of its files report why. `log_of` gives the log
    of the segments in one.
    """
    by_directory: dict[str, set[str]] = {}
    for path in paths:
        name = path.rpartition("/")[2]
        if SEGMENT_NAME.fullmatch(name) or TIERED_NAME.fullmatch(name):
            by_directory.setdefault(directory_of(path), set()).add(name)
    for directory, names in by_directory.items():
        with NotingFaults():
            yield from _gaps_in(places, log_of(directory), names, seen)


def _gaps_in(places: Places, log: PartitionLog, names: set[str], seen: Seen) -> Iterator[Damage]:
    if len(names) == 1 and not log.topic:
        return
    is_given = [piece.segment.path.rpartition("/")[2] in names for piece in log.pieces]
    if all(is_given):
        yield from _gaps(places, log, seen)
        return
    part = replace(log, log_start_offset=None, end=LogEnd(), without_log=(), swaps=())
    run: list[LogPiece] = []
    for piece, is_in_run in [*zip(log.pieces, is_given, strict=True), (None, False)]:
        if piece is not None and is_in_run:
            run.append(piece)
            continue
        if len(run) > 1:
            yield from _gaps(places, replace(part, pieces=tuple(run)), seen)
        run = []


def _gaps(places: Places, log: PartitionLog, seen: Seen) -> Iterator[Damage]:
    with open_log(places, log) as partition:
        gaps = partition.gaps
    yield from gaps
    astray = out_of_order(gaps)
    for segment, end in with_ends(partition.segments):
        read = seen.get(os.path.normpath(segment.path), MisplacedBatches())
        stray = read.damage(segment.path, segment.size, end)
        if stray is not None and segment.path not in astray:
            yield stray
