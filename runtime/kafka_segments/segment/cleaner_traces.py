"""How far the log cleaner has been in a partition, by what its segments hold.

Strategy: a cleaner notes the first offset that it has not come to (cleaner-offset-checkpoint,
LogCleanerManager); below it offsets may be missing anywhere. A note may be older than the segments. So where
offsets are missing that it does not cover, segments are asked for traces. A cleaner goes through a log from
its beginning, by whole segments (Cleaner.doClean): one with a trace was its up to where the next one begins,
and so was all in front of it. What is missing from there on is lost. A copy may lie without a note: as the
cleaner may leave no trace in a segment, nothing tells then how far it was behind the last trace.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

__all__ = ["Traces"]

_NO_END = 1 << 63


class Traces:
    """How far the cleaner has been; each segment is looked into once at most, and only if it matters.

    Args:
        noted: what cleaner-offset-checkpoint says; None if that is not there.
        begins: where segments begin, by their names and by what they hold.
        lasts: of each segment, the last offset.
        shows: whether the segment of a number shows a trace.
    """

    def __init__(
        self,
        noted: int | None,
        begins: Iterable[int],
        lasts: Sequence[int],
        shows: Callable[[int], bool],
    ) -> None:
        self._end, self._is_noted, self._shows = noted or 0, noted is not None, shows
        ends = [*sorted(set(begins)), _NO_END]
        # By where the segment behind begins.
        self._unasked = sorted((ends[bisect_right(ends, last)], at) for at, last in enumerate(lasts))

    def lost_from(self, first: int, last: int) -> int:
        """The first of some missing offsets that the cleaner has not taken; behind the last if it has all.

        Where many are asked about, to begin with the greatest takes the fewest looks.
        """
        if self._end <= last:
            self._look_beyond(last)
        if self._end <= last:
            self._look_from(first if self._is_noted else -1)
        return min(max(first, self._end), last + 1)

    def _look_beyond(self, last: int) -> None:
        """Look for a trace that covers an offset, in the nearest segments first."""
        at = bisect_right(self._unasked, (last, _NO_END))
        while self._end <= last and at < len(self._unasked):
            end, number = self._unasked.pop(at)
            if self._shows(number):
                self._end = end if self._is_noted else _NO_END

    def _look_from(self, first: int) -> None:
        """Look for the last trace that covers an offset and not all behind it."""
        while self._unasked and self._unasked[-1][0] > max(first, self._end):
            end, number = self._unasked.pop()
            if self._shows(number):
                self._end = end if self._is_noted else _NO_END
