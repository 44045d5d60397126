"""The segments of a log, each with its own offsets, for readers and for judging transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from operator import itemgetter

from kafka_segments.errors import KafkaFormatError, ReadError, UnknownFormatError
from kafka_segments.formats.entries import Damage
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_beside
from kafka_segments.segment.continuity import out_of_order
from kafka_segments.segment.segment import Segment
from kafka_segments.segment.transactions.state import DataBatch, Lost, Marker, Step

__all__ = ["UNOPENED", "LogFile", "Unplaced", "is_unopened", "lost_file"]

UNOPENED = (ReadError, UnknownFormatError)
"""What opening a segment raises for the file's sake."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A segment of a log.

    Attributes:
        segment: where it lies.
        places: opens what belongs to it.
        open_file: opens it.
        base_offset: where it belongs in the log: by its name, or by its content where that decides.
        start: what it has below this offset belongs to another segment; None for everything. (0 would leave
            out batches with negative offsets, whose base offset was changed.)
        end: likewise from this offset on.
        is_unplaced: its name is wrong, and where it belongs is in doubt.
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
        """The path of the segment, for people."""
        return self.segment.path

    @property
    def size(self) -> int:
        """The bytes of the segment."""
        return self.segment.size

    def open_beside(self, suffix: str) -> Source | None:
        """Open what belongs to it, by suffix (`txnindex`); None if there is no such file."""
        return open_beside(self.places, self.segment, suffix)

    def path_beside(self, suffix: str) -> str:
        """The path of what belongs to it, which need not be there."""
        if suffix in self.segment.beside:
            return self.segment.beside[suffix].path
        folder, slash, _name = self.path.rpartition("/")
        return f"{folder}{slash}{self.segment.base_offset:020d}.{suffix}"

    def steps_of(self, segment: Segment) -> Iterator[Step]:
        """What the segment shows of the offsets that are its own."""
        steps = segment.iter_steps()
        is_whole = self.end is None and (self.start is None or self.start <= self.base_offset)
        return steps if is_whole else _inside(steps, self.start, self.end)


class Unplaced:
    """Where the end of a transaction may be missing because it is in a segment that is read elsewhere.

    That is in front of an unplaced segment and behind it, and at the place that its name says.

    Args:
        files: the segments in the order in which they are read.
        gaps: what `continuity` finds; of an unplaced segment, that it is wrong.
    """

    def __init__(self, files: Sequence[LogFile], gaps: Iterable[Damage]) -> None:
        wrong = out_of_order(gaps)
        unplaced = [file for file in files if file.is_unplaced]
        self._own = {file.path: wrong[file.path] for file in unplaced}
        named = ((file.segment.base_offset, wrong[file.path]) for file in unplaced)
        self._waiting = deque(sorted(named, key=itemgetter(0)))

    def before(self, file: LogFile | None) -> Iterator[Damage]:
        """What may be missing in front of a segment; None is the end of the log."""
        if file is not None and file.is_unplaced:
            yield self._own[file.path]
            return
        while self._waiting and (file is None or self._waiting[0][0] < file.base_offset):
            yield self._waiting.popleft()[1]

    def behind(self, file: LogFile) -> Iterator[Damage]:
        """What may be missing behind a segment."""
        if file.is_unplaced:
            yield self._own[file.path]


def lost_file(file: LogFile, following: int | None, error: KafkaFormatError) -> Damage:
    """A whole segment as damage, because it cannot be opened.

    Args:
        file: the segment.
        following: base offset of the next one, None if it is the last.
        error: one of `UNOPENED`.
    """
    base, last = file.base_offset, None if following is None else following - 1
    return Damage(file.path, 0, file.size, error, base, last, base - 1, following)


def is_unopened(damage: Damage) -> bool:
    """Whether damage is a segment that cannot be opened; what cannot be read in one has a position."""
    error = damage.error
    return isinstance(error, UnknownFormatError) or (isinstance(error, ReadError) and error.position is None)


def _inside(steps: Iterable[Step], start: int | None, end: int | None) -> Iterator[Step]:
    """What a segment shows of some offsets; the others are another segment's to tell."""
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
