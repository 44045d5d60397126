"""Progress of the log cleaner in a partition, as its segments show it.

Strategy: a cleaner records the first offset it has not reached (cleaner-offset-checkpoint,
LogCleanerManager); below it offsets may be missing anywhere. The checkpoint may be older than the segments.
So where offsets are missing that it does not cover, segments are searched for traces. A cleaner goes through
a log from its beginning, by whole segments (Cleaner.doClean): it has cleaned a segment with a trace, up to
the beginning of the next one, and all segments before it. Offsets missing from there on are lost. A copy may
lack the checkpoint: a cleaner may leave no trace in a segment, so its progress after the last trace is
unknown then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from kafka_segments.core.formats.file_names import NO_END

__all__ = ["Traces"]


class Traces:
    """Progress of the cleaner; each segment is examined at most once, and only on demand.

    Args:
        noted: value of cleaner-offset-checkpoint; None if there is none.
        begins: where segments begin, by their names and by their content.
        lasts: the last offset of each segment.
        shows: whether the segment of a number has a trace.
    """

    def __init__(
        self,
        noted: int | None,
        begins: Iterable[int],
        lasts: Sequence[int],
        shows: Callable[[int], bool],
    ) -> None:
        self._end, self._is_noted, self._shows = noted or 0, noted is not None, shows
        ends = [*sorted(set(begins)), NO_END]
        # Sorted by the beginning of the following segment.
        self._unexamined = sorted((ends[bisect_right(ends, last)], at) for at, last in enumerate(lasts))

    def lost_from(self, first: int, last: int) -> int:
        """Return the first missing offset that the cleaner did not remove; `last` + 1 if it removed all.

        Of many queries, begin with the greatest offsets: that examines the fewest segments.
        """
        if self._end <= last:
            self._look_beyond(last)
        if self._end <= last:
            self._look_from(first if self._is_noted else -1)
        return min(max(first, self._end), last + 1)

    def _look_beyond(self, last: int) -> None:
        """Search for a trace that covers an offset, in the nearest segments first."""
        at = bisect_right(self._unexamined, (last, NO_END))
        while self._end <= last and at < len(self._unexamined):
            end, number = self._unexamined.pop(at)
            if self._shows(number):
                self._end = end if self._is_noted else NO_END

    def _look_from(self, first: int) -> None:
        """Search for the last trace that covers an offset, but not all offsets after it."""
        while self._unexamined and self._unexamined[-1][0] > max(first, self._end):
            end, number = self._unexamined.pop()
            if self._shows(number):
                self._end = end if self._is_noted else NO_END
