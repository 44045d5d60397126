"""Salvage: clean partitions from the best of all copies, with everything else in a quarantine.

Strategy: partitions one by one, or some at a time in threads, each bounded in memory. Threads share one
count of bytes, one hasher and one file of texts, and what takes the time (checksums, hashing, copying) leaves
Python to the others. Everything is written into a hidden directory beside the destination, which gets its
name when all of it is on the disk.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from typing import Any

from kafka_segments.core.formats.file_names import above, real_path
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import Progress
from kafka_segments.core.io.new_outputs import new_directory
from kafka_segments.core.io.outputs import OutputFile, check_replaceable, make_directories
from kafka_segments.core.io.threads import check_wanted, in_threads
from kafka_segments.errors import KafkaFormatError, OutputError
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.cluster_metadata import with_topic_ids
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_dir import refuse_below_sources
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.salvage.log_directory import properties_in, write_root_files
from kafka_segments.salvage.manifest import Fragments, document
from kafka_segments.salvage.partition_job import DonePartition, SalvageRun, salvage_partition
from kafka_segments.salvage.partition_plan import num_bytes_of
from kafka_segments.salvage.source_files import Digests

__all__ = ["DEFAULT_RETENTION_MS", "ByteCounter", "Salvaged", "check_destination", "salvage"]

DEFAULT_RETENTION_MS = 7 * 24 * 3600 * 1000
"""Of topics that set no other `retention.ms`."""
_MAX_NAMED = 5  # partitions in one note


@dataclass
class Salvaged:
    """Result of a run.

    Attributes:
        partitions: by name.
        manifest: its text, in pieces; of a dry run, which has written nothing.
        skipped: files and directories that were not looked at.
        notes: what there is to say of the whole.
        has_findings: whether anything was lost or put aside, or lacks that a broker needs.
    """

    partitions: list[DonePartition]
    manifest: Iterator[str]
    skipped: list[SkippedFiles]
    notes: list[str]
    has_findings: bool


def salvage(
    sources: Sequence[str],
    destination: str | None,
    *,
    places: Places,
    retention_ms: int = DEFAULT_RETENTION_MS,
    jobs: int = 1,
    progress: Progress = lambda _done, _total: None,
) -> Salvaged:
    """Salvage partitions.

    Args:
        sources: log directories, partitions' directories, tiers, segments, or patterns of these.
        destination: a directory that does not exist or is empty, outside the sources; None for a dry run.
        places: opens files.
        retention_ms: of the topics; -1 for none.
        jobs: how many partitions are worked on at a time.
        progress: is called with bytes that were read and written, and how many there are.

    Raises:
        OptionError: nothing is found at a source, or the destination is not possible.
        ReadError: a source cannot be opened.
        OutputError: the disk is full, or fails; nothing is left then.
    """
    skipped: list[SkippedFiles] = []
    copies = with_topic_ids(places, discover(places, sources, skipped=skipped, prefer_names=True))
    real = None if destination is None else check_destination(destination, copies)
    named = destination or ""
    with nullcontext() if real is None else new_directory(real, named) as hidden:
        with Digests() as digests:
            counter = ByteCounter(2 * num_bytes_of(copies), progress)
            now_ms = time.time_ns() // 1_000_000
            run = SalvageRun(
                places, hidden, named, retention_ms, now_ms, digests, Fragments(hidden), counter.add
            )
            groups = _by_partition(copies)
            with closing(in_threads(partial(_one, run), groups, jobs, num_waiting=None)) as found:
                done = [one for _, one in found]
        properties, wrong = properties_in(places, copies)
        result = _result(sources, copies, done, skipped, run)
        result.notes.extend([*wrong, *_notes_on(properties)])
        if hidden is not None:
            _write_rest(hidden, named, result, list(dict.fromkeys(properties.values())))
    return result


def check_destination(destination: str, copies: Sequence[PartitionCopy]) -> str:
    """Return a destination with links resolved.

    Raises:
        OptionError: it is there and not empty, or in a log directory of the sources.
        OutputError: its parent directory does not exist.
    """
    real = check_replaceable(destination)
    refuse_below_sources([copy.path or "." for copy in copies], real, destination)
    return real


class ByteCounter:
    """Sum of the bytes that all threads have read and written."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress = total, progress
        self._done = 0
        self._lock = threading.Lock()

    def add(self, num_bytes: int) -> None:
        """Add some; a thread whose result is not wanted any more ends."""
        check_wanted()
        with self._lock:
            self._done += num_bytes
            self._progress(min(self._done, self._total), self._total)


def _by_partition(copies: Sequence[PartitionCopy]) -> list[list[PartitionCopy]]:
    ordered = sorted(copies, key=lambda one: (one.topic, one.partition, one.path))
    return [list(found) for _, found in groupby(ordered, key=lambda one: (one.topic, one.partition))]


def _one(run: SalvageRun, group: list[PartitionCopy]) -> Generator[DonePartition, None, None]:
    """Salvage one partition; an error that concerns it alone is part of the result."""
    try:
        yield salvage_partition(run, group)
    except KafkaFormatError as error:
        if isinstance(error, OutputError):
            raise
        name = group[0].topic, group[0].partition
        values = {"topic": name[0], "partition": name[1], "error": str(error), "files": []}
        text = run.fragments.add([json.dumps(values)])
        yield DonePartition(*name, (text,), has_findings=True, error=error)


def _result(
    sources: Sequence[str],
    copies: Sequence[PartitionCopy],
    done: list[DonePartition],
    skipped: list[SkippedFiles],
    run: SalvageRun,
) -> Salvaged:
    notes = [
        f"{one.path}: a broker has it open, and its last batches may be incomplete: stop the broker first"
        for one in copies
        if one.end.is_live
    ]
    unnamed, gone = list(_notes_on_ids(copies)), list(_notes_on_gone(run.places, sources, copies))
    notes.extend([*unnamed, *gone])
    head: dict[str, Any] = {
        "version": 1,
        "made": datetime.fromtimestamp(run.now_ms / 1000, UTC).isoformat(),
        "is_dry_run": run.directory is None,
        "sources": list(sources),
        "passed_over": [{"paths": list(one.paths), "why": one.why} for one in skipped],
        "notes": notes,
    }
    texts = (chain.from_iterable(map(run.fragments.read, one.text)) for one in done)
    manifest = document(head, texts)
    # Brokers before Kafka 2.8 have no topic ids.
    names = any(one.topic_id is not None or one.findings for one in copies)
    has_findings = any(one.has_findings for one in done) or bool(gone) or (bool(unnamed) and names)
    return Salvaged(done, manifest, skipped, notes, has_findings)


def _notes_on(properties: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what to do for `meta.properties`, if the sources have none or different ones."""
    if not properties:
        yield "no source has a sound meta.properties: copy that of the broker that will start on the result"
    elif len(set(properties.values())) > 1:
        names = ", ".join(properties)
        yield f"the sources are from several brokers: copy the meta.properties of the one to start: {names}"


def _notes_on_ids(copies: Sequence[PartitionCopy]) -> Iterator[str]:
    """Yield what to do for partitions of which no copy has the topic's id (`partition.metadata`)."""
    groups = _by_partition(copies)
    names = [
        f"{group[0].topic}-{group[0].partition}"
        for group in groups
        if all(one.topic_id is None for one in group)
    ]
    if names:
        yield (
            f"no source has the topic id (partition.metadata) of {_listed(names)}: a KRaft "
            "broker puts such a directory aside (-stray); write the file with the id that kafka-topics.sh "
            "--describe prints"
        )


def _notes_on_gone(places: Places, sources: Sequence[str], copies: Sequence[PartitionCopy]) -> Iterator[str]:
    """Yield which partitions a broker had when it stopped, and no source has."""
    there = {f"{one.topic}-{one.partition}" for one in copies}
    given = {real_path(one) for one in sources}
    roots = {above(one.path or ".") for one in copies if not one.is_tiered}
    checkpoints = Checkpoints(places, logs_unused=False)
    gone = (one for root in roots if real_path(root) in given for one in checkpoints.gone_from(root))
    names = sorted({one.rpartition("/")[2] for one in gone} - there)
    if names:
        yield f"no source has {_listed(names)}, which a broker had when it stopped"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _write_rest(hidden: str, named: str, result: Salvaged, properties: Sequence[bytes]) -> None:
    """Write the files beside the partitions, and the manifest."""
    directory, path = os.path.join(hidden, "log"), os.path.join(named, "log")
    make_directories(directory)
    offsets = {(one.topic, one.partition): one.bounds for one in result.partitions if one.bounds is not None}
    cleaned = {
        (one.topic, one.partition): one.cleaned_up_to
        for one in result.partitions
        if one.cleaned_up_to is not None
    }
    write_root_files(directory, path, offsets, cleaned, properties)
    output = OutputFile(os.path.join(hidden, "manifest.json"), os.path.join(named, "manifest.json"))
    with closing(output):
        for text in result.manifest:
            output.write(text.encode())
