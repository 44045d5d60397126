"""Reading of damaged offsets from other copies of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.entries import Damage, SoundBatches
from kafka_segments.core.segment.columnar.viewed_bytes import rows_where
from kafka_segments.errors import ReadError
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, StoredSegment, lower

__all__ = ["DamageSensor", "from_others", "nearest"]

ReadCopy = Callable[[Split, Findings], Iterator[pa.RecordBatch]]


class DamageSensor(Findings):
    """Findings in another copy: counts and notes are forwarded, damage and losses only set a flag.

    Args:
        findings: receives counts and notes.

    Attributes:
        is_whole: no damage or loss so far.
    """

    def __init__(self, findings: Findings) -> None:
        super().__init__()
        self._findings = findings
        self.is_whole = True

    def count(self, batches: SoundBatches) -> None:
        self._findings.count(batches)

    def add(self, finding: Finding) -> None:
        if finding.kind is Kind.NOTE:
            self._findings.add(finding)
        else:
            self.is_whole = False


def _without(batch: pa.RecordBatch, others: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows whose offsets are not in other batches."""
    if not others:
        yield batch
        return
    seen = np.concatenate([other.column("offset").to_numpy() for other in others])
    is_new = ~np.isin(batch.column("offset").to_numpy(), seen)
    if is_new.all():
        yield batch
    elif is_new.any():
        yield rows_where(batch, is_new)


def from_others(
    split: Split,
    damage: Damage,
    offsets: tuple[int, int | None],
    findings: Findings,
    read_copy: ReadCopy,
    *,
    recent: Sequence[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Read the offsets of damage from other copies, and recursively from more if these are damaged too.

    Args:
        split: the range that is read.
        damage: of the preferred copy.
        offsets: requested range.
        findings: receives a note, or the damage.
        read_copy: reads a range of another copy.
        recent: the last batches: messages of a wrapper after the damaged one were already yielded.
    """
    start, end = offsets
    first = start if damage.previous_offset is None else max(start, damage.previous_offset + 1)
    stop = lower(end, damage.next_offset)
    heard = DamageSensor(findings)
    sources: list[str] = []
    at = first
    while stop is None or at < stop:
        others = nearest(split.others, at, stop)
        if not others:
            heard.is_whole = False
            break
        sources.append(others[0].file.path)
        until = lower(stop, others[0].end_offset)
        for batch in _from_other(split, others, (at, until), heard, read_copy):
            yield from _without(batch, recent)
        if until is None:
            break
        at = until
    if heard.is_whole and sources:
        which = f"offsets {first} to {'the end' if stop is None else stop - 1}"
        detail = f"{damage.error.detail}; {which} were read from {' and '.join(sources)}"
        where = damage.path, damage.position
        findings.add(
            Finding(Kind.NOTE, split.topic, split.partition, detail, path=where[0], position=where[1])
        )
    else:
        findings.add(Finding.of_damage(damage, split.topic, split.partition))


def _from_other(
    split: Split,
    others: Sequence[StoredSegment],
    offsets: tuple[int, int | None],
    heard: DamageSensor,
    read_copy: ReadCopy,
) -> Iterator[pa.RecordBatch]:
    """Read a range from the first of some copies, with the following ones for its own damage."""
    part = replace(
        split,
        start=offsets[0],
        end=offsets[1],
        segment=others[0],
        others=tuple(others[1:]),
        position=0,
        end_position=None,
        following=None,
        copies=(),
        reached=None,
        preceding=None,
        floor=None,
    )
    try:
        yield from read_copy(part, heard)
    except ReadError:
        heard.is_whole = False  # that copy cannot be read: report the damage of this one


def nearest(others: Sequence[StoredSegment], first: int, stop: int | None) -> list[StoredSegment]:
    """Segments that may hold offsets, those first that begin at or below the first one.

    A copy's content from its `end_offset` on does not count: its lineage or the segment ends there.
    """
    usable = [
        other
        for other in others
        if (stop is None or other.base_offset < stop)
        and (other.end_offset is None or other.end_offset > first)
    ]
    return sorted(usable, key=lambda other: other.base_offset > first)
