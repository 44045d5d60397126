"""Reports of `ingest`: the account of each partition in a run, with what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_segments.ingest.runs.account import Account
from kafka_segments.log.findings import Finding, Findings, Kind

__all__ = ["PLANNED_KINDS", "PartitionReport", "SegmentFindings"]

_DAMAGED = (Kind.DAMAGE, Kind.NOT_OPENED)
PLANNED_KINDS = (Kind.LOST, Kind.DIVERGED, Kind.AFTER_END, Kind.REMARK, Kind.DAMAGE, Kind.UNUSED)
"""Kinds of findings of a plan that people are shown; what they did not ask for is left out."""


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

    def with_findings(self, findings: Iterable[Finding]) -> PartitionReport:
        """Return the report with more findings."""
        return replace(self, findings=(*self.findings, *findings))


@dataclass
class SegmentFindings(Findings):
    """Findings and counts of a split.

    Args:
        is_live: a broker holds the log directory open, and may be writing the last batch.
        end: the offset after its last one: damage at the end of a file costs none from there on.
    """

    is_live: bool = False
    end: int | None = None

    def add(self, finding: Finding) -> None:
        """Take a finding; an incomplete last batch is damage unless a broker is there to finish it.

        Where a broker is, its cleaner replaces files meanwhile: what is noted of them is nothing wrong.
        """
        if finding.kind is Kind.PENDING and not self.is_live:
            finding = replace(finding, kind=Kind.DAMAGE)
        elif finding.kind is Kind.NOTE and self.is_live:
            finding = replace(finding, kind=Kind.REMARK)
        if finding.is_loss and finding.damage and finding.last_offset is None and self.end is not None:
            damage = replace(finding.damage, last_lost_offset=self.end - 1)
            finding = replace(finding, last_offset=self.end - 1, damage=damage)
        super().add(finding)

    def end_segment(self, key: tuple[str, int], path: str) -> None:
        """Add a note on a file in which nothing was sound."""
        if self.of(Kind.DAMAGE) and not self.num_batches:
            detail = "it does not look like a Kafka segment: nothing in it is sound"
            self.add(Finding(Kind.NOTE, *key, detail, path=path))
