"""Reports of `ingest` for each partition: made by the tasks, and sent in commit messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from kafka_segments.errors import MissingCodecError
from kafka_segments.formats.entries import Damage, SoundBatches
from kafka_segments.log.model import OffsetLoss
from kafka_segments.query.read.findings import Note, describe

__all__ = [
    "DAMAGE",
    "LEFT_OUT",
    "MISSING",
    "MISSING_CODEC",
    "NOTE",
    "NOT_OPENED",
    "PENDING",
    "REMARK",
    "Counts",
    "PartitionReport",
    "ReportedFinding",
    "merge",
]

DAMAGE = "damage"
LEFT_OUT = "left out"
"""Records, or a file beside the segments, that are there and were not used."""
MISSING = "missing"
"""Offsets that no file holds, and no retention or cleaning accounts for."""
MISSING_CODEC = "missing codec"
NOTE = "note"
"""A file that is not where, or not what, its name says; what it holds was written."""
NOT_OPENED = "not opened"
PENDING = "pending"
"""A last batch that a running broker has not finished."""
REMARK = "remark"
"""Worth knowing; nothing is wrong."""

_DAMAGED = (DAMAGE, MISSING_CODEC, NOT_OPENED)


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding: one of the kinds above, and a line of text."""

    kind: str
    message: str


@dataclass(slots=True)
class PartitionReport:
    """Counts of one partition.

    `batches` and `bytes_in` count the sound batches read, those without data records too; `records` the rows
    written, with their first and last offset; `bytes_out` the Parquet files; `missing` the offsets that are
    not there.
    """

    topic: str
    partition: int
    batches: int = 0
    records: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    findings: list[ReportedFinding] = field(default_factory=list)
    missing: int = 0

    @property
    def num_damaged(self) -> int:
        """Number of damaged places; a batch that is still being written does not count."""
        return sum(finding.kind in _DAMAGED for finding in self.findings)

    def tell(self, kind: str, message: str) -> None:
        """Add a finding."""
        self.findings.append(ReportedFinding(kind, message))

    def lose(self, loss: OffsetLoss) -> None:
        """Count missing offsets, and report them."""
        self.missing += loss.last_offset - loss.first_offset + 1
        self.tell(MISSING, f"offsets {loss.first_offset} to {loss.last_offset} are missing: {loss.why}")

    def add_records(self, num_records: int, first_offset: int, last_offset: int) -> None:
        """Count records: how many, and their lowest and highest offset."""
        self.records += num_records
        self.first_offset = min(
            first_offset, first_offset if self.first_offset is None else self.first_offset
        )
        self.last_offset = max(last_offset, last_offset if self.last_offset is None else self.last_offset)

    def add(self, other: PartitionReport) -> None:
        """Take in what another task found in this partition."""
        self.batches += other.batches
        self.records += other.records
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        offsets = [self.first_offset, other.first_offset, self.last_offset, other.last_offset]
        known = [offset for offset in offsets if offset is not None]
        self.first_offset, self.last_offset = (min(known), max(known)) if known else (None, None)
        self.findings.extend(other.findings)
        self.missing += other.missing

    def to_json(self) -> str:
        """One line; `from_json` reads it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> PartitionReport:
        """The report in a line of `to_json`."""
        values = json.loads(line)
        values["findings"] = [ReportedFinding(**finding) for finding in values["findings"]]
        return cls(**values)


def merge(reports: Iterable[PartitionReport]) -> list[PartitionReport]:
    """One report for each partition, by topic and number. Those given are left as they are."""
    merged: dict[tuple[str, int], PartitionReport] = {}
    for report in reports:
        key = (report.topic, report.partition)
        merged.setdefault(key, PartitionReport(*key)).add(report)
    return [merged[key] for key in sorted(merged)]


class Counts:
    """Counter of a segment's content for its partition's report.

    Args:
        partition: the report.
        is_live: a broker holds the log directory open, and may be writing the last batch.
    """

    def __init__(self, partition: PartitionReport, is_live: bool) -> None:
        self._partition = partition
        self._is_live = is_live
        self._num_sound = 0
        self._num_damaged = 0

    def batches(self, batches: SoundBatches) -> None:
        """Count sound batches."""
        self._num_sound += batches.num_batches
        self._partition.batches += batches.num_batches
        self._partition.bytes_in += batches.num_bytes

    def damage(self, damage: Damage) -> None:
        """Report damage, or a package that is not installed."""
        self._num_damaged += 1
        kind = MISSING_CODEC if isinstance(damage.error, MissingCodecError) else DAMAGE
        self._partition.tell(kind, describe(damage))

    def pending(self, damage: Damage) -> None:
        """Report an incomplete last batch: damage, unless a broker is there to finish it."""
        if not self._is_live:
            self.damage(damage)
            return
        size = damage.end_position - damage.position
        where = f"{damage.path}, position {damage.position} to {damage.end_position}"
        self._partition.tell(
            PENDING, f"{where}: the last batch is not whole yet ({size} bytes); read again later"
        )

    def lost(self, loss: OffsetLoss) -> None:
        """Count offsets that are not there."""
        self._partition.lose(loss)

    def note(self, note: Note) -> None:
        """Report a file that was moved or replaced, and records that were left out."""
        self._partition.tell(NOTE, str(note))

    def end_segment(self, path: str) -> None:
        """Say of a file in which nothing was sound what that means."""
        if self._num_damaged and not self._num_sound:
            self._partition.tell(NOTE, f"{path} does not look like a Kafka segment: nothing in it is sound")
