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
from kafka_segments.core.io.outputs import discard_directory, make_directories, output_errors
from kafka_segments.core.segment.beside.index_files import read_producer_snapshot
from kafka_segments.core.segment.transactions.log_state import LogState
from kafka_segments.errors import KafkaFormatError, ReadError, raise_unless_file_at_fault
from kafka_segments.log.lineage import Lineage
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import open_file
from kafka_segments.salvage.batch_epochs import believed_epochs
from kafka_segments.salvage.ledger import Ledger
from kafka_segments.salvage.log_directory import metadata_files
from kafka_segments.salvage.manifest import Fragment, Fragments, PartitionOutcome
from kafka_segments.salvage.partition_plan import PartitionPlan, make_plan
from kafka_segments.salvage.partition_sink import PartitionSink, WrittenSegment, write_quarantine
from kafka_segments.salvage.source_files import Digests
from kafka_segments.write.log_writer import LogWriter

__all__ = ["DonePartition", "SalvageRun", "new_state", "repeated", "salvage_partition", "write_state"]

_Result = TypeVar("_Result")
_NUM_ATTEMPTS = 3
_MAX_PRODUCERS = 20_000  # of a snapshot; building it takes some KiB for each
_MAX_OPEN = 10_000  # producers with an open transaction, which take a KiB each
_LARGEST_SNAPSHOT = 2 << 20  # bytes that are read: of some ten thousand producers


@dataclass(frozen=True)
class SalvageRun:
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
        text: its part of the manifest, from its summary on.
        bounds: log start and log end offset; None after an error.
        cleaned_up_to: how far the log cleaner has come, for its checkpoint; None if no copy has one.
        has_findings: whether anything was lost or put aside.
        error: why there is no result.
    """

    topic: str
    partition: int
    text: tuple[Fragment, ...]
    bounds: tuple[int, int] | None = None
    cleaned_up_to: int | None = None
    has_findings: bool = False
    error: KafkaFormatError | None = None
    _fragments: Fragments | None = None

    def summary(self) -> dict[str, Any] | None:
        """Read its part of the manifest without ranges; None after an error."""
        if self._fragments is None:
            return None
        found: dict[str, Any] = json.loads("".join(self._fragments.read(self.text[0])) + "]}")
        del found["files"]
        return found


def salvage_partition(run: SalvageRun, copies: Sequence[PartitionCopy]) -> DonePartition:
    """Salvage one partition.

    Raises:
        OutputError: the disk is full, or fails.
        OptionError: the copies are of two topics with one name.
        KafkaFormatError: a source cannot be opened, or was another one at each of three attempts. Nothing of
            the partition is left then.
    """
    return repeated(lambda: _attempt(run, copies))


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


def _attempt(run: SalvageRun, copies: Sequence[PartitionCopy]) -> DonePartition:
    name = f"{copies[0].topic}-{copies[0].partition}"
    path = "" if run.directory is None else os.path.join(run.directory, f".{name}.ledger")
    try:
        with closing(Ledger(path)) as ledger:
            plan = make_plan(run.places, copies, ledger=ledger, progress=run.progress)
            with closing(plan.files):
                return _done(run, plan)
    except BaseException:
        if run.directory is not None:
            for folder in ("log", "quarantine"):
                discard_directory(os.path.join(run.directory, folder, name))
        raise
    finally:
        if path:
            with output_errors(path):
                os.unlink(path)  # it is not to be part of the result


def _done(run: SalvageRun, plan: PartitionPlan) -> DonePartition:
    state = _seeded_state(run.places, plan)
    beside: dict[str, bytes] = {}
    if plan.topic == METADATA_TOPIC:
        beside, wrong = metadata_files(run.places, [one.copy for one in plan.ranked.copies])
        plan.notes += wrong
    segments = _write(run, plan, state, beside)
    outcome = PartitionOutcome(plan, segments, state, run.retention_ms, run.now_ms)
    text = run.fragments.add([outcome.head()]), run.fragments.add(outcome.files())
    cleaned = plan.ranked.log.cleaned_up_to
    return DonePartition(
        plan.topic,
        plan.partition,
        text,
        (plan.start_offset, plan.end_offset),
        None if cleaned is None else max(plan.start_offset, min(cleaned, plan.end_offset)),
        outcome.has_findings(),
        _fragments=run.fragments,
    )


def _write(
    run: SalvageRun, plan: PartitionPlan, state: LogState, beside: Mapping[str, bytes]
) -> list[WrittenSegment]:
    """Write the result, or find out what a dry run would write."""
    name, writer = f"{plan.topic}-{plan.partition}", None
    kinds = ("log", "quarantine")
    places = [[os.path.join(one or "", kind, name) for one in (run.directory, run.named)] for kind in kinds]
    if run.directory is not None:
        make_directories(places[0][0])
        writer = LogWriter(*places[0], syncs=False)  # the whole directory is synced at the end
    with closing(PartitionSink(state, plan.files, writer, run.digests, plan.digests, run.progress)) as sink:
        segments = list(sink.write(plan.ledger.pieces(), plan.gaps()))
        segments += [sink.write_empty(base) for base in plan.empty_segments]
        segments.sort(key=lambda one: one.base_offset)
        write_state(plan, state, writer)
    plan.hash_files(run.digests)
    if writer is not None:
        for file, content in beside.items():
            writer.write_file(file, content)
        write_quarantine(plan.files, plan.ledger, run.progress, *places[1])
    return segments


def write_state(plan: PartitionPlan, state: LogState, writer: LogWriter | None) -> None:
    """Write what is beside the segments of a result; without a writer, only note what is wrong with it."""
    lineage = Lineage.of(plan.ranked.log.leader_epochs, plan.end_offset)
    epochs, notes = believed_epochs(lineage, state.epochs, plan.start_offset)
    plan.notes += notes
    if writer is not None:
        writer.write_state(
            end_offset=plan.end_offset,
            producers=state.snapshot(),
            epochs=[(one.epoch, one.start_offset) for one in epochs],
            topic_id=plan.ranked.log.topic_id,
        )


def new_state(plan: PartitionPlan) -> LogState:
    """Return the state of a log that begins where the result does."""
    return LogState(plan.start_offset, most_producers=_MAX_PRODUCERS, most_open=_MAX_OPEN)


def _seeded_state(places: Places, plan: PartitionPlan) -> LogState:
    """Return the state before the first batch: that of the snapshot at the log's start, if there is one."""
    state = new_state(plan)
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
