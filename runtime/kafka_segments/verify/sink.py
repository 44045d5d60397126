"""Collector of the findings of one partition or log directory, by checks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import Finding
from kafka_segments.verify.catalogue import CHECKS

__all__ = ["MAX_FINDINGS", "CheckSink"]

MAX_FINDINGS = 1000
"""Findings of one check in one partition that are kept; the others are counted."""


class CheckSink:
    """Collector of findings of the chosen checks.

    Args:
        topic: of the partition; empty for a log directory.
        partition: likewise; -1.
        chosen: ids of the checks.

    Attributes:
        findings: in the order in which they were found.
        num_more: findings beyond `MAX_FINDINGS`, by check.
        notes: what could not be checked, and why.
        errors: of files that could not be opened, which says nothing of what is in them.
    """

    def __init__(self, topic: str, partition: int, chosen: frozenset[str]) -> None:
        self.topic, self.partition, self.chosen = topic, partition, chosen
        self.findings: list[Finding] = []
        self.num_more: Counter[str] = Counter()
        self.notes: list[str] = []
        self.errors: list[KafkaFormatError] = []
        self._num_kept: Counter[str] = Counter()

    def wants(self, *checks: str) -> bool:
        """Return whether one of some checks was chosen."""
        return any(check in self.chosen for check in checks)

    def add(self, check: str, detail: str, **attributes: Any) -> None:
        """Add a finding of a check, unless that was not chosen; `attributes` are those of `Finding`."""
        if check not in self.chosen:
            return
        if self._num_kept[check] == MAX_FINDINGS:
            self.num_more[check] += 1
            return
        self._num_kept[check] += 1
        kind = CHECKS[check].kind
        self.findings.append(Finding(kind, self.topic, self.partition, detail, check=check, **attributes))

    def add_damage(self, check: str, damage: Damage) -> None:
        """Add damage, or missing offsets, as a finding."""
        self.add(
            check,
            damage.error.detail,
            first_offset=damage.first_lost_offset,
            last_offset=damage.last_lost_offset,
            path=damage.path,
            position=damage.position,
            end_position=damage.end_position,
            error=damage.error,
            damage=damage,
        )

    def note(self, words: str) -> None:
        """Note what could not be checked; once each."""
        if words not in self.notes:
            self.notes.append(words)
