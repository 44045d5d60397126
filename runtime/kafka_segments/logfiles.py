"""A partition's segments as transactions are judged by them, wherever they lie, opened or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kafka_segments.entries import Damage
from kafka_segments.errors import KafkaFormatError, ReadError, UnknownFormatError
from kafka_segments.segment import Segment
from kafka_segments.storage import Source
from kafka_segments.transactions import DataBatch, Lost, Marker, Step

__all__ = ["UNOPENED", "LogFile", "is_unopened", "lost_file"]

UNOPENED = (ReadError, UnknownFormatError)
"""What opening a segment raises for the file's sake."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A segment of a partition, wherever it lies.

    Attributes:
        path: of the segment, for people.
        base_offset: by its name.
        size: bytes.
        open_file: opens it.
        open_beside: opens what belongs to it, by suffix (`txnindex`), or gives its path; None if there is no
            such file.
        start: what it has below this offset belongs to another segment.
        end: likewise from this offset on; None for everything.
    """

    path: str
    base_offset: int
    size: int
    open_file: Callable[[], AbstractContextManager[Segment]]
    open_beside: Callable[[str], str | Source | None]
    start: int = 0
    end: int | None = None

    def path_beside(self, suffix: str) -> str:
        """How a file beside it is called."""
        folder, slash, _name = self.path.rpartition("/")
        return f"{folder}{slash}{self.base_offset:020d}.{suffix}"

    def has_beside(self, suffix: str) -> bool:
        """Whether there is such a file."""
        source = self.open_beside(suffix)
        if source is not None and not isinstance(source, str):
            source.close()
        return source is not None

    def steps_of(self, segment: Segment) -> Iterator[Step]:
        """What the segment shows of the offsets that are its own."""
        steps = segment.iter_steps()
        is_whole = self.end is None and self.start <= self.base_offset
        return steps if is_whole else _inside(steps, self.start, self.end)


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


def _inside(steps: Iterable[Step], start: int, end: int | None) -> Iterator[Step]:
    """What a segment shows of some offsets; the others are another segment's to tell."""
    for step in steps:
        if isinstance(step, DataBatch | Marker):
            offset = step.base_offset if isinstance(step, DataBatch) else step.offset
            if offset >= start and (end is None or offset < end):
                yield step
        elif isinstance(step, Lost):
            if step.damage.touches(start, end):
                yield step
        elif isinstance(step, int):
            yield step if end is None else min(step, end - 1)
        else:
            yield step
