"""Findings of `verify` by copies, for people: what is lost first, then why, the worst first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby

from kafka_segments.log.findings import Finding, copy_words, error_words, worst_first

__all__ = ["by_copies", "finding_words"]


def by_copies(found: Iterable[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """Yield in a line what a copy has lost, and its findings; no line for what is of no partition."""
    for (topic, partition), group in groupby(found, key=lambda one: (one.topic, one.partition)):
        folder = name = f"{topic}-{partition}"
        copies: dict[str, list[Finding]] = {}
        for one in group:
            parents = one.path or "", os.path.dirname(one.path or "")
            folder = next((each for each in parents if os.path.basename(each) == name), folder)
            copies.setdefault(folder, []).append(one)
        for folder, findings in copies.items():
            yield copy_words(folder, findings) if topic else "", sorted(findings, key=worst_first)


def finding_words(finding: Finding) -> str:
    """Return a finding in a line: place, check, what is wrong, offsets."""
    detail = finding.detail if finding.damage is None else error_words(finding.damage.error)
    offsets = ""
    if finding.first_offset is not None:
        last = finding.last_offset
        offsets = f" [offsets {finding.first_offset} to {'?' if last is None else last}]"
    return f"{finding.place if finding.path else ''}: {finding.check}: {detail}{offsets}"
