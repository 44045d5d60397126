"""Which offsets were there in what was read, as far as their absence may be a loss.

Strategy: headers tell. Between sound entries, and inside a batch with fewer records than offsets, offsets are
missing lawfully: the cleaner took them. So such gaps are not counted, only noted: where the cleaner was, they
may be missing anywhere. What stands between two entries that damage parts says nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_segments.formats import wrap_long
from kafka_segments.formats.entries import Batch
from kafka_segments.segment.columnar.entry_table import EntryTable

__all__ = ["OffsetCoverage"]

Offsets = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int64)


class OffsetCoverage:
    """What was seen on the way, in file order.

    Args:
        start: where the range begins that is read; what lies below is left out.
        named: the offsets that the segment should hold by its name and that of the next one.
        end: where the range ends; None is open.

    Attributes:
        first: the first sound offset, of those that the segment should hold if there are any; None if there
            was none.
        last: the greatest sound offset, of those that the segment should hold if there are any; None if there
            was none.
        is_damaged_before: something was damaged before the first sound entry.
        is_damaged_behind: something was damaged behind the last one.
        has_gaps: offsets are missing between sound neighbours, or inside an entry.
        falls: an entry stands behind one with a higher offset. Then a gap may be what a changed offset left.
        is_ended: the reading ended with an entry behind the range, not with the file.
        misplaced: the least and the greatest offset of entries below the range that stand behind greater
            offsets, or have negative ones: whoever reads the range below will not come by.
        before: the least and the greatest offset of entries behind the range that stand in front of others of
            it: nor will who reads the range behind.
        below: the least and the greatest offset in entries that begin below what the segment should hold.
        beyond: likewise in entries that end behind it.
        replaced: the offsets that are missing where entries with negative ones stand: the first, the one
            behind the last by the lengths of those entries, and by what follows them, None if nothing does.
    """

    def __init__(
        self, start: int = 0, named: tuple[int, int | None] = (0, None), end: int | None = None
    ) -> None:
        self.first: int | None = None
        self.last: int | None = None
        self.is_damaged_before = False
        self.is_damaged_behind = False
        self.has_gaps = self.falls = False
        self.is_ended = False
        self.misplaced: tuple[int, int] | None = None
        self.below: tuple[int, int] | None = None
        self.beyond: tuple[int, int] | None = None
        self.before: tuple[int, int] | None = None
        self.replaced: tuple[int, int, int | None] | None = None
        self._named = named
        self._range_end = end
        self._over: tuple[int, int] | None = None
        self._start, self._greatest = start, -1
        self._has_entries = False
        self._expected: int | None = None
        self._has_wrappers = False

    def entries(self, entries: EntryTable) -> None:
        """Sound entries, one behind the other."""
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
        if self._greatest > last:  # offsets fall
            end = self._named[1]
            lasts = lasts if end is None else lasts[lasts < end]
            if len(lasts):
                self._end(int(lasts.max()))

    def _beside_negative(self, entries: EntryTable, negative: npt.NDArray[np.intp]) -> None:
        """Entries of which some rows have negative offsets: what should stand there is damaged."""
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
        """Note that entries with negative offsets stand where others should."""
        num_offsets = int((lasts - firsts + 1).sum())
        if len(firsts):
            self.misplaced = _joined(self.misplaced, (int(firsts.min()), int(lasts.max())))
        first = max(self._start, self._greatest + 1)
        known = self.replaced or (first, first, None)
        self.replaced = known[0], max(known[1], first + num_offsets), None
        self.damaged()

    def batch(self, batch: Batch) -> None:
        """A sound entry that was read in another way."""
        # As in `entry_scan`: a batch ends where it begins, if what it says of its last offset cannot be.
        last = batch.last_offset if batch.base_offset is None else max(batch.base_offset, batch.last_offset)
        if batch.base_offset is not None and last < 0:
            self._replace(np.array([batch.base_offset]), np.array([last]))
            return
        self._begin(batch.base_offset)
        if batch.base_offset is not None:
            self._look_below(np.array([batch.base_offset]), np.array([last]))
        if batch.base_offset is not None and batch.num_records is not None:
            num_offsets = wrap_long(batch.last_offset - batch.base_offset) + 1
            self.has_gaps = self.has_gaps or num_offsets > batch.num_records
        self._end(last)

    def rows(self, batch: pa.RecordBatch) -> None:
        """Records; only of what wrappers hold they tell more than the headers."""
        if not self._has_wrappers:
            return
        offsets = batch.column("offset").to_numpy()
        self.first = int(offsets[0]) if self.first is None else self.first
        self.has_gaps = self.has_gaps or bool((np.diff(offsets) > 1).any())

    def damaged(self) -> None:
        """Something that is not sound."""
        self.is_damaged_before = self.is_damaged_before or not self._has_entries
        self.is_damaged_behind = True
        self._expected = None

    def _look_below(self, firsts: Offsets, lasts: Offsets) -> None:
        """Note what is misplaced among entries, of which these are the first and last offsets."""
        if not len(lasts):
            return
        self._look_at_order(firsts, lasts)
        self._look_outside(firsts, lasts)
        self._look_ahead(firsts, lasts)
        if lasts.min() < self._start or firsts.min() < 0:
            before = np.maximum.accumulate(np.append(self._greatest, lasts[:-1]))
            found = ((firsts <= before) & (lasts < self._start)) | (firsts < 0)
            if found.any():
                least, most = int(firsts[found].min()), int(lasts[found].max())
                self.misplaced = _joined(self.misplaced, (least, most))
        self._greatest = max(self._greatest, int(lasts.max()))

    def _look_at_order(self, firsts: Offsets, lasts: Offsets) -> None:
        """Note whether entries fall, and the first one that the segment should hold."""
        base = self._named[0]
        if self.first is not None and self.first < base <= lasts.max():
            self.first = int(firsts[lasts >= base][0])
        self.falls = self.falls or bool(
            firsts[0] <= self._greatest or (firsts[1:] <= np.maximum.accumulate(lasts)[:-1]).any()
        )

    def _look_outside(self, firsts: Offsets, lasts: Offsets) -> None:
        """Note entries that the segment's name, or the next one's, does not allow for."""
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
        """Note entries behind the range in front of others that are not."""
        if self._range_end is None or (self._over is None and firsts.max() < self._range_end):
            return
        is_over = firsts >= self._range_end
        inside = np.flatnonzero(~is_over)
        if len(inside):
            found = is_over.copy()
            found[inside[-1] :] = False
            for more in (self._over, _ends_of(firsts, lasts, found)):
                self.before = self.before if more is None else _joined(self.before, more)
            self._over = None
            is_over[: inside[-1]] = False
        over = _ends_of(firsts, lasts, is_over)
        self._over = self._over if over is None else _joined(self._over, over)

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
        self.is_damaged_behind = False


def _ends_of(firsts: Offsets, lasts: Offsets, chosen: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """The least and the greatest offset of some entries; None of none."""
    return (int(firsts[chosen].min()), int(lasts[chosen].max())) if chosen.any() else None


def _joined(known: tuple[int, int] | None, more: tuple[int, int]) -> tuple[int, int]:
    return more if known is None else (min(known[0], more[0]), max(known[1], more[1]))
