"""Segments of a log, each with its own offsets, for readers and for transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from operator import itemgetter

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.continuity import out_of_order
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.markers import Hear
from kafka_segments.core.segment.transactions.state import DataBatch, Lost, Marker, Step, Transactions
from kafka_segments.errors import KafkaFormatError, ReadError, UnknownFormatError
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_beside

__all__ = ["UNOPENED", "Listen", "LogFile", "Unplaced", "is_unopened", "lost_file"]

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
