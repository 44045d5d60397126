"""Offsets present in what was read, as far as their absence may be a loss.

Strategy: headers decide. Missing offsets between sound entries, and inside a batch with fewer records than
offsets, are legitimate: the cleaner removed them. So such gaps are not counted, only recorded: where the
cleaner has been, offsets may be missing anywhere. Entries before and after damage are not compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_segments.core.segment.scan.entry_table import EntryTable

__all__ = ["OffsetCoverage"]

Offsets = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int64)


class OffsetCoverage:
    """Offsets seen so far, in file order.

    Args:
        start: where the range begins; lower offsets are left out.
        named: the offsets that the segment should hold by its name and that of the next one.
        end: where the range ends; None is open.

    Attributes:
        first: the first sound offset, of those that the segment should hold if it has any, or None.
        last: the greatest sound offset, of those that the segment should hold if it has any, or None.
        is_damaged_before: whether there is damage before the first sound entry.
        is_damaged_after: whether there is damage after the last one.
        has_gaps: whether offsets are missing between sound neighbours, or inside an entry.
        falls: whether an entry follows one with a higher offset. Then a gap may be due to a changed offset.
        is_ended: whether reading ended with an entry after the range, not with the file.
        misplaced: the least and the greatest offset of entries below the range that follow greater offsets,
            or have negative ones: a reader of the range below will not see them.
        before: the least and the greatest offset of entries above the range that precede others of it: a
            reader of the range above will not see them.
        over: likewise of entries above the range that no other of it follows.
        greatest: the last offset of all entries; -1 without any.
        below: the least and the greatest offset in entries that begin below what the segment should hold.
        beyond: likewise in entries that end above it.
        replaced: the offsets missing where entries with negative ones are: the first; the one after the last
            by the lengths of those entries, and by what follows them, None if nothing does.
    """

    def __init__(
        self, start: int = 0, named: tuple[int, int | None] = (0, None), end: int | None = None
    ) -> None:
        self.first: int | None = None
        self.last: int | None = None
        self.is_damaged_before = False
        self.is_damaged_after = False
        self.has_gaps = self.falls = False
        self.is_ended = False
        self.misplaced: tuple[int, int] | None = None
        self.below: tuple[int, int] | None = None
        self.beyond: tuple[int, int] | None = None
        self.before: tuple[int, int] | None = None
        self.replaced: tuple[int, int, int | None] | None = None
        self._named = named
        self._range_end = end
        self.over: tuple[int, int] | None = None
        self._start, self.greatest = start, -1
        self._has_entries = False
        self._expected: int | None = None
        self._has_wrappers = False

    def entries(self, entries: EntryTable) -> None:
        """Add consecutive sound entries."""
        is_wrapped = entries.is_wrapper()
        firsts, lasts = entries.column("base_offset"), entries.last_offsets()
        is_negative = (lasts < 0) & ~is_wrapped
        if is_negative.any():
            self._beside_negative(entries, np.flatnonzero(is_negative))
            return
        last = int(lasts[-1])
        self._begin(None if is_wrapped[0] else int(firsts[0]))
        self._has_wrappers = self._has_wrappers or bool(is_wrapped.any())
        self._look_below(firsts[~is_wrapped], lasts[~is_wrapped])
        if not (self.has_gaps or self._has_wrappers):
            self.has_gaps = entries.has_gaps(-1 if self._expected is None else self._expected - 1)
        self._end(last)
        if self.greatest > last:  # offsets fall
            end = self._named[1]
            lasts = lasts if end is None else lasts[lasts < end]
            if len(lasts):
                self._end(int(lasts.max()))

    def _beside_negative(self, entries: EntryTable, negative: npt.NDArray[np.intp]) -> None:
        """Add entries of which some have negative offsets: those expected there are damaged."""
        begin, end = int(negative[0]), int(negative[-1]) + 1
        between = np.ones(len(entries), bool)
        between[:begin] = between[end:] = between[negative] = False
        if begin:
            self.entries(entries.before(begin))
        self._replace(entries.column("base_offset")[negative], entries.last_offsets()[negative])
        if between.any():
            self.entries(entries.chosen(between))
            self._replace()
        if end < len(entries):
            self.entries(entries.chosen(slice(end, None)))

    def _replace(self, firsts: Offsets = _NONE, lasts: Offsets = _NONE) -> None:
        """Record that entries with negative offsets are in the place of others."""
        num_offsets = int((lasts - firsts + 1).sum())
        if len(firsts):
            self.misplaced = _joined(self.misplaced, (int(firsts.min()), int(lasts.max())))
        first = max(self._start, self.greatest + 1)
        known = self.replaced or (first, first, None)
        self.replaced = known[0], max(known[1], first + num_offsets), None
        self.damaged()

    def rows(self, batch: pa.RecordBatch) -> None:
        """Add records; they add to the headers only in wrappers."""
        if not self._has_wrappers:
            return
        offsets = batch.column("offset").to_numpy()
        self.first = int(offsets[0]) if self.first is None else self.first
        self.has_gaps = self.has_gaps or bool((np.diff(offsets) > 1).any())

    def damaged(self) -> None:
        """Add damage."""
        self.is_damaged_before = self.is_damaged_before or not self._has_entries
        self.is_damaged_after = True
        self._expected = None

    def _look_below(self, firsts: Offsets, lasts: Offsets) -> None:
        """Record misplaced entries, by the first and last offsets of entries."""
        if not len(lasts):
            return
        self._look_at_order(firsts, lasts)
        self._look_outside(firsts, lasts)
        self._look_ahead(firsts, lasts)
        if lasts.min() < self._start or firsts.min() < 0:
            before = np.maximum.accumulate(np.append(self.greatest, lasts[:-1]))
            found = ((firsts <= before) & (lasts < self._start)) | (firsts < 0)
            if found.any():
                least, most = int(firsts[found].min()), int(lasts[found].max())
                self.misplaced = _joined(self.misplaced, (least, most))
        self.greatest = max(self.greatest, int(lasts.max()))

    def _look_at_order(self, firsts: Offsets, lasts: Offsets) -> None:
        """Record whether offsets fall, and the first one that the segment should hold."""
        base = self._named[0]
        if self.first is not None and max(self.first, self.greatest) < base <= lasts.max():
            self.first = int(firsts[lasts >= base][0])
        self.falls = self.falls or bool(
            firsts[0] <= self.greatest or (firsts[1:] <= np.maximum.accumulate(lasts)[:-1]).any()
        )

    def _look_outside(self, firsts: Offsets, lasts: Offsets) -> None:
        """Record entries outside the segment's range by the names."""
        base, end = self._named
        if firsts.min() < base:
            found = (firsts < base) & (firsts >= 0)
            if found.any():
                own = int(firsts[found].min()), min(base - 1, int(lasts[found].max()))
                self.below = _joined(self.below, own)
        if end is not None and lasts.max() >= end:
            found = lasts >= end
            self.beyond = _joined(self.beyond, (max(end, int(firsts[found].min())), int(lasts[found].max())))

    def _look_ahead(self, firsts: Offsets, lasts: Offsets) -> None:
        """Record entries above the range that precede others of it."""
        if self._range_end is None or (self.over is None and firsts.max() < self._range_end):
            return
        is_over = firsts >= self._range_end
        inside = np.flatnonzero(~is_over)
        if len(inside):
            found = is_over.copy()
            found[inside[-1] :] = False
            for more in (self.over, _ends_of(firsts, lasts, found)):
                self.before = self.before if more is None else _joined(self.before, more)
            self.over = None
            is_over[: inside[-1]] = False
        over = _ends_of(firsts, lasts, is_over)
        self.over = self.over if over is None else _joined(self.over, over)

    def _begin(self, first: int | None) -> None:
        if self.replaced is not None and self.replaced[2] is None:
            self.replaced = *self.replaced[:2], self.replaced[1] if first is None else first
        if not self._has_entries:
            self.first = first
            self._has_entries = True
        elif first is not None and self._expected is not None and first > self._expected:
            self.has_gaps = True

    def _end(self, last: int) -> None:
        known, end = self.last, self._named[1]
        if known is None or last > known or (end is not None and known >= end):
            self.last = last
        self._expected = last + 1 if self._expected is None else max(self._expected, last + 1)
        self.is_damaged_after = False


def _ends_of(firsts: Offsets, lasts: Offsets, chosen: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """The least and the greatest offset of some entries; None of none."""
    return (int(firsts[chosen].min()), int(lasts[chosen].max())) if chosen.any() else None


def _joined(known: tuple[int, int] | None, more: tuple[int, int]) -> tuple[int, int]:
    return more if known is None else (min(known[0], more[0]), max(known[1], more[1]))
