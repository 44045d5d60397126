"""One partition from its copies to its directory, its quarantine and its part of the manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_segments.core.formats.file_names import METADATA_TOPIC
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.outputs import discard_directory, make_directories
from kafka_segments.core.segment.index_files import LeaderEpoch, read_producer_snapshot
from kafka_segments.errors import KafkaFormatError, OutputError, ReadError, raise_unless_file_at_fault
from kafka_segments.log.lineage import Lineage
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import open_file
from kafka_segments.salvage.digests import Digests
from kafka_segments.salvage.fragments import Fragment, Fragments
from kafka_segments.salvage.ledger import Ledger
from kafka_segments.salvage.log_directory import metadata_files
from kafka_segments.salvage.log_state import LogState
from kafka_segments.salvage.manifest import PartitionOutcome
from kafka_segments.salvage.partition_plan import PartitionPlan, make_plan
from kafka_segments.salvage.partition_sink import PartitionSink, WrittenSegment, follow_only
from kafka_segments.salvage.quarantine_files import write_quarantine
from kafka_segments.write.partition_files import write_beside

__all__ = ["DonePartition", "Job", "epochs_of", "repeated", "salvage_partition", "seeded_state"]

_Result = TypeVar("_Result")
_NUM_ATTEMPTS = 3
_MAX_NAMED = 10
_LARGEST_SNAPSHOT = 2 << 20  # bytes that are read: of some ten thousand producers


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
        text: its part of the manifest.
        bounds: log start and log end offset; None after an error.
        cleaned_up_to: how far the log cleaner has come, for its checkpoint; None if no copy has one.
        has_findings: whether anything was lost or put aside.
        error: why there is no result.
    """

    topic: str
    partition: int
    text: Fragment
    bounds: tuple[int, int] | None = None
    cleaned_up_to: int | None = None
    has_findings: bool = False
    error: KafkaFormatError | None = None
    _fragments: Fragments | None = None
    _summary: Fragment | None = None

    def summary(self) -> dict[str, Any] | None:
        """Read its part of the manifest without ranges; None after an error."""
        if self._fragments is None or self._summary is None:
            return None
        found: dict[str, Any] = json.loads("".join(self._fragments.read(self._summary)))
        return found


def salvage_partition(job: Job, copies: Sequence[PartitionCopy]) -> DonePartition:
    """Salvage one partition.

    Raises:
        OutputError: the disk is full, or fails.
        OptionError: the copies are of two topics with one name.
        KafkaFormatError: a source cannot be opened, or was another one at each of three attempts. Nothing of
            the partition is left then.
    """
    return repeated(lambda: _attempt(job, copies))


def repeated(attempt: Callable[[], _Result]) -> _Result:
    """Return the result of an attempt, of which there are more where a source cannot be read as before.

    What was read once may be unreadable the next time, as on a failing disk: then everything is read again,
    and that place counts as unreadable from the beginning.

    Raises:
        ReadError: it was another one at each of three attempts.
    """
    for _ in range(_NUM_ATTEMPTS - 1):
        with suppress(ReadError):
            return attempt()
    return attempt()


def _attempt(job: Job, copies: Sequence[PartitionCopy]) -> DonePartition:
    name = f"{copies[0].topic}-{copies[0].partition}"
    path = "" if job.directory is None else os.path.join(job.directory, f".{name}.ledger")
    try:
        with closing(Ledger(path)) as ledger:
            plan = make_plan(job.places, copies, ledger=ledger, digests=job.digests, progress=job.progress)
            with closing(plan.files):
                return _done(job, plan)
    except BaseException:
        if job.directory is not None:
            for folder in ("log", "quarantine"):
                discard_directory(os.path.join(job.directory, folder, name))
        raise
    finally:
        if path:
            _remove(path)


def _remove(path: str) -> None:
    """Remove a ledger, which is not to be part of the result.

    Raises:
        OutputError: the disk fails.
    """
    try:
        os.unlink(path)
    except OSError as error:
        detail = f"a temporary file cannot be removed: {error.strerror or error}"
        raise OutputError(detail, path=path, errno=error.errno) from error


def _done(job: Job, plan: PartitionPlan) -> DonePartition:
    state = seeded_state(job.places, plan)
    beside: dict[str, bytes] = {}
    if plan.topic == METADATA_TOPIC:
        beside, wrong = metadata_files(job.places, [one.copy for one in plan.ranked.copies])
        plan.notes += wrong
    if job.directory is None:
        segments = _planned_segments(plan)
        follow_only(state, plan.files, plan.ledger.pieces(), plan.gaps())
        epochs_of(plan, state)  # for its note
    else:
        segments = _write(job, plan, state, beside)
    outcome = PartitionOutcome(plan, segments, state, job.retention_ms, job.now_ms)
    text = job.fragments.add(outcome.text())
    summary = job.fragments.add([json.dumps(outcome.summary())])
    cleaned = plan.ranked.log.cleaned_up_to
    return DonePartition(
        plan.topic,
        plan.partition,
        text,
        (plan.start_offset, plan.end_offset),
        None if cleaned is None else max(plan.start_offset, min(cleaned, plan.end_offset)),
        outcome.has_findings(),
        _fragments=job.fragments,
        _summary=summary,
    )


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


def _write(
    job: Job, plan: PartitionPlan, state: LogState, beside: Mapping[str, bytes]
) -> list[WrittenSegment]:
    assert job.directory is not None  # no dry run
    name = f"{plan.topic}-{plan.partition}"
    places = [os.path.join(one, "log", name) for one in (job.directory, job.named)]
    make_directories(places[0])
    with closing(
        PartitionSink(
            *places,
            state=state,
            files=plan.files,
            digests=job.digests,
            known=plan.digests,
            progress=job.progress,
        )
    ) as sink:
        segments = list(sink.write(plan.ledger.pieces(), plan.gaps()))
        segments += [sink.write_empty(base) for base in plan.empty_segments]
        segments.sort(key=lambda one: one.base_offset)
        sink.write_small_files(plan.end_offset, epochs_of(plan, state), plan.ranked.log.topic_id)
    for file, content in beside.items():
        write_beside(places[0], places[1], file, content, syncs=False)
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
    if snapshot.size > _LARGEST_SNAPSHOT:
        what = f"{snapshot.path}: {snapshot.size} bytes exceed what is read of a snapshot"
        plan.notes.append(f"{what}; the producers before the first batch are not known")
        return state
    try:
        state.seed(read_producer_snapshot(open_file(places, snapshot)))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        plan.notes.append(f"{error}; the producers before the first batch are not known")
    return state


def epochs_of(plan: PartitionPlan, state: LogState) -> list[LeaderEpoch]:
    """Return the leader epochs of the result: of its copies' checkpoints, then of later batches.

    Checkpoints that batches contradict are left aside, which becomes a note of the plan.
    """
    lineage = Lineage.of(plan.ranked.log.leader_epochs, plan.end_offset)
    wrong = state.epochs.settle(lineage)
    plan.notes += [
        f"the batches that begin with offsets {one.first} to {one.last} have leader epoch {one.epoch}, "
        "which their neighbours or leader-epoch-checkpoint contradict; no checksum covers it, so it is "
        "ignored, but followers may refuse them"
        for one in wrong[:_MAX_NAMED]
    ]
    if len(wrong) > _MAX_NAMED:
        plan.notes.append(f"and {len(wrong) - _MAX_NAMED} more such runs of batches")
    if state.epochs.contradict(lineage):
        plan.notes.append(
            "leader-epoch-checkpoint has other epochs than the batches, and was rebuilt from them"
        )
        lineage = Lineage((), plan.end_offset)
    found = [*lineage.entries, *state.epochs.after(lineage)]
    begun = [one for one in found if one.start_offset <= plan.start_offset]
    later = [one for one in found if one.start_offset > plan.start_offset]
    # The first entry moves with the log's start (LeaderEpochFileCache.truncateFromStart).
    return [LeaderEpoch(begun[-1].epoch, plan.start_offset), *later] if begun else later
