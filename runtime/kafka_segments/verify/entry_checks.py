"""Checks of batches and messages by their headers, in the order of the log.

Strategy: each entry is checked by itself and against the one before it. Tables of entries are first looked at
as a whole (`table_checks`); only where something may be wrong, they are gone through entry by entry, so that
these checks are the only definition of what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import METADATA_TOPIC
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.verified.verified_entries import VerifiedEntry
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
        self.previous: int | None = None  # last offset of the entry before
        self.reached = -1  # the highest offset of all segments so far
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.cleaned: set[str] = set()
        self._after_gap: tuple[str, int] | None = None  # the entry that made a segment one of `cleaned`
        self._is_after_damage = False
        self._epoch_ranges = _ranges(limits.leader_epochs)
        self._reported_epochs: dict[int, tuple[str, VerifiedEntry, str]] = {}
        self._has_old_messages = False

    def begin_segment(self, path: str) -> None:
        """Begin the next segment."""
        self.path, self._is_after_damage = path, False
        self.previous = self.first_offset = self.last_offset = None
        self.totals.num_segments += 1

    def damaged(self) -> None:
        """Note damage before the next entry."""
        self._is_after_damage = True
        self.producers.lost()

    def entry(self, entry: VerifiedEntry) -> None:
        """Check the next entry."""
        self._order(entry)
        self._records(entry)
        size = entry.end_position - entry.position
        limit = self.limits.max_batch_bytes
        if limit is not None and size > limit:
            self._found("batch-size", f"{size} bytes, but --max-batch-bytes is {limit}", entry)
        self._leader_epoch(entry)
        if entry.producer_id >= 0:
            self.has_transactions |= entry.is_transactional or entry.is_control
            self.producers.batch(entry, self.path)
        elif entry.is_control and self._sink.topic not in ("", METADATA_TOPIC):
            self._found("marker", "a control batch without a producer: consumers skip what is in it", entry)
        self._count(entry)

    def _count(self, entry: VerifiedEntry) -> None:
        self.previous = entry.last_offset
        self.first_offset = min(
            entry.first_offset, entry.first_offset if self.first_offset is None else self.first_offset
        )
        self.last_offset = max(
            entry.last_offset, entry.last_offset if self.last_offset is None else self.last_offset
        )
        self.reached = max(self.reached, entry.last_offset)
        if entry.is_append_time or (entry.is_control and entry.num_records):
            self.broker_timestamp = max(self.broker_timestamp, entry.max_timestamp)
            self.producers.note_time(entry.max_timestamp)
        else:
            self.greatest_timestamp = max(self.greatest_timestamp, entry.max_timestamp)
        self.totals.num_batches += 1
        self.totals.num_records += entry.num_data_records

    def _order(self, entry: VerifiedEntry) -> None:
        """Check an entry's offsets against those before it."""
        if self.previous is None:
            missing = entry.first_offset - self.reached - 1 if self.reached >= 0 else 0
            if missing:
                self.producers.lost()
            if missing < 0:
                self.leader_epoch = -1  # segments out of order: that is reported elsewhere
        elif entry.first_offset <= self.previous:
            before = f"the one before it ends with {self.previous}"
            self._found(
                "offset-order", f"a batch begins with offset {entry.first_offset}, and {before}", entry
            )
            self.producers.lost()
            if self._after_gap == (self.path, self.previous):  # a base offset was changed: no cleaner's work
                self.cleaned.discard(self.path)
        elif entry.first_offset > self.previous + 1 and self.limits.never_cleaned:
            if not self._is_after_damage:
                self._missing(self.previous + 1, entry)
        elif entry.first_offset > self.previous + 1 and not self._is_after_damage:
            if self.path not in self.cleaned:
                self._after_gap = self.path, entry.last_offset
            self.cleaned.add(self.path)
            self.producers.missing(entry.first_offset - self.previous - 1)
        count = entry.num_records
        self._is_after_damage = False
        if count is not None:
            room = entry.last_offset - entry.first_offset + 1
            if count > room and entry.magic >= 2:
                detail = f"{count} records, but offsets {entry.first_offset} to {entry.last_offset} for them"
                self._found("last-offset", detail, entry)
            elif count < room:
                self.cleaned.add(self.path)
                self._after_gap = None

    def _missing(self, first: int, entry: VerifiedEntry) -> None:
        """Report offsets that are missing before an entry, and that no cleaner has removed."""
        last = entry.first_offset - 1
        detail = f"offsets {first} to {last} are missing before this batch, and cleaner-offset-checkpoint "
        detail += "does not name the partition: no cleaner has removed them"
        place = {"path": self.path, "position": entry.position}
        self._sink.add("missing-offsets", detail, first_offset=first, last_offset=last, **place)
        self.producers.missing(last - first + 1)

    def _records(self, entry: VerifiedEntry) -> None:
        """Check what the records showed against the header."""
        if not entry.has_ordered_records:
            detail = (
                f"the offsets of the records do not increase from {entry.first_offset} to {entry.last_offset}"
            )
            self._found("record-offsets", detail, entry)
        greatest = entry.greatest_timestamp
        if greatest is None or entry.magic < 1 or entry.is_control:
            return
        # A broker begins with -1 for the greatest (LogValidator), whatever less the records have.
        is_right = greatest <= entry.max_timestamp
        if entry.is_whole and entry.magic >= 2:
            is_right = max(greatest, _NO_TIMESTAMP) == entry.max_timestamp
        if not is_right:
            detail = f"{entry.max_timestamp} in the header, but the greatest of the records is {greatest}"
            self._found("max-timestamp", detail, entry)

    def _leader_epoch(self, entry: VerifiedEntry) -> None:
        epoch = entry.leader_epoch
        self._has_old_messages |= entry.magic < 2
        if entry.magic < 2 or epoch < 0:
            return
        if epoch < self.leader_epoch:
            self._found("leader-epoch-order", f"leader epoch {epoch}, after {self.leader_epoch}", entry)
        self.leader_epoch = epoch
        detail = self._contradiction(epoch, entry)
        if detail is not None and epoch not in self._reported_epochs:
            self._reported_epochs[epoch] = (self.path, entry, detail)

    def end(self) -> None:
        """Report what only the whole log shows.

        A broker whose messages get an older format clears the checkpoint of leader epochs, and starts again.
        """
        first = min(self._epoch_ranges, default=-1)
        for epoch, (path, entry, detail) in self._reported_epochs.items():
            if not (self._has_old_messages and epoch <= first):
                self.path = path
                self._found("leader-epoch", detail, entry)

    def _contradiction(self, epoch: int, entry: VerifiedEntry) -> str | None:
        """Return how a batch contradicts the checkpoint of leader epochs; None if it does not."""
        if self.is_right_epoch(epoch, entry.first_offset, entry.last_offset):
            return None
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

    def _found(self, check: str, detail: str, entry: VerifiedEntry) -> None:
        place = {"path": self.path, "position": entry.position, "end_position": entry.end_position}
        self._sink.add(check, detail, first_offset=entry.first_offset, last_offset=entry.last_offset, **place)


def _ranges(epochs: Sequence[LeaderEpoch]) -> dict[int, tuple[int, int | None]]:
    """Return the first offset of each epoch, and the offset after its last one."""
    ends = [*(one.start_offset for one in epochs[1:]), None]
    return {one.epoch: (one.start_offset, end) for one, end in zip(epochs, ends[: len(epochs)], strict=True)}
