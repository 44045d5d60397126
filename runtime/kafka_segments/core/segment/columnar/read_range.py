"""Part of a segment to read: offsets, where their bytes begin, and where reading may end.

Strategy: offsets decide, and positions only save time. Rows are selected by their offsets; entries above the
range end the reading, but not before the position where its bytes are expected to end: no checksum covers a
base offset, and a wrong one must not hide the entries after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.viewed_bytes import rows_where
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["Ending", "OffsetRange", "ReadRange"]

_LEN_NEXT = 4096  # bytes to read for one entry


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Bytes of a segment.

    Attributes:
        position: where to begin; an entry begins there.
        sound_offset: the last offset before it; None to derive it from the file's name.
        end_position: where the bytes probably end. Reading ends with the first two sound entries from there
            on that begin after the range of offsets; None reads to the end of the file.
        coverage: records the offsets that are present.
        is_shared: whether adjacent ranges are read in the same way. Entries that are inside the range by
            their headers are then taken whole.
        misplaced: records the offsets of sound entries.
        counts: counts the offsets of sound entries.
        items: budget of records that are read one by one, for several passes; None for one of its own.
    """

    position: int = 0
    sound_offset: int | None = None
    end_position: int | None = None
    coverage: OffsetCoverage | None = None
    is_shared: bool = False
    misplaced: MisplacedBatches | None = None
    counts: EntryCounts | None = None
    items: ItemBudget | None = None


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets from `start` on and below `end`; None is open."""

    start: int | None
    end: int | None

    def __bool__(self) -> bool:
        return self.start is not None or self.end is not None

    def holds(self, offset: int) -> bool:
        """Return whether an offset is in it."""
        return (self.start is None or offset >= self.start) and (self.end is None or offset < self.end)

    def covers(self, batch: Batch) -> bool:
        """Return whether all records of an entry are in it, according to the header."""
        is_behind_start = self.start is None or (
            batch.base_offset is not None and batch.base_offset >= self.start
        )
        return is_behind_start and (self.end is None or batch.highest_offset < self.end)

    def select(self, batch: pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows in it of some columns, if any; without a copy if they are consecutive."""
        offsets = batch.column("offset").to_numpy()
        inside = np.ones(len(offsets), bool)
        if self.start is not None:
            inside &= offsets >= self.start
        if self.end is not None:
            inside &= offsets < self.end
        if inside.any():
            yield rows_where(batch.select(names), inside)


class Ending:
    """End of the reading of a range: an entry after the range, if the next one is after it as well.

    No checksum covers a base offset: a single entry may have a changed one, and must not hide the others.

    Args:
        source: the segment.
        offsets: the range.
        end_position: see `ReadRange`.
        check_crc: whether an entry with a wrong checksum cannot end the range.
    """

    def __init__(
        self, source: Source, offsets: OffsetRange, end_position: int | None, *, check_crc: bool
    ) -> None:
        self._source, self._check_crc = source, check_crc
        self._end: Any = offsets.end
        self._end_position: Any = end_position
        self._was_over = False  # the entry before

    def num_before(self, entries: EntryTable, previous: int | None) -> int:
        """Return how many rows precede the entry that ends the reading; all of them if none does.

        Args:
            entries: consecutive sound entries.
            previous: the last offset before them, None if unknown.
        """
        last, was_over = len(entries) - 1, self._was_over
        self._was_over = False
        if self._end is None or self._end_position is None:
            return len(entries)
        if entries.value(last, "position") < self._end_position:
            return len(entries)
        is_over = self._are_over(entries, previous)
        if not is_over.any():
            return len(entries)
        self._was_over = bool(is_over[last])
        is_confirmed = np.append(is_over[1:], False)
        is_confirmed[0] |= was_over
        if self._was_over and not (is_over & is_confirmed).any():
            is_confirmed[last] = self._is_followed(
                entries.value(last, "end_position"), entries.last_offset(last)
            )
        rows: Any = np.flatnonzero(is_over & is_confirmed)
        return int(rows[0]) if len(rows) else len(entries)

    def _are_over(self, entries: EntryTable, previous: int | None) -> Any:
        """Whether each entry begins after the range."""
        is_over = entries.column("base_offset") >= self._end
        is_over &= entries.column("position") >= self._end_position
        # A wrapper has the offset of its last message: its first is greater than the offset before it.
        before = np.empty(len(entries), np.int64)
        before[0] = -1 if previous is None else previous
        before[1:] = entries.last_offsets()[:-1]
        return is_over & (~entries.is_wrapper() | (before >= self._end - 1))

    def _is_followed(self, position: int, previous: int) -> bool:
        """Return whether the file ends at a position, or a sound entry after the range begins there."""
        if position >= self._source.size:
            return True
        scan = Scan(self._source, check_crc=self._check_crc, len_window=_LEN_NEXT)
        entry = next(scan.entries(position), None)
        if not isinstance(entry, Batch) or entry.crc_valid is False:
            return False
        return bool(self._are_over(row_of(entry, kafka_log_segment), previous)[0])
