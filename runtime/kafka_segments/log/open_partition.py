"""Open a partition by its path or address; and find gaps between segments that were given as files.

Strategy for gaps: files of one directory belong to one partition. If all of its segments were given, all
checks of `continuity` apply; else only gaps between two adjacent ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import (
    SEGMENT_NAME,
    TIERED_NAME,
    directory_of,
    is_address,
    real_path,
    with_ends,
)
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import out_of_order
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import NotingFaults, OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import LEFT_OUT_KINDS, of_kinds
from kafka_segments.log.log_dir import segments_in
from kafka_segments.log.model import LogEnd, LogPiece, PartitionLog, StoredFile, StoredSegment
from kafka_segments.log.opening import open_segment_of
from kafka_segments.log.partition import Partition
from kafka_segments.log.replicas import resolve
from kafka_segments.log.skipped_files import SkippedFiles

__all__ = ["LogOf", "gaps_between", "log_in", "open_log", "open_partition", "open_partition_of"]

LogOf = Callable[[str], PartitionLog]


def open_partition(
    directory: str | os.PathLike[str],
    *,
    check_crc: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    outcomes_from: Literal["records", "indexes"] = "records",
    places: Places | None = None,
) -> Partition:
    """Open a partition for reading, without writing or locking any file.

    Args:
        directory: the path or address of a directory `TOPIC-PARTITION` with live segments, of a tier's
            directory of the partition, of the parent of one, or a glob pattern that matches one.
        check_crc: verify the checksum of every batch.
        max_decompressed: limit in bytes of one decompressed batch.
        outcomes_from: the source of transactions' outcomes: the records, or the `.txnindex` and `.snapshot`
            files, which save a pass over all but the newest segments if a broker has left them in order; see
            `transaction_outcomes` for their checks and limits.
        places: opens addresses, with the settings of stores; from the environment if None.

    Raises:
        ReadError: the directory does not exist or cannot be listed.
        OptionError: the directory has no segments, those of several partitions, or several copies of one,
            which `scan` merges into one log.
    """
    if outcomes_from not in ("records", "indexes"):
        raise OptionError(f"outcomes_from is {outcomes_from!r}; give 'records' or 'indexes'")
    if not isinstance(directory, (str, os.PathLike)):
        raise OptionError(f"this is of type {type(directory).__name__}: give the path of a directory as str")
    places, path = places or Places(keep_cache=True), os.fspath(directory)
    copies = discover(places, [path], prefer_names=True)
    names = {(copy.topic, copy.partition) for copy in copies}
    if len(names) != 1:
        raise OptionError(f"{len(names)} partitions are in it; give one of them", path=path)
    if len(copies) > 1:
        raise OptionError(
            f"{len(copies)} copies of a partition are in it, {', '.join(copy.path for copy in copies)}: "
            "give one of them, or read the log that they form together with kafka_segments.scan",
            path=path,
        )
    (log,) = resolve(places, copies)
    if not log.pieces:
        why = "; ".join(one.detail for one in of_kinds(log.findings, *LEFT_OUT_KINDS)[:1])
        raise OptionError(f"no segment in it can be read: {why}", path=path)
    return open_log(places, log, outcomes_from, check_crc=check_crc, max_decompressed=max_decompressed)


def open_log(places: Places, log: PartitionLog, outcomes_from: str = "records", **options: Any) -> Partition:
    """Open a log that was discovered before.

    Args:
        places: opens its files.
        log: a log with one segment or more.
        outcomes_from: see `open_partition`.
        options: see `open_segment_of`.
    """
    return Partition(log, places, partial(open_segment_of, places, **options), outcomes_from)


def open_partition_of(places: Places, path: str, log_of: LogOf, **options: Any) -> Partition:
    """Open the partition of a live segment's file.

    Any other file (by its name, or its directory's) and standard input are a partition by themselves, with
    `is_whole` False.

    Args:
        places: opens files.
        path: the path or address of the file; `-` is standard input.
        log_of: gives the log of the segments in a directory, as `log_in`.
        options: see `open_segment_of`.

    Raises:
        ReadError: the file or its directory cannot be opened.
    """
    log = PartitionLog("", -1, ()) if path == "-" else log_of(directory_of(path))
    wanted = real_path(path)
    own = next((piece.segment for piece in log.pieces if real_path(piece.segment.path) == wanted), None)
    if log.topic and own is not None:
        return open_log(places, log, **options)
    if own is None:
        own = StoredSegment(StoredFile(path, 0, ""), first_offset_in_name(path) or 0)
    alone = LogPiece(own.base_offset, None, replace(own, is_newest=True, end_offset=None))

    def open_alone(_segment: StoredSegment) -> Segment:
        source = places.open(path) if is_address(path) else path
        return open_segment(source, closes_source=True, **options)

    log = PartitionLog("", -1, (alone,), copies=(directory_of(path),))
    return Partition(log, places, open_alone, is_whole=False)


def log_in(places: Places, directory: str, skipped: list[SkippedFiles] | None = None) -> PartitionLog:
    """Return the log of the segments in a directory; without a topic if its name is not a partition's.

    Args:
        places: lists it.
        directory: path or address.
        skipped: receives the skipped files; None logs them.

    Raises:
        ReadError: it cannot be listed.
    """
    try:
        logs = resolve(places, discover(places, [directory], skipped=skipped, prefer_names=True))
    except OptionError:
        logs = []
    if len(logs) == 1:
        return logs[0]
    found = segments_in(places.entries(directory))
    pieces = tuple(LogPiece(one.base_offset, one.end_offset, one) for one in found)
    return PartitionLog("", -1, pieces, copies=(directory,))


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
