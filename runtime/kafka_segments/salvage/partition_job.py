"""One partition from its copies to its directory, its quarantine and its part of the manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.io.filesystems import Places
from kafka_segments.io.outputs import make_directories
from kafka_segments.log.lineage import Lineage
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import open_file
from kafka_segments.salvage.digests import Digests
from kafka_segments.salvage.fragments import Fragment, Fragments
from kafka_segments.salvage.ledger import Ledger
from kafka_segments.salvage.log_directory import METADATA_TOPIC, copy_metadata_files
from kafka_segments.salvage.log_state import LogState
from kafka_segments.salvage.manifest import PartitionOutcome
from kafka_segments.salvage.partition_plan import PartitionPlan, make_plan
from kafka_segments.salvage.partition_sink import PartitionSink, WrittenSegment, follow_only
from kafka_segments.salvage.quarantine_files import write_quarantine
from kafka_segments.segment.index_files import LeaderEpoch, read_producer_snapshot

__all__ = ["DonePartition", "Job", "epochs_of", "salvage_partition", "seeded_state"]


@dataclass(frozen=True)
class Job:
    """What all partitions of a run share.

    Attributes:
        places: opens files.
        directory: where the result is written; None for a dry run.
        named: its path when it is published, for errors.
        retention_ms: of the topics, as far as is known.
        now_ms: the time of the run, in milliseconds since 1970.
        digests: hashes files.
        fragments: keeps parts of the manifest.
        progress: is called with numbers of bytes that were read or written.
    """

    places: Places
    directory: str | None
    named: str
    retention_ms: int
    now_ms: int
    digests: Digests
    fragments: Fragments
    progress: Callable[[int], None]


@dataclass
class DonePartition:
    """A partition that is done, or the error that ended it.

    Attributes:
        topic: name.
        partition: number.
        summary: its part of the manifest without ranges; None after an error.
        text: its part of the manifest.
        has_findings: whether anything was lost or put aside.
        error: why there is no result.
    """

    topic: str
    partition: int
    summary: dict[str, Any] | None
    text: Fragment
    has_findings: bool = False
    error: KafkaFormatError | None = None


def salvage_partition(job: Job, copies: Sequence[PartitionCopy]) -> DonePartition:
    """Salvage one partition.

    Raises:
        OutputError: the disk is full, or fails.
        OptionError: the copies are of two topics with one name.
        KafkaFormatError: a source cannot be opened, or has changed while it was read.
    """
    name = f"{copies[0].topic}-{copies[0].partition}"
    path = "" if job.directory is None else os.path.join(job.directory, f".{name}.ledger")
    with closing(Ledger(path)) as ledger:
        plan = make_plan(job.places, copies, ledger=ledger, digests=job.digests, progress=job.progress)
        with closing(plan.files):
            done = _done(job, plan)
    if path:
        os.unlink(path)
    return done


def _done(job: Job, plan: PartitionPlan) -> DonePartition:
    state = seeded_state(job.places, plan)
    if job.directory is None:
        segments = _planned_segments(plan)
        follow_only(state, plan.files, plan.ledger.pieces(), plan.choice.gaps)
    else:
        segments = _write(job, plan, state)
    outcome = PartitionOutcome(plan, segments, state, job.retention_ms, job.now_ms)
    text = job.fragments.add(outcome.text())
    return DonePartition(plan.topic, plan.partition, outcome.summary(), text, outcome.has_findings())


def _planned_segments(plan: PartitionPlan) -> list[WrittenSegment]:
    """Return the segments that a result would have."""
    found: dict[int, WrittenSegment] = {}
    for piece in plan.ledger.pieces():
        name = f"{piece.segment:020d}.log"
        segment = found.setdefault(piece.segment, WrittenSegment(name, piece.segment))
        segment.note(piece)
    for base in plan.empty_segments:
        found[base] = WrittenSegment(f"{base:020d}.log", base)
    return [found[base] for base in sorted(found)]


def _write(job: Job, plan: PartitionPlan, state: LogState) -> list[WrittenSegment]:
    assert job.directory is not None  # no dry run
    name = f"{plan.topic}-{plan.partition}"
    places = [os.path.join(one, "log", name) for one in (job.directory, job.named)]
    make_directories(places[0])
    sink = PartitionSink(
        *places,
        state=state,
        files=plan.files,
        digests=job.digests,
        known=plan.digests,
        progress=job.progress,
    )
    try:
        segments = list(sink.write(plan.ledger.pieces(), plan.choice.gaps))
        segments += [sink.write_empty(base) for base in plan.empty_segments]
        segments.sort(key=lambda one: one.base_offset)
        sink.write_small_files(plan.end_offset, epochs_of(plan, state), plan.ranked.log.topic_id)
    finally:
        sink.close()
    if plan.topic == METADATA_TOPIC:
        copy_metadata_files(job.places, plan.ranked.copies[0].copy, *places)
    kept = [os.path.join(one, "quarantine", name) for one in (job.directory, job.named)]
    write_quarantine(plan, job.progress, *kept)
    return segments


def seeded_state(places: Places, plan: PartitionPlan) -> LogState:
    """Return the state before the first batch: that of the snapshot at the log's start, if there is one."""
    state = LogState(plan.start_offset)
    first = next(iter(plan.ranked.copies[0].copy.segments), None)
    snapshot = None if first is None else first.beside.get("snapshot")
    if first is None or snapshot is None or first.base_offset != plan.choice.start_offset:
        return state
    try:
        state.seed(read_producer_snapshot(open_file(places, snapshot)))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        plan.notes.append(f"{error}; the producers before the first batch are not known")
    return state


def epochs_of(plan: PartitionPlan, state: LogState) -> list[LeaderEpoch]:
    """Return the leader epochs of the result: of its copies' checkpoints, then of later batches."""
    end = plan.end_offset
    found = list(Lineage.of(plan.ranked.log.leader_epochs, end).entries)
    latest = found[-1].epoch if found else -1
    found += [one for one in state.epochs if one.epoch > latest]
    begun = [one for one in found if one.start_offset <= plan.start_offset]
    later = [one for one in found if one.start_offset > plan.start_offset]
    # The first entry moves with the log's start (LeaderEpochFileCache.truncateFromStart).
    return [LeaderEpoch(begun[-1].epoch, plan.start_offset), *later] if begun else later
