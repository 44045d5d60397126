"""Segments of a log, each with its own offsets and in their order, for readers and for transactions.

Strategy: `continuity` judges by the first and last offset of each segment. If names are wrong, segments are
read in the order of their content, so that records come in the order of the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.continuity import (
    CheckpointedOffsets,
    Extent,
    SegmentContents,
    find_gaps,
    out_of_order,
)
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.markers import Hear
from kafka_segments.core.segment.transactions.state import DataBatch, Lost, Marker, Step, Transactions
from kafka_segments.errors import KafkaFormatError, ReadError, UnknownFormatError
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import Budget, open_beside
from kafka_segments.log.segment_extents import contents_or_unknown, runs_at, shows_cleaner

__all__ = [
    "UNOPENED",
    "Listen",
    "LogFile",
    "SegmentOrder",
    "Unplaced",
    "gaps_in",
    "is_unopened",
    "lost_file",
]

UNOPENED = (ReadError, UnknownFormatError)
"""Errors of opening a segment that the file causes."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A segment of a log.

    Attributes:
        segment: the stored segment.
        places: opens its other files.
        open_file: opens it.
        base_offset: its place in the log: by its name, or by its content if the name is wrong.
        start: records below this offset belong to another segment; None for no bound. (0 would leave out
            batches with negative offsets, whose base offset was changed.)
        end: likewise from this offset on.
        is_unplaced: its name is wrong, and its place in the log is in doubt.
    """

    segment: StoredSegment
    places: Places
    open_file: Callable[[], AbstractContextManager[Segment]]
    base_offset: int
    start: int | None = None
    end: int | None = None
    is_unplaced: bool = False

    @property
    def path(self) -> str:
        return self.segment.path

    @property
    def size(self) -> int:
        return self.segment.size

    def open_beside(self, suffix: str) -> Source | None:
        """Open one of its other files by suffix (`txnindex`); None if it does not exist."""
        return open_beside(self.places, self.segment, suffix)

    def path_beside(self, suffix: str) -> str:
        """Return the path of one of its other files, which need not exist."""
        if suffix in self.segment.beside:
            return self.segment.beside[suffix].path
        folder, slash, _name = self.path.rpartition("/")
        return f"{folder}{slash}{self.segment.base_offset:020d}.{suffix}"

    def steps_of(self, segment: Segment, hears: Sequence[Hear] = ()) -> Iterator[Step]:
        """Yield the transaction steps of the segment's own offsets; `hears` hear of all that is in it."""
        steps = segment.iter_steps(hears)
        is_whole = self.end is None and (self.start is None or self.start <= self.base_offset)
        return steps if is_whole else _inside(steps, self.start, self.end)


Listen = Callable[[LogFile, Transactions], Hear]
"""Called before a segment is opened, with the state of the log; what it returns hears of the segment."""


class Unplaced:
    """Places where a transaction's marker may be missing because it is in an unplaced segment.

    These are before and after an unplaced segment, and at the place of its name.

    Args:
        files: the segments in the order in which they are read.
        gaps: the damage that `continuity` reports, also for unplaced segments.
    """

    def __init__(self, files: Sequence[LogFile], gaps: Iterable[Damage]) -> None:
        wrong = out_of_order(gaps)
        unplaced = [file for file in files if file.is_unplaced]
        self._own = {file.path: wrong[file.path] for file in unplaced}
        named = ((file.segment.base_offset, wrong[file.path]) for file in unplaced)
        self._waiting = deque(sorted(named, key=itemgetter(0)))

    def before(self, file: LogFile | None) -> Iterator[Damage]:
        """Yield the possible gaps before a segment; None is the end of the log."""
        if file is not None and file.is_unplaced:
            yield self._own[file.path]
            return
        while self._waiting and (file is None or self._waiting[0][0] < file.base_offset):
            yield self._waiting.popleft()[1]

    def after(self, file: LogFile) -> Iterator[Damage]:
        """Yield the possible gaps after a segment."""
        if file.is_unplaced:
            yield self._own[file.path]


def lost_file(file: LogFile, following: int | None, error: KafkaFormatError) -> Damage:
    """Report a whole segment as damage because it cannot be opened.

    Args:
        file: the segment.
        following: base offset of the next one, None if it is the last.
        error: one of `UNOPENED`.
    """
    base, last = file.base_offset, None if following is None else following - 1
    return Damage(file.path, 0, file.size, error, base, last, base - 1, following)


def is_unopened(damage: Damage) -> bool:
    """Return whether damage is a segment that cannot be opened; other read errors have a position."""
    error = damage.error
    return isinstance(error, UnknownFormatError) or (isinstance(error, ReadError) and error.position is None)


def _inside(steps: Iterable[Step], start: int | None, end: int | None) -> Iterator[Step]:
    """Yield the steps of an offset range; other segments have the others."""
    for step in steps:
        if isinstance(step, DataBatch | Marker):
            offset = step.base_offset if isinstance(step, DataBatch) else step.offset
            if (start is None or offset >= start) and (end is None or offset < end):
                yield step
        elif isinstance(step, Lost):
            if step.damage.touches(start, end):
                yield step
        elif isinstance(step, int):
            yield step if end is None else min(step, end - 1)
        else:
            yield step


def gaps_in(
    places: Places,
    segments: Iterable[StoredSegment],
    contents: Sequence[SegmentContents],
    noted: CheckpointedOffsets,
    *,
    name: tuple[str, int] | None = None,
    budget: Budget | None = None,
) -> list[Damage]:
    """Find gaps between segments, and segments in the wrong place; see `continuity.find_gaps`.

    Args:
        places: opens the segments that have to be examined.
        segments: all of a partition.
        contents: of each one, by base offset.
        noted: the broker's checkpoints.
        name: topic and partition, for the errors.
        budget: bytes that may be examined; None is any.
    """
    by_path = {one.path: one for one in segments}

    def may_read(one: SegmentContents) -> bool:
        return budget is None or budget.spend(by_path[one.path].file)

    def is_cleaned(one: SegmentContents) -> bool:
        return may_read(one) and shows_cleaner(places, by_path[one.path])

    def look(one: SegmentContents) -> list[Extent]:
        return runs_at(places, by_path[one.path]) if may_read(one) else []

    return find_gaps(contents, noted, is_cleaned, look, name)


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

    @cached_property
    def contents(self) -> tuple[SegmentContents, ...]:
        """Contents of each segment, in the order of the names."""
        return tuple(map(_contents_of, self._named))

    @cached_property
    def gaps(self) -> tuple[Damage, ...]:
        """Gaps, and segments in the wrong place; see `continuity.find_gaps`."""
        if not self._is_whole or not self._named:
            return ()

        places, segments = self._named[0].places, [file.segment for file in self._named]
        return tuple(gaps_in(places, segments, self.contents, self._noted, name=self._name))

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

    def gaps_by_place(self, files: Sequence[LogFile]) -> list[list[Damage]]:
        """Return the gaps that are reported before each segment, then those after the last one."""
        places = {file.path: at for at, file in enumerate(files)}
        found: list[list[Damage]] = [[] for _ in range(len(files) + 1)]
        for gap in self.gaps:
            found[places[gap.path] + (gap.position > 0)].append(gap)
        return found


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
