"""Files of a measurement, divided into stretches of data that a sample can be taken of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate

from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.write.sizes.extents import Extent, extents_of
from kafka_segments.write.sizes.stretches import read_stretch

__all__ = ["FileToMeasure", "Frame", "MeasuredFile", "data_file"]

_LEN_TAIL = 128 << 10  # in which the last entry begins, unless it is a large one


@dataclass(frozen=True, slots=True)
class FileToMeasure:
    """A segment to be measured.

    Attributes:
        path: its path or address.
        open: opens it; the caller closes it. It is called many times.
    """

    path: str
    open: Callable[[], Source]


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A segment, and where its data are.

    Attributes:
        file: the segment.
        extents: parts that hold data.
        size: bytes of the file.
    """

    file: FileToMeasure
    extents: tuple[Extent, ...]
    size: int

    @property
    def end(self) -> int:
        """Position where the data end."""
        return self.extents[-1][1] if self.extents else 0

    @property
    def has_holes(self) -> bool:
        """Whether there are holes before the end of the data."""
        return self.num_data != self.end

    @property
    def num_data(self) -> int:
        """Bytes of the data; without holes it is where they end."""
        return sum(end - start for start, end in self.extents)


def data_file(file: FileToMeasure) -> MeasuredFile:
    """Find where a segment's data are.

    Raises:
        KafkaFormatError: it cannot be opened or read, or is the log of another program.
    """
    with closing(file.open()) as source:
        refuse_foreign(source)
        return MeasuredFile(file, _with_last_entry(source, extents_of(source)), source.size)


def _with_last_entry(source: Source, extents: Sequence[Extent]) -> tuple[Extent, ...]:
    """Add the zeros that the last entry ends with, where more zeros follow."""
    if not extents or extents[-1][1] == source.size:
        return tuple(extents)
    start, end = extents[-1]
    last = read_stretch(source, [(max(start, end - _LEN_TAIL), end)], end).end_position
    return (*extents[:-1], (start, end if last is None else max(end, last)))


class Frame:
    """All stretches of some files, in order.

    Args:
        files: the files.
        len_stretch: bytes of data in a stretch; the last one of a file may be shorter.
    """

    def __init__(self, files: Sequence[MeasuredFile], len_stretch: int) -> None:
        self._files, self.len_stretch = files, len_stretch
        self._ends = list(accumulate(-(-file.num_data // len_stretch) for file in files))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def stretch(self, number: int) -> tuple[MeasuredFile, list[Extent]]:
        """Return the file of a stretch, and the parts of the file that it consists of."""
        at = bisect_right(self._ends, number)
        file = self._files[at]
        first = number - (self._ends[at - 1] if at else 0)
        return file, _parts(file.extents, first * self.len_stretch, self.len_stretch)


def _parts(extents: Sequence[Extent], start: int, size: int) -> list[Extent]:
    """The parts of `size` bytes of data, after `start` bytes of data."""
    ends = list(accumulate(end - begin for begin, end in extents))
    at = bisect_right(ends, start)
    found: list[Extent] = []
    skipped = start - (ends[at - 1] if at else 0)
    while size > 0 and at < len(extents):
        begin = extents[at][0] + skipped
        end = min(extents[at][1], begin + size)
        found.append((begin, end))
        size -= end - begin
        at, skipped = at + 1, 0
    return found
