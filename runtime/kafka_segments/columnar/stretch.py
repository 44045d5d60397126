"""A part of a segment: which offsets, where its bytes begin, and where there is nothing more to read.

Strategy: offsets decide, and positions only save time. Rows are told by their offsets; entries that begin
behind the range end the reading, but not before the place where its bytes are expected to end: no checksum
covers a base offset, and one that is wrong must not hide what is behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.columnar.coverage import Coverage
from kafka_segments.columnar.table import EntryTable
from kafka_segments.entries import Batch

__all__ = ["OffsetRange", "Stretch"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a segment.

    Attributes:
        position: where to begin; an entry begins there.
        sound_offset: the last offset before it; None is what the file's name says.
        end_position: where the bytes probably end. The reading ends with the first sound entry from there on
            that begins behind the range of offsets; None goes on to the end of the file.
        coverage: is told what was there.
        is_shared: others read what is around the range of offsets, in the same way. Entries that are all
            inside it by their headers are then taken whole.
    """

    position: int = 0
    sound_offset: int | None = None
    end_position: int | None = None
    coverage: Coverage | None = None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets from `start` on that are below `end`; None is open."""

    start: int | None
    end: int | None

    def __bool__(self) -> bool:
        return self.start is not None or self.end is not None

    def holds(self, offset: int) -> bool:
        """Whether an offset is in it."""
        return (self.start is None or offset >= self.start) and (self.end is None or offset < self.end)

    def covers(self, batch: Batch) -> bool:
        """Whether all records of an entry are in it, as far as the header can tell."""
        is_behind_start = self.start is None or (
            batch.base_offset is not None and batch.base_offset >= self.start
        )
        return is_behind_start and (self.end is None or batch.highest_offset < self.end)

    def select(self, batch: pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows in it, if there are any, of some columns; without a copy unless they lie apart."""
        offsets = batch.column("offset").to_numpy()
        inside = np.ones(len(offsets), bool)
        if self.start is not None:
            inside &= offsets >= self.start
        if self.end is not None:
            inside &= offsets < self.end
        rows = np.flatnonzero(inside)
        if len(rows):
            first, last = int(rows[0]), int(rows[-1])
            kept = batch.select(names)
            is_run = last - first + 1 == len(rows)
            yield kept.slice(first, len(rows)) if is_run else kept.filter(pa.array(inside))

    def num_before_end(self, entries: EntryTable, end_position: int, previous: int | None) -> int:
        """How many rows come before the entry that the reading ends with; all of them if it goes on.

        Args:
            entries: sound ones, one behind the other.
            end_position: see `Stretch`.
            previous: the last offset before them, None if it is not known.
        """
        last = len(entries) - 1
        if self.end is None or entries.value(last, "position") < end_position:
            return len(entries)
        is_over = (entries.column("base_offset") >= self.end) & (entries.column("position") >= end_position)
        if not is_over.any():
            return len(entries)
        # A wrapper has the offset of its last message: what is before it tells where it begins at least.
        before = np.empty(len(entries), np.int64)
        before[0] = -1 if previous is None else previous
        before[1:] = entries.last_offsets()[:-1]
        is_over &= ~entries.is_wrapper() | (before >= self.end - 1)
        rows: Any = np.flatnonzero(is_over)
        return int(rows[0]) if len(rows) else len(entries)

    def is_behind(self, batch: Batch, end_position: int) -> bool:
        """Whether the reading ends with this entry."""
        first = batch.base_offset
        return (
            self.end is not None
            and first is not None
            and first >= self.end
            and batch.position >= end_position
        )
