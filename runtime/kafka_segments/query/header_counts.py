"""Number of a split's rows by the headers of its batches.

Strategy: as for rows (`split_reader`), with tables of headers in place of records. Where headers show
anything but sound batches in ascending order, or cannot count exactly (compressed messages of magic 0 and 1,
a batch with gaps that is partly inside), there is no number, and the caller reads the split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.header_table import iter_tables
from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split, higher, lower
from kafka_segments.query.query import Condition
from kafka_segments.query.read.segment_finder import Found
from kafka_segments.query.read.split_reader import Reading, SplitReader

__all__ = ["count_rows"]


def count_rows(split: Split, places: Places, conditions: Iterable[Condition]) -> int | None:
    """Count the rows of a split; None if the headers alone do not say how many there are.

    Checksums and records are not read: damage inside a batch does not show.

    Args:
        split: the range.
        places: filesystems by path.
        conditions: those on offsets bound what is counted; there must be none on timestamps.
    """
    if split.excluded:
        return None
    own = [one for one in conditions if one.column == "offset"]
    end = lower(*(None if one.highest is None else one.highest + 1 for one in own))
    findings = Findings()
    reader = _Counter(split, places, findings, (higher(0, *(one.lowest for one in own)) or 0, end))
    try:
        for _event in reader.batches():
            return None  # rows of another segment, which only a reading reader has
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return None  # the caller's reader meets it again
    return None if findings.findings else reader.num_rows


class _Counter(SplitReader):
    """One pass over the headers of a split."""

    def __init__(
        self, split: Split, places: Places, findings: Findings, bounds: tuple[int, int | None]
    ) -> None:
        super().__init__(split, places, Reading(()), findings)
        self._bounds = bounds
        self._counts: list[EntryCounts] = []
        self._is_ascending = True

    @property
    def num_rows(self) -> int | None:
        """The records counted; None if they are not exact."""
        is_exact = self._is_ascending and all(one.is_exact and not one.unknown for one in self._counts)
        return sum(one.num_data for one in self._counts) if is_exact else None

    def new_counts(self, found: Found, start: int, end: int | None) -> EntryCounts:  # noqa: ARG002
        end = lower(end, self._split.asked[1], self._bounds[1])
        counts = EntryCounts(max(start, self._bounds[0]), end)
        self._counts.append(counts)
        return counts

    def events(self, source: Source, offsets: tuple[int, int | None], read_range: ReadRange) -> Iterator[Any]:
        for piece in iter_tables(source, OffsetRange(*offsets), read_range):
            if isinstance(piece, Damage):
                yield piece
            else:
                self._counts[-1].entries(piece)
                yield piece.count(*offsets)
        coverage = read_range.coverage
        if coverage is not None and (coverage.falls or coverage.misplaced or coverage.before):
            self._is_ascending = False
