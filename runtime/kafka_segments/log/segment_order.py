"""The segments of a partition in the order of their content, and what is missing between them.

Strategy: `continuity` judges by the first and last offset of each segment. Where names are wrong the content
decides in which order segments are read, so that records come in the order of the log.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from kafka_segments.errors import SegmentOrderError
from kafka_segments.formats.entries import Damage
from kafka_segments.log.log_dir import PartitionDir, SegmentFile
from kafka_segments.log.log_files import UNOPENED
from kafka_segments.segment.continuity import Extent, Holding, find_gaps
from kafka_segments.segment.segment import Segment

__all__ = ["Arranged", "up_to"]


class Arranged:
    """What the segments of a partition hold, looked up when it is first asked for.

    Args:
        directory: the partition and its segments.
        open_file: opens one.
        is_whole: whether these are all; else nothing can be said of what is missing.
    """

    def __init__(
        self,
        directory: PartitionDir,
        open_file: Callable[[SegmentFile], AbstractContextManager[Segment]],
        *,
        is_whole: bool,
    ) -> None:
        self._directory, self._segments = directory, directory.segments
        self._open_file = open_file
        self._is_whole = is_whole

    @cached_property
    def holdings(self) -> tuple[Holding, ...]:
        """What each segment holds, in the order of the names."""
        return tuple(map(self._hold, self._segments))

    @cached_property
    def gaps(self) -> tuple[Damage, ...]:
        """What is missing or in the wrong place; see `continuity.find_gaps`."""
        if not self._is_whole or not self._segments:
            return ()
        name = self._directory.topic, self._directory.partition
        return tuple(find_gaps(self.holdings, self._directory.noted, self._is_cleaned, self._look, name))

    @cached_property
    def astray(self) -> frozenset[str]:
        """The segments, by path, of which it is told that they hold other offsets than they should."""
        return frozenset(gap.path for gap in self.gaps if isinstance(gap.error, SegmentOrderError))

    @cached_property
    def files(self) -> tuple[SegmentFile, ...]:
        """The segments in the order of their content, which is that of their names unless those are wrong."""
        if not self.astray:
            return self._segments
        found = []
        for file, one in zip(self._segments, self.holdings, strict=True):
            found.append(file if one.extent is None else replace(file, base_offset=one.extent.first))
        return tuple(sorted(found, key=lambda file: file.base_offset))

    @cached_property
    def unplaced(self) -> dict[str, int]:
        """Of `astray`, those that join no neighbours in the order of the content, with their base offset.

        One whose base offset was changed is not where its records were, so what a marker in front of it or
        behind it ends is in doubt. Files of which the names were swapped join where they belong.
        """
        if not self.astray:  # nor is any segment looked into, where not all of them are here
            return {}
        held = {one.path: one for one in self.holdings}
        order = [held[file.path] for file in self.files]
        joins = [_joins(one, other) for one, other in pairwise(order)]
        places = zip(order, [True, *joins], [*joins, True], strict=True)
        return {
            one.path: one.base_offset
            for one, before, behind in places
            if one.path in self.astray and not (before and behind)
        }

    def gaps_by_place(self, files: Sequence[SegmentFile]) -> deque[tuple[int, Damage]]:
        """Each gap with the number of the segment that it is told in front of."""
        places = {file.path: at for at, file in enumerate(files)}
        found = ((places[gap.path] + (gap.position > 0), gap) for gap in self.gaps)
        return deque(sorted(found, key=itemgetter(0)))

    def _hold(self, file: SegmentFile) -> Holding:
        try:
            with self._open_file(file) as segment:
                return segment.hold(file.base_offset, f"{os.path.splitext(file.path)[0]}.index")
        except UNOPENED:
            return Holding(file.path, file.base_offset, file.size, is_unknown=True)

    def _is_cleaned(self, held: Holding) -> bool:
        """Whether a segment shows that the log cleaner has been in it."""
        with suppress(*UNOPENED), self._open(held) as segment:
            return segment.is_cleaned()
        return False

    def _look(self, held: Holding) -> list[Extent]:
        """The offsets of all entries in a segment."""
        with suppress(*UNOPENED), self._open(held) as segment:
            return segment.runs()
        return []

    def _open(self, held: Holding) -> AbstractContextManager[Segment]:
        return self._open_file(self._by_path[held.path])

    @cached_property
    def _by_path(self) -> dict[str, SegmentFile]:
        return {one.path: one for one in self._segments}


def _joins(one: Holding, other: Holding) -> bool:
    """Whether the offsets of a segment end where those of another begin."""
    return one.extent is not None and other.extent is not None and one.extent.last + 1 == other.extent.first


def up_to(gaps: deque[tuple[int, Damage]], at: int) -> Iterator[Damage]:
    """Take the gaps that are told in front of a segment or of one before it."""
    while gaps and gaps[0][0] <= at:
        yield gaps.popleft()[1]
