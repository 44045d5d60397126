"""What `ingest` found in each partition: counted by the tasks that wrote it, sent in commit messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from kafka_segments.catalog.model import Loss
from kafka_segments.entries import Damage, SoundBatches
from kafka_segments.errors import MissingCodecError
from kafka_segments.ranges.findings import Note, describe

__all__ = [
    "DAMAGE",
    "MISSING_CODEC",
    "NOT_OPENED",
    "PENDING",
    "Counts",
    "Finding",
    "PartitionReport",
    "merge",
]

DAMAGE = "damage"
MISSING_CODEC = "missing codec"
NOT_OPENED = "not opened"
PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that people must be told: one of the kinds above, and a line that says it all."""

    kind: str
    message: str


@dataclass(slots=True)
class PartitionReport:
    """Counts of one partition.

    `batches` and `bytes_in` count the sound batches read, those without data records too; `records` the rows
    written, with their first and last offset; `bytes_out` the Parquet files.
    """

    topic: str
    partition: int
    batches: int = 0
    records: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def num_damaged(self) -> int:
        """Places that could not be read as they should; a batch that is still being written is none."""
        return sum(finding.kind != PENDING for finding in self.findings)

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

    def to_json(self) -> str:
        """One line; `from_json` reads it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> PartitionReport:
        """The report in a line of `to_json`."""
        values = json.loads(line)
        values["findings"] = [Finding(**finding) for finding in values["findings"]]
        return cls(**values)


def merge(reports: Iterable[PartitionReport]) -> list[PartitionReport]:
    """One report for each partition, by topic and number. Those given are left as they are."""
    merged: dict[tuple[str, int], PartitionReport] = {}
    for report in reports:
        key = (report.topic, report.partition)
        merged.setdefault(key, PartitionReport(*key)).add(report)
    return [merged[key] for key in sorted(merged)]


class Counts:
    """Counts what a segment holds into its partition's report (`ranges.Findings`)."""

    def __init__(self, partition: PartitionReport) -> None:
        self._partition = partition
        self._num_sound = 0
        self._num_damaged = 0

    def batches(self, batches: SoundBatches) -> None:
        """Sound batches."""
        self._num_sound += batches.num_batches
        self._partition.batches += batches.num_batches
        self._partition.bytes_in += batches.num_bytes

    def damage(self, damage: Damage) -> None:
        """A damaged region, or one that only needs a package that is not installed."""
        self._num_damaged += 1
        kind = MISSING_CODEC if isinstance(damage.error, MissingCodecError) else DAMAGE
        self._add(kind, describe(damage))

    def pending(self, damage: Damage) -> None:
        """A batch that is not whole yet."""
        size = damage.end_position - damage.position
        where = f"{damage.path}, position {damage.position} to {damage.end_position}"
        self._add(PENDING, f"{where}: the last batch is not whole yet ({size} bytes); read again later")

    def lost(self, loss: Loss) -> None:
        """The segment is gone."""
        self._add(NOT_OPENED, str(loss))

    def note(self, note: Note) -> None:
        """It is somewhere else, or another one now, and was read all the same."""

    def end_segment(self, path: str) -> None:
        """Say of a file in which nothing was sound what that means."""
        if self._num_damaged and not self._num_sound:
            last = self._partition.findings.pop()
            self._add(
                last.kind,
                f"{last.message}; {path} does not look like a Kafka segment: nothing in it is sound",
            )

    def _add(self, kind: str, message: str) -> None:
        self._partition.findings.append(Finding(kind, message))
