"""Checks of batches and messages by their headers, in the order of the log.

Strategy: entries come as runs (`core.segment.verified.sound_runs`), which can be wrong only where they begin.
An entry that may be wrong by itself is a run of its own, with flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import METADATA_TOPIC
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.verified.run_folding import (
    ALONE,
    APPEND_TIME,
    DISORDERED,
    LARGE,
    MANY,
    TIME,
)
from kafka_segments.core.segment.verified.sound_runs import RunFolder, SoundRun
from kafka_segments.core.segment.verified.verified_entries import GREATEST, VerifiedTable
from kafka_segments.verify.producer_checks import ProducerChecks
from kafka_segments.verify.sink import CheckSink

__all__ = ["EntryChecks", "EntryLimits", "LogTotals"]

_NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class EntryLimits:
    """What the checks of entries are given.

    Attributes:
        max_batch_bytes: the largest size of a batch; None for any.
        leader_epochs: of the checkpoint; empty if there is none.
        is_live: a broker may be appending.
        log_start_offset: records below it are deleted.
        never_cleaned: the log cleaner has never been in the log, so that it lacks no offsets.
    """

    max_batch_bytes: int | None = None
    leader_epochs: tuple[LeaderEpoch, ...] = ()
    is_live: bool = False
    log_start_offset: int = 0
    never_cleaned: bool = False


@dataclass(slots=True)
class LogTotals:
    """What was read.

    Attributes:
        num_segments: segments.
        num_batches: batches, and messages or wrappers of the old formats.
        num_records: data records.
        num_bytes: bytes of segments.
    """

    num_segments: int = 0
    num_batches: int = 0
    num_records: int = 0
    num_bytes: int = 0

    def add(self, other: LogTotals) -> None:
        """Add other totals."""
        self.num_segments += other.num_segments
        self.num_batches += other.num_batches
        self.num_records += other.num_records
        self.num_bytes += other.num_bytes


class EntryChecks:
    """Checks of the entries of a partition.

    Args:
        sink: collects the findings.
        producers: checks the batches of producers.
        limits: see `EntryLimits`.

    Attributes:
        totals: what was read so far.
        greatest_timestamp: of all headers with timestamps of clients so far; -1 for none.
        broker_timestamp: the last one that a broker has set: of a marker, or LogAppendTime; -1 for none.
        has_transactions: whether there was a batch or marker of a transaction.
        first_offset: the lowest in the current segment; None if it has no entry so far.
        last_offset: the highest there.
        cleaned: paths of segments where offsets are missing between or inside entries.
    """

    def __init__(self, sink: CheckSink, producers: ProducerChecks, limits: EntryLimits) -> None:
        self._sink, self.producers, self.limits = sink, producers, limits
        self.totals = LogTotals()
        self.greatest_timestamp = self.broker_timestamp = _NO_TIMESTAMP
        self.has_transactions = False
        self.leader_epoch = -1
        self.path = ""
        self.reached = -1  # the highest offset of all segments so far
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.cleaned: set[str] = set()
        self._after_gap: tuple[str, int] | None = None  # the entry that made a segment one of `cleaned`
        self._is_after_damage = False
        self._epoch_ranges = _ranges(limits.leader_epochs)
        self._reported_epochs: dict[int, tuple[str, SoundRun, str]] = {}
        self._has_old_messages = False
        self._folder = RunFolder(producers.known, limits.max_batch_bytes)

    def begin_segment(self, path: str) -> None:
        """Begin the next segment."""
        self.path, self._is_after_damage = path, False
        self._folder.previous = self.first_offset = self.last_offset = None
        self.totals.num_segments += 1

    def damaged(self) -> None:
        """Note damage before the next entry."""
        self._is_after_damage = True
        self.producers.lost()

    def table(self, table: VerifiedTable) -> None:
        """Check the next entries."""
        before = self._folder.previous
        self._note_producers()
        for run in self._folder.runs(table):
            self._order(run, before)
            self._records(run)
            self._leader_epoch(run)
            self._producer(run)
            self._count(run)
            before = run.last
            self._note_producers()

    def _note_producers(self) -> None:
        self._folder.num_missing = self.producers.num_missing
        self._folder.has_open = bool(self.producers.open)

    def _count(self, run: SoundRun) -> None:
        self.first_offset = run.first if self.first_offset is None else min(run.first, self.first_offset)
        self.last_offset = run.last if self.last_offset is None else max(run.last, self.last_offset)
        self.reached = max(self.reached, run.last)
        is_marker = run.flags & ALONE and run.has("is_control") and run.value("num_records")
        if run.flags & APPEND_TIME or is_marker:
            self.broker_timestamp = max(self.broker_timestamp, run.newest)
            self.producers.note_time(run.value("max_timestamp"))
        else:
            self.greatest_timestamp = max(self.greatest_timestamp, run.newest)
        self.totals.num_batches += run.num_batches
        self.totals.num_records += run.num_data_records

    def _producer(self, run: SoundRun) -> None:
        """Check a batch that does not just continue its producer's last one."""
        if not run.flags & ALONE or run.magic < 2:
            return
        if run.value("producer_id") >= 0:
            self.has_transactions |= run.has("is_transactional") or run.has("is_control")
            self.producers.batch(run, self.path)
        elif run.has("is_control") and self._sink.topic not in ("", METADATA_TOPIC):
            self._found("marker", "a control batch without a producer: consumers skip what is in it", run)

    def _order(self, run: SoundRun, previous: int | None) -> None:
        """Check a run's offsets against those before it."""
        if previous is None:
            missing = run.first - self.reached - 1 if self.reached >= 0 else 0
            if missing:
                self.producers.lost()
            if missing < 0:
                self.leader_epoch = -1  # segments out of order: that is reported elsewhere
        elif run.first <= previous:
            before = f"the one before it ends with {previous}"
            self._found("offset-order", f"a batch begins with offset {run.first}, and {before}", run)
            self.producers.lost()
            if self._after_gap == (self.path, previous):  # a base offset was changed: no cleaner's work
                self.cleaned.discard(self.path)
        elif run.first > previous + 1 and self.limits.never_cleaned:
            if not self._is_after_damage:
                self._missing(previous + 1, run)
        elif run.first > previous + 1 and not self._is_after_damage:
            if self.path not in self.cleaned:
                self._after_gap = self.path, run.last
            self.cleaned.add(self.path)
            self.producers.missing(run.first - previous - 1)
        self._is_after_damage = False
        if run.flags & MANY:
            count = run.value("num_records")
            self._found(
                "last-offset", f"{count} records, but offsets {run.first} to {run.last} for them", run
            )
        elif run.num_lacking:
            self.cleaned.add(self.path)
            self._after_gap = None

    def _missing(self, first: int, run: SoundRun) -> None:
        """Report offsets that are missing before a run, and that no cleaner has removed."""
        last = run.first - 1
        detail = f"offsets {first} to {last} are missing before this batch, and cleaner-offset-checkpoint "
        detail += "does not name the partition: no cleaner has removed them"
        place = {"path": self.path, "position": run.position}
        self._sink.add("missing-offsets", detail, first_offset=first, last_offset=last, **place)
        self.producers.missing(last - first + 1)

    def _records(self, run: SoundRun) -> None:
        """Check what the records showed against the header, and the size."""
        if run.flags & DISORDERED:
            detail = f"the offsets of the records do not increase from {run.first} to {run.last}"
            self._found("record-offsets", detail, run)
        if run.flags & TIME:
            greatest = run.fact(GREATEST)
            detail = f"{run.newest} in the header, but the greatest of the records is {greatest}"
            self._found("max-timestamp", detail, run)
        if run.flags & LARGE:
            size = run.end_position - run.position
            self._found(
                "batch-size", f"{size} bytes, but --max-batch-bytes is {self.limits.max_batch_bytes}", run
            )

    def _leader_epoch(self, run: SoundRun) -> None:
        epoch = run.epoch
        self._has_old_messages |= run.magic < 2
        if epoch < 0:
            return
        if epoch < self.leader_epoch:
            detail = f"leader epoch {epoch}, after {self.leader_epoch}"
            self._found("leader-epoch-order", detail, next(run.batches()))
        self.leader_epoch = epoch
        if epoch in self._reported_epochs or self.is_right_epoch(epoch, run.first, run.last):
            return
        wrong = next(
            (one for one in run.batches() if not self.is_right_epoch(epoch, one.first, one.last)), None
        )
        if wrong is not None:
            self._reported_epochs[epoch] = self.path, wrong, self._contradiction(epoch)

    def end(self) -> None:
        """Report what only the whole log shows.

        A broker whose messages get an older format clears the checkpoint of leader epochs, and starts again.
        """
        first = min(self._epoch_ranges, default=-1)
        for epoch, (path, run, detail) in self._reported_epochs.items():
            if not (self._has_old_messages and epoch <= first):
                self.path = path
                self._found("leader-epoch", detail, run)

    def _contradiction(self, epoch: int) -> str:
        """Return how batches with a leader epoch contradict the checkpoint."""
        found = self._epoch_ranges.get(epoch)
        if found is None:
            return f"leader-epoch-checkpoint has no epoch {epoch}"
        until = "on" if found[1] is None else f"to {found[1] - 1}"
        return f"leader epoch {epoch}, which leader-epoch-checkpoint has from offset {found[0]} {until}"

    def is_right_epoch(self, epoch: int, first_offset: int, last_offset: int) -> bool:
        """Return whether batches with these offsets may have a leader epoch, by the checkpoint."""
        if not self._epoch_ranges or last_offset < self.limits.log_start_offset:
            return True
        if epoch not in self._epoch_ranges:
            return self.limits.is_live and epoch > max(self._epoch_ranges)
        start, end = self._epoch_ranges[epoch]
        # What is below the log start offset is cut away in the checkpoint (truncateFromStart).
        is_cut = epoch == min(self._epoch_ranges) and start <= self.limits.log_start_offset
        return (is_cut or start <= first_offset) and (end is None or last_offset < end)

    def _found(self, check: str, detail: str, run: SoundRun) -> None:
        place = {"path": self.path, "position": run.position, "end_position": run.end_position}
        self._sink.add(check, detail, first_offset=run.first, last_offset=run.last, **place)


def _ranges(epochs: Sequence[LeaderEpoch]) -> dict[int, tuple[int, int | None]]:
    """Return the first offset of each epoch, and the offset after its last one."""
    ends = [*(one.start_offset for one in epochs[1:]), None]
    return {one.epoch: (one.start_offset, end) for one, end in zip(epochs, ends[: len(epochs)], strict=True)}
