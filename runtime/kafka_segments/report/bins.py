"""Histograms of bounded size: by time, by powers of two, by offset.

Strategy: the range of times is not known before the last header is read, and old and new records may be years
apart. So bins of times are sparse, their width doubles whenever there are too many of them, and a long time
without records divides them into eras, which are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["OffsetBins", "SizeBins", "TimeBins", "TimeWindow"]

_FIRST_WIDTH = 125  # doubled, it becomes a second: a log of five seconds has forty bars
_HIGHEST = 253_402_300_799_999  # the last millisecond of the year 9999
_MAX_TIME_BINS = 2048
_NUM_SIZE_BINS = 64
_NUM_OFFSET_BINS = 160
_MAX_ENTRIES = 1 << 18  # 6 MiB
_JOIN = np.minimum, np.maximum, np.add
_NUM_SHOWN = 96
_MAX_ERAS = 8
_MIN_BINS = 8  # fewer fit a common axis, whatever is between them
_SHARE_EMPTY = 0.75  # of an axis: gaps of this length squeeze what is drawn


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Bins of times as they are drawn.

    Attributes:
        start: of the first bin, in milliseconds.
        width: milliseconds of a bin.
        num_bins: how many there are, about a hundred at most.
        num_outside: what is earlier or later, by the first count.
        num_used: bins of the histogram that have something.
    """

    start: int
    width: int
    num_bins: int
    num_outside: int = 0
    num_used: int = 0

    @property
    def end(self) -> int:
        """Where the last bin ends."""
        return self.start + self.width * self.num_bins

    @property
    def is_moment(self) -> bool:
        """Whether there is too little of it for a chart."""
        return self.num_used < _MIN_BINS


class TimeBins:
    """Sums by time.

    Args:
        num_counts: how many sums each bin has.

    Attributes:
        width: milliseconds of a bin, an eighth of a second times a power of two.
        num_without: sum of the first count of what has no timestamp, or one after the year 9999.
    """

    def __init__(self, num_counts: int) -> None:
        self.width = _FIRST_WIDTH
        self.num_without = 0
        self._num_counts = num_counts
        self._bins: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._bins)

    def add(self, times: Any, counts: Any) -> None:
        """Add counts at times.

        Args:
            times: int64 array of milliseconds since 1970; negative is no timestamp.
            counts: int64 array with a row for each time.
        """
        has_time = (times >= 0) & (times <= _HIGHEST)
        self.num_without += int(counts[~has_time, 0].sum())
        numbers = times[has_time] // self.width
        while len(np.unique(numbers)) > _MAX_TIME_BINS:
            self._widen()
            numbers = numbers // 2
        self._add(numbers, counts[has_time])

    def add_all(self, other: TimeBins) -> None:
        """Add all bins of another histogram with the same counts."""
        self.num_without += other.num_without
        while self.width < other.width:
            self._widen()
        factor = self.width // other.width
        if other._bins:
            numbers = np.array(list(other._bins), np.int64) // factor
            self._add(numbers, np.array(list(other._bins.values()), np.int64))

    def _add(self, numbers: Any, counts: Any) -> None:
        found, places = np.unique(numbers, return_inverse=True)
        sums = np.zeros((len(found), self._num_counts), np.int64)
        np.add.at(sums, places, counts)
        for number, sum_of in zip(found.tolist(), sums, strict=True):
            known = self._bins.get(number)
            self._bins[number] = sum_of if known is None else known + sum_of
        while len(self._bins) > _MAX_TIME_BINS:
            self._widen()

    def _widen(self) -> None:
        self.width *= 2
        narrow, self._bins = self._bins, {}
        for number, sum_of in narrow.items():
            known = self._bins.get(number // 2)
            self._bins[number // 2] = sum_of if known is None else known + sum_of

    def eras(self) -> list[TimeWindow]:
        """Return the bins to draw by era: long times without records divide them; the largest comes first."""
        if not self._bins:
            return []
        numbers, sums = self._arrays()
        found = []
        for part in _divided(range(len(numbers)), numbers, _MAX_ERAS - 1):
            first, last = int(numbers[part[0]]), int(numbers[part[-1]])
            factor = -(-(last + 1 - first) // _NUM_SHOWN)
            num_bins = -(-(last + 1 - first) // factor)
            outside = int(sums[:, 0].sum() - sums[part, 0].sum())
            found.append(TimeWindow(first * self.width, factor * self.width, num_bins, outside, len(part)))
        return sorted(found, key=lambda one: (one.num_outside, -one.start))

    def counts_in(self, window: TimeWindow) -> list[tuple[int, ...]]:
        """Return the sums in each bin of a window, whose bins are not narrower than these."""
        found = np.zeros((window.num_bins, self._num_counts), np.int64)
        if self._bins:
            numbers, sums = self._arrays()
            places = (numbers * self.width - window.start) // window.width
            inside = (places >= 0) & (places < window.num_bins)
            np.add.at(found, places[inside], sums[inside])
        return [tuple(row) for row in found.tolist()]

    def sums(self) -> tuple[int, ...]:
        """Return the sums of all bins."""
        return tuple(self._arrays()[1].sum(0).tolist())

    def range(self) -> tuple[int, int] | None:
        """Return the start of the first bin and the end of the last one; None without any."""
        if not self._bins:
            return None
        return min(self._bins) * self.width, (max(self._bins) + 1) * self.width

    def _arrays(self) -> tuple[Any, Any]:
        numbers = sorted(self._bins)
        sums = [self._bins[number] for number in numbers]
        return np.array(numbers, np.int64), np.array(sums, np.int64)


def _divided(part: range, numbers: Any, num_cuts: int) -> Iterator[range]:
    """Divide places of bins at their longest gaps, as few as are together most of the axis."""
    places = numbers[part.start : part.stop]
    gaps = np.diff(places) - 1
    longest = np.argsort(-gaps, kind="stable")[:num_cuts]
    is_enough = np.cumsum(gaps[longest]) >= _SHARE_EMPTY * (places[-1] + 1 - places[0])
    if len(part) < _MIN_BINS or not is_enough.any():
        yield part
        return
    cuts = sorted(part.start + 1 + int(one) for one in longest[: int(np.argmax(is_enough)) + 1])
    num_cuts -= len(cuts)
    for start, stop in pairwise((part.start, *cuts, part.stop)):
        found = list(_divided(range(start, stop), numbers, num_cuts))
        num_cuts -= len(found) - 1
        yield from found


class SizeBins:
    """Counts by the power of two at or below a size.

    Attributes:
        num_all: how many sizes were added.
        sum_all: their sum.
        highest: the highest one.
    """

    def __init__(self) -> None:
        self.num_all = self.sum_all = self.highest = 0
        self._counts = np.zeros(_NUM_SIZE_BINS, np.int64)

    def add(self, sizes: Any) -> None:
        """Add an int64 array of sizes; those below 1 are left out."""
        sizes = sizes[sizes > 0]
        if len(sizes):
            _mantissas, exponents = np.frexp(sizes.astype(np.float64))
            np.add.at(self._counts, exponents - 1, 1)
            self.num_all += len(sizes)
            self.sum_all += int(sizes.sum())
            self.highest = max(self.highest, int(sizes.max()))

    def add_all(self, other: SizeBins) -> None:
        """Add all counts of another histogram."""
        self._counts += other._counts
        self.num_all += other.num_all
        self.sum_all += other.sum_all
        self.highest = max(self.highest, other.highest)

    def bins(self) -> list[tuple[int, int]]:
        """Return the lower bound and the count of each bin, from the first non-empty to the last one."""
        used = np.flatnonzero(self._counts).tolist()
        numbers = range(used[0], used[-1] + 1) if used else ()
        return [(1 << number, int(self._counts[number])) for number in numbers]


class OffsetBins:
    """Offsets that are present, in bins of one width from the first offset to the end of the log.

    The end is known at last. Until then entries are kept; those that leave no gap are one, and of very many
    others every two are joined.

    Args:
        start: first offset.
    """

    def __init__(self, start: int) -> None:
        self.start, self.end = start, start + 1
        self.width = 1
        self._kept: list[Any] = []
        self._num_kept = 0
        self._counts = np.zeros(1, np.int64)

    def add(self, firsts: Any, lasts: Any, counts: Any) -> None:
        """Add entries: their first and last offsets, and how many of the offsets between are present."""
        is_dense = counts == lasts - firsts + 1
        goes_on = is_dense[1:] & is_dense[:-1] & (firsts[1:] == lasts[:-1] + 1)
        starts = np.flatnonzero(np.append(True, ~goes_on))
        ends = np.append(starts[1:], len(firsts)) - 1
        self._kept.append(np.stack([firsts[starts], lasts[ends], np.add.reduceat(counts, starts)]))
        self._num_kept += len(starts)
        while self._num_kept > _MAX_ENTRIES:
            pairs = np.arange(0, self._num_kept, 2)
            joined = [how.reduceat(one, pairs) for how, one in zip(_JOIN, self._entries(), strict=True)]
            self._kept, self._num_kept = [np.stack(joined)], len(pairs)

    def _entries(self) -> Any:
        return np.concatenate([np.zeros((3, 0), np.int64), *self._kept], axis=1)

    def close(self, end: int) -> None:
        """Count the offsets in bins; `end` is the offset after the last one."""
        self.end = max(self.start + 1, end)
        self.width = -(-(self.end - self.start) // _NUM_OFFSET_BINS)
        self._counts = np.zeros(-(-(self.end - self.start) // self.width), np.int64)
        firsts, lasts, counts = self._entries()
        self._kept.clear()
        last_bin = len(self._counts) - 1
        low = np.clip((firsts - self.start) // self.width, 0, last_bin)
        high = np.clip((lasts - self.start) // self.width, 0, last_bin)
        is_one = low == high
        np.add.at(self._counts, low[is_one], counts[is_one])
        # Where an entry crosses bins, its offsets are taken as evenly spread.
        for row in np.flatnonzero(~is_one).tolist():
            self._spread(int(firsts[row]), int(lasts[row]), int(counts[row]), range(low[row], high[row] + 1))

    def _spread(self, first: int, last: int, count: int, places: range) -> None:
        rest, span = count, last - first + 1
        for place in places:
            end = self.start + (place + 1) * self.width
            part = rest if place == places[-1] else count * max(0, min(last + 1, end) - first) // span
            part = part if place == places[-1] else part - (count - rest)
            self._counts[place] += part
            rest -= part

    def shares(self) -> list[tuple[int, int, float]]:
        """Return first offset, offset after the last one, and the share of present offsets of each bin."""
        bounds = range(self.start, self.end, self.width)
        ends = [min(first + self.width, self.end) for first in bounds]
        return [
            (first, end, min(1.0, count / (end - first)))
            for first, end, count in zip(bounds, ends, self._counts.tolist(), strict=True)
        ]
