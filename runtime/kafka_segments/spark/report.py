"""Reports of `ingest` for each partition: made by the tasks, and sent in commit messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kafka_segments.formats.entries import SoundBatches
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.plan import Plan
from kafka_segments.query.snapshot import decode, encode

__all__ = ["PartitionReport", "SegmentFindings", "merge", "report_plan"]

_DAMAGED = (Kind.DAMAGE, Kind.NOT_OPENED)
_REPORTED = (Kind.LOST, Kind.DIVERGED, Kind.AFTER_END, Kind.REMARK, Kind.DAMAGE, Kind.UNUSED)
"""Kinds of findings of a plan that people are shown; what they did not ask for is none."""


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
    findings: tuple[Finding, ...] = ()
    missing: int = 0

    @property
    def num_damaged(self) -> int:
        """Number of damaged places; a batch that is still being written does not count."""
        return sum(finding.kind in _DAMAGED for finding in self.findings)

    def add_finding(self, finding: Finding) -> None:
        """Take a finding, and count offsets that are not there."""
        self.findings += (finding,)
        if finding.kind is Kind.LOST and finding.first_offset is not None and finding.last_offset is not None:
            self.missing += finding.last_offset - finding.first_offset + 1

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
        self.findings += other.findings
        self.missing += other.missing

    def to_json(self) -> str:
        """One line; `from_json` reads it."""
        return json.dumps(encode(self))

    @classmethod
    def from_json(cls, line: str) -> PartitionReport:
        """The report in a line of `to_json`."""
        report: PartitionReport = decode(cls, json.loads(line))
        return report


def merge(reports: Iterable[PartitionReport]) -> list[PartitionReport]:
    """One report for each partition, by topic and number. Those given are left as they are."""
    merged: dict[tuple[str, int], PartitionReport] = {}
    for report in reports:
        key = (report.topic, report.partition)
        merged.setdefault(key, PartitionReport(*key)).add(report)
    return [merged[key] for key in sorted(merged)]


def report_plan(logs: Sequence[PartitionLog], planned: Plan) -> list[PartitionReport]:
    """A report for each partition, those without a segment to read too, with what planning found.

    Args:
        logs: the partitions that were planned.
        planned: the plan for them.
    """
    reports = {(log.topic, log.partition): PartitionReport(log.topic, log.partition) for log in logs}
    for finding in planned.of(*_REPORTED):
        reports[finding.topic, finding.partition].add_finding(finding)
    return list(reports.values())


class SegmentFindings(Findings):
    """Findings and counts of a segment, which go into its partition's report.

    Args:
        partition: the report.
        is_live: a broker holds the log directory open, and may be writing the last batch.
    """

    def __init__(self, partition: PartitionReport, is_live: bool) -> None:
        super().__init__()
        self._partition, self._is_live = partition, is_live

    def count(self, batches: SoundBatches) -> None:
        super().count(batches)
        self._partition.batches += batches.num_batches
        self._partition.bytes_in += batches.num_bytes

    def add(self, finding: Finding) -> None:
        """Take a finding; an incomplete last batch is damage unless a broker is there to finish it."""
        if finding.kind is Kind.PENDING and not self._is_live:
            finding = replace(finding, kind=Kind.DAMAGE)
        super().add(finding)
        self._partition.add_finding(finding)

    def end_segment(self, path: str) -> None:
        """Add a note on a file in which nothing was sound."""
        if self.of(Kind.DAMAGE) and not self.num_batches:
            where = self._partition.topic, self._partition.partition
            detail = "it does not look like a Kafka segment: nothing in it is sound"
            self.add(Finding(Kind.NOTE, *where, detail, path=path))
