"""Totals of one segment from its headers: offsets, times, sizes, absent offsets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kafka_segments.core.formats.entries import Damage
from kafka_segments.log.segment_figures import codec_name
from kafka_segments.report.entry_figures import EntryFigures

__all__ = ["SegmentTotals"]


@dataclass(slots=True)
class SegmentTotals:
    """Totals of one segment.

    Attributes:
        path: of the `.log`.
        base_offset: by its name.
        size: bytes of the file.
        num_batches: sound entries.
        num_records: data records.
        first_offset: of the first entry; None without one.
        last_offset: the highest one.
        first_timestamp: the lowest of the batches' greatest timestamps, in milliseconds; None without one.
        last_timestamp: the highest one.
        largest: bytes of the largest entry.
        num_absent: offsets between its first and last one that have no record, and are in no damage.
        sound_bytes: of its entries.
        codecs: names of the codecs.
        magics: versions of the format.
        damages: what cannot be read.
        previous_offset: last offset so far, those lost to damage too.
    """

    path: str
    base_offset: int
    size: int
    num_batches: int = 0
    num_records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    largest: int = 0
    num_absent: int = 0
    sound_bytes: int = 0
    codecs: set[str] = field(default_factory=set)
    magics: set[int] = field(default_factory=set)
    damages: list[Damage] = field(default_factory=list)
    previous_offset: int = field(init=False)

    def __post_init__(self) -> None:
        self.previous_offset = self.base_offset - 1

    @property
    def damaged_bytes(self) -> int:
        """Bytes of damaged regions."""
        return sum(one.end_position - one.position for one in self.damages)

    @property
    def other_bytes(self) -> int:
        """Bytes that are neither sound entries nor damaged: zeros at the end of a preallocated file."""
        return max(0, self.size - self.sound_bytes - self.damaged_bytes)

    def add(self, figures: EntryFigures) -> None:
        """Add the next entries, one or more."""
        firsts, lasts = figures.first_offset, figures.last_offset
        before = np.maximum.accumulate(np.append(lasts[0] if self.last_offset is None else 0, lasts[:-1]))
        if self.last_offset is None:
            self.first_offset = int(firsts[0])
            before[0] = firsts[0] - 1
        else:
            before = np.maximum(before, self.last_offset)
        between = np.maximum(0, firsts - before - 1)
        inside = np.maximum(0, lasts - firsts + 1 - figures.num_present)
        self.num_absent += int(between.sum() + inside.sum())
        highest = int(lasts.max())
        self.last_offset = highest if self.last_offset is None else max(self.last_offset, highest)
        self.num_batches += len(figures)
        self.num_records += int(figures.num_records.sum())
        self.sound_bytes += int(figures.size.sum())
        self.largest = max(self.largest, int(figures.size.max()))
        self.codecs |= {codec_name(one) for one in np.unique(figures.entries.column("codec")).tolist()}
        self.magics |= set(np.unique(figures.entries.column("magic")).tolist())
        self._add_times(figures)

    def _add_times(self, figures: EntryFigures) -> None:
        times = figures.timestamp[figures.timestamp >= 0]
        if len(times):
            known = [one for one in (self.first_timestamp, self.last_timestamp) if one is not None]
            self.first_timestamp = min([int(times.min()), *known])
            self.last_timestamp = max([int(times.max()), *known])

    def end(self, damages: list[Damage]) -> None:
        """End the segment: offsets lost to its damage are not absent ones."""
        self.damages = damages
        for one in damages:
            if one.first_lost_offset is not None and one.last_lost_offset is not None:
                self.num_absent -= one.last_lost_offset - one.first_lost_offset + 1
        self.num_absent = max(0, self.num_absent)
