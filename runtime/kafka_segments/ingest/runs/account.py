"""Account of a partition's offsets: how many became rows, what became of the others, what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import PartitionNumber, TopicName
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.columnar.entry_counts import EntryMark
from kafka_segments.errors import AccountError, ChecksumMismatchError
from kafka_segments.log.findings import Finding, Kind, merged
from kafka_segments.query.table_words import COUNTS

__all__ = [
    "PLANNED_KINDS",
    "Account",
    "OffsetSpan",
    "PartitionReport",
    "SplitCounts",
    "account_of",
    "crc_failures",
    "lost_spans",
]

OffsetSpan = tuple[int, int]
"""Offsets from the first number on and below the second."""


_DAMAGED = (Kind.DAMAGE, Kind.NOT_OPENED)
PLANNED_KINDS = (Kind.LOST, Kind.DIVERGED, Kind.AFTER_END, Kind.REMARK, Kind.DAMAGE, Kind.UNUSED)
"""Kinds of findings of a plan that people are shown; what they did not ask for is left out."""


@dataclass(slots=True)
class SplitCounts:
    """Counts of the offsets of one split or of several.

    Attributes:
        records: rows.
        control: control records.
        aborted: records of batches that were left out, of aborted and open transactions.
        last: the entry with the highest offset; None without any.
        rows_end: the offset after the highest of the rows; 0 without any.
        batches: see `Account`.
        num_bytes: likewise.
        crc_failures: likewise.
    """

    records: int = 0
    control: int = 0
    aborted: int = 0
    last: EntryMark | None = None
    rows_end: int = 0
    batches: int = 0
    num_bytes: int = 0
    crc_failures: int = 0

    @property
    def end(self) -> int:
        """The offset after the highest of the rows and entries; 0 without any."""
        return min(MAX_LONG, max(self.rows_end, 0 if self.last is None else self.last.last_offset + 1))

    def add(self, other: SplitCounts) -> None:
        """Add the counts of other splits."""
        for name in ("records", "control", "aborted", "batches", "num_bytes", "crc_failures"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rows_end = max(self.rows_end, other.rows_end)
        if other.last is not None and (self.last is None or other.last.last_offset >= self.last.last_offset):
            self.last = other.last


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the offsets of one partition in one run; each is counted once.

    Attributes:
        topic: its name.
        partition: its number.
        first_offset: the first offset of the range.
        end_offset: the offset after its last one.
        records: rows that were written.
        control: control records, which are never written.
        aborted: records of aborted transactions, left out at `read_committed`.
        absent: offsets that the log lawfully does not have: below its start, or removed by compaction.
        lost: offsets in damaged places, or in no file without a lawful reason.
        batches: sound batches that were read.
        num_bytes: of these batches.
        crc_failures: entries whose checksum was wrong.
    """

    topic: TopicName
    partition: PartitionNumber
    first_offset: int
    end_offset: int
    records: int = 0
    control: int = 0
    aborted: int = 0
    absent: int = 0
    lost: int = 0
    batches: int = 0
    num_bytes: int = 0
    crc_failures: int = 0

    @property
    def num_offsets(self) -> int:
        """Offsets of the range."""
        return self.end_offset - self.first_offset

    @property
    def is_balanced(self) -> bool:
        """Whether the parts add up to the range."""
        parts: list[int] = [getattr(self, name) for name in COUNTS]
        return sum(parts) == self.num_offsets and min(parts) >= 0

    def up_to(self, end: int, records: int) -> Account:
        """Return the account of the part below an offset, where so many rows are; no loss is left out."""
        room, parts = end - self.first_offset - records, {}
        for name in ("lost", "control", "aborted"):
            parts[name] = min(room, getattr(self, name))
            room -= parts[name]
        return Account(self.topic, self.partition, self.first_offset, end, records, absent=room, **parts)

    def joined(self, after: Account) -> Account:
        """Return the account of this range and the next one together."""
        names = *COUNTS, "batches", "num_bytes", "crc_failures"
        sums = {name: getattr(self, name) + getattr(after, name) for name in names}
        first = min(self.first_offset, after.first_offset)
        end = max(self.end_offset, after.end_offset)
        return Account(self.topic, self.partition, first, end, **sums)


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What a run did in one partition.

    Attributes:
        account: of its offsets.
        bytes_out: of the files written.
        findings: in the order of the log.
        timestamps_beyond: timestamps that the table's type cannot hold: others were written in their place.
    """

    account: Account
    bytes_out: int = 0
    findings: tuple[Finding, ...] = ()
    timestamps_beyond: int = 0

    @property
    def num_damaged(self) -> int:
        """Number of damaged places; a batch that is still being written does not count."""
        return sum(finding.kind in _DAMAGED for finding in self.findings)

    @property
    def is_idle(self) -> bool:
        """Whether the run took no offset of the partition, and found no damage in it."""
        return not self.account.num_offsets and not self.num_damaged


def account_of(
    key: tuple[str, int], offsets: OffsetSpan, counts: SplitCounts, lost: Iterable[OffsetSpan]
) -> Account:
    """Make the account of a range.

    Args:
        key: topic and partition.
        offsets: the range.
        counts: of what was read.
        lost: where offsets were lost; what is outside the range, or twice, does not count.

    Raises:
        AccountError: more offsets were read than the range has.
    """
    first, end = offsets
    spans = merged((max(first, start), min(end, stop)) for start, stop in lost)
    num_lost = sum(stop - start for start, stop in spans)
    present = counts.records + counts.control + counts.aborted
    absent = end - first - present - num_lost
    if absent < 0:  # damage beside entries that were read: what was read is not lost
        num_lost, absent = num_lost + absent, 0
    if num_lost < 0:
        raise AccountError(
            f"{present} records were read of {key[0]}-{key[1]}, whose offsets {first} to {end - 1} are "
            f"{end - first}: this is a bug in kafka-segments; please report it",
            topic=key[0],
            partition=key[1],
        )
    found = counts.records, counts.control, counts.aborted, absent, num_lost
    return Account(*key, first, end, *found, counts.batches, counts.num_bytes, counts.crc_failures)


def lost_spans(findings: Iterable[Finding], offsets: OffsetSpan) -> list[OffsetSpan]:
    """Return where findings say that offsets were lost; unknown bounds are those of a range.

    Args:
        findings: of the range.
        offsets: the range.
    """
    spans = []
    for one in findings:
        if one.kind is Kind.LOST and one.first_offset is not None:
            last = one.first_offset if one.last_offset is None else one.last_offset
            spans.append((one.first_offset, last + 1))
        elif one.kind is Kind.DAMAGE and one.damage is not None:
            before, following = one.damage.previous_offset, one.damage.next_offset
            start = offsets[0] if before is None else before + 1
            spans.append((start, offsets[1] if following is None else following))
        elif one.kind is Kind.NOT_OPENED:
            spans.append(offsets)
    clipped = ((max(offsets[0], start), min(offsets[1], stop)) for start, stop in spans)
    return merged(clipped)


def crc_failures(findings: Iterable[Finding]) -> int:
    """Count the findings of wrong checksums."""
    return sum(isinstance(one.error, ChecksumMismatchError) for one in findings if one.kind is Kind.DAMAGE)
