"""Order of a log's segments by content, and gaps between them.

Strategy: `continuity` judges by the first and last offset of each segment. If names are wrong, segments are
read in the order of their content, so that records come in the order of the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.continuity import (
    CheckpointedOffsets,
    Extent,
    SegmentContents,
    find_gaps,
    out_of_order,
)
from kafka_segments.log.log_files import LogFile
from kafka_segments.log.segment_extents import contents_or_unknown, runs_at, shows_cleaner

__all__ = ["SegmentOrder", "up_to"]


class SegmentOrder:
    """Segments of a log in order; they are opened at first use.

    Args:
        files: the segments, in the order of their names.
        noted: the broker's checkpoints.
        name: topic and partition.
        is_whole: whether these are all segments; else gaps are not reported.
    """

    def __init__(
        self, files: Sequence[LogFile], noted: CheckpointedOffsets, name: tuple[str, int], *, is_whole: bool
    ) -> None:
        self._named = tuple(files)
        self._noted, self._name, self._is_whole = noted, name, is_whole
        self._by_path = {file.path: file for file in files}

    @cached_property
    def contents(self) -> tuple[SegmentContents, ...]:
        """Contents of each segment, in the order of the names."""
        return tuple(map(_contents_of, self._named))

    @cached_property
    def gaps(self) -> tuple[Damage, ...]:
        """Gaps, and segments in the wrong place; see `continuity.find_gaps`."""
        if not self._is_whole or not self._named:
            return ()

        def is_cleaned(held: SegmentContents) -> bool:
            file = self._by_path[held.path]
            return shows_cleaner(file.places, file.segment)

        def look(held: SegmentContents) -> list[Extent]:
            file = self._by_path[held.path]
            return runs_at(file.places, file.segment)

        return tuple(find_gaps(self.contents, self._noted, is_cleaned, look, self._name))

    @cached_property
    def astray(self) -> frozenset[str]:
        """Paths of the segments with offsets outside the range of their names."""
        return frozenset(out_of_order(self.gaps))

    @cached_property
    def files(self) -> tuple[LogFile, ...]:
        """Segments in the order of their content, which is that of their names unless those are wrong.

        A segment whose base offset was changed is unplaced: it joins no neighbour, so transactions that
        markers before or after it end are in doubt. Files with swapped names join where they belong.
        """
        if not self.astray:
            return self._named
        found = [
            (file if one.extent is None else replace(file, base_offset=one.extent.first), one)
            for file, one in zip(self._named, self.contents, strict=True)
        ]
        found.sort(key=lambda pair: pair[0].base_offset)
        joins = [_joins(one, other) for (_, one), (_, other) in pairwise(found)]
        return tuple(
            replace(file, is_unplaced=file.path in self.astray and not (before and after))
            for (file, _), before, after in zip(found, [True, *joins], [*joins, True], strict=True)
        )

    def gaps_by_place(self, files: Sequence[LogFile]) -> deque[tuple[int, Damage]]:
        """Return each gap with the number of the segment that it is reported before."""
        places = {file.path: at for at, file in enumerate(files)}
        found = ((places[gap.path] + (gap.position > 0), gap) for gap in self.gaps)
        return deque(sorted(found, key=itemgetter(0)))


def _contents_of(file: LogFile) -> SegmentContents:
    held = contents_or_unknown(file.places, file.segment)
    if file.start is None and file.end is None:
        return held
    base_offset = file.base_offset if file.start is None else file.start
    if held.extent is None:
        return replace(held, base_offset=base_offset) if held.is_unknown else held
    first = held.extent.first if file.start is None else max(held.extent.first, file.start)
    last = held.extent.last if file.end is None else min(held.extent.last, file.end - 1)
    return replace(held, base_offset=base_offset, extent=Extent(first, last) if first <= last else None)


def _joins(one: SegmentContents, other: SegmentContents) -> bool:
    return one.extent is not None and other.extent is not None and one.extent.last + 1 == other.extent.first


def up_to(gaps: deque[tuple[int, Damage]], at: int) -> Iterator[Damage]:
    """Take the gaps that are reported before a segment or an earlier one."""
    while gaps and gaps[0][0] <= at:
        yield gaps.popleft()[1]
