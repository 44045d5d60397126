"""Files in stretches, and the entries that begin in each.

Strategy: a stretch is a part of a file that holds data; holes of sparse files and the zeros at the end are in
none. An entry belongs to the stretch that its first byte is in, so stretches that are drawn with the same
probability choose each entry with the same one, whatever its size. In the middle of a file the first entry is
searched for: a plausible prefix with a base offset that can be in this file, a valid checksum; after a
message of the old formats also a sound entry, or the end of the data. From there on the entries' own lengths
lead from one to the next.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.storage import BLOCK_SIZE, Source, Window
from kafka_segments.core.segment.scan.entry_check import Probe
from kafka_segments.core.segment.scan.entry_table import MOST_OFFSETS
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.scan.resync import candidate_pattern
from kafka_segments.errors import CorruptBatchError, ReadError

__all__ = ["MAX_OF_ENTRY", "EntryFinder", "Extent", "Frame", "MeasuredFile", "data_file"]

MAX_OF_ENTRY = 64 << 20
"""Bytes that an entry may take, and its records in memory; all of it is encoded in every form."""

_MOST = MAX_OF_ENTRY >> 20
_LEN_WINDOW = 64 << 10
_LEN_RUN = 1 << 20
_LEN_TAIL = 128 << 10  # in which the last entry begins, unless it is a large one
_MOST_ZEROS = 256 << 10  # before a hole
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}

Extent = tuple[int, int]
"""Positions of the first byte and of the one after the last."""


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A segment, and where its data are.

    Attributes:
        path: its path or address.
        open: opens it; the caller closes it. It is called many times.
        extents: parts that hold data.
        size: bytes of the file.
    """

    path: str
    open: Callable[[], Source]
    extents: tuple[Extent, ...]
    size: int

    @property
    def end(self) -> int:
        """Position where the data end."""
        return self.extents[-1][1] if self.extents else 0

    @property
    def num_data(self) -> int:
        """Bytes of the data; without holes it is where they end."""
        return sum(end - start for start, end in self.extents)


def data_file(path: str, open_file: Callable[[], Source]) -> MeasuredFile:
    """Find where a segment's data are.

    Args:
        path: its path or address.
        open_file: opens it.

    Raises:
        KafkaFormatError: it cannot be opened or read, or is the log of another program.
    """
    with closing(open_file()) as source:
        refuse_foreign(source)
        extents = list(_extents(source))
        if extents and extents[-1][1] < source.size:  # the last entry may end with zeros, too
            start, end = extents.pop()
            last = EntryFinder(source, end).runs(max(start, end - _LEN_TAIL), end)
            extents.append((start, max([end, *(run[1] for run in last if not isinstance(run, Damage))])))
        return MeasuredFile(path, open_file, tuple(extents), source.size)


def _extents(source: Source) -> Iterator[Extent]:
    """The parts of a source in which an entry may begin, in order.

    A hole reads as zeros. No entry begins inside one, except for zeros that its first field begins with. A
    broker that is stopped in an orderly way cuts off the zeros at the end; others preallocate segments.
    """
    end = Probe(source, Window(source)).zeros_position
    if source.size - end < formats.LEN_PREFIX:  # zeros of the last record
        end = source.size
    position = 0
    while position < end:
        start, stop = position, end
        if source.descriptor >= 0 and hasattr(os, "SEEK_DATA"):
            try:
                start = os.lseek(source.descriptor, position, os.SEEK_DATA)
                stop = min(os.lseek(source.descriptor, start, os.SEEK_HOLE), end)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    detail = f"its holes cannot be found: {error.strerror}"
                    raise ReadError(detail, position=position, path=source.name) from error
        yield max(start - formats.LEN_PREFIX, 0), stop if stop == end else _without_zeros(source, start, stop)
        position = stop


def _without_zeros(source: Source, start: int, stop: int) -> int:
    """Where the zeros before a hole begin: what a file system stores of a hole's first block is no data."""
    end = stop
    while end > start and stop - end < _MOST_ZEROS:
        size = min(BLOCK_SIZE, end - start)
        data = bytes(source.read(end - size, size)).rstrip(b"\0")
        end += len(data) - size
        if data:
            break
    return end


class Frame:
    """All stretches of some files, in order.

    Args:
        files: the files.
        len_stretch: bytes of a stretch; the last one before a hole or the end may be shorter.
    """

    def __init__(self, files: Sequence[MeasuredFile], len_stretch: int) -> None:
        self.len_stretch = len_stretch
        self._extents = [(file, *extent) for file in files for extent in file.extents]
        self._ends = list(accumulate(-(-(stop - start) // len_stretch) for _, start, stop in self._extents))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def stretch(self, number: int) -> tuple[MeasuredFile, int, int]:
        """Return the file of a stretch, and where it begins and ends."""
        at = bisect_right(self._ends, number)
        file, start, stop = self._extents[at]
        start += (number - (self._ends[at - 1] if at else 0)) * self.len_stretch
        return file, start, min(start + self.len_stretch, stop)


class EntryFinder:
    """Finder of the entries of one source, from any position on, forward.

    Args:
        source: the segment's bytes.
        end: where its data end.
    """

    def __init__(self, source: Source, end: int) -> None:
        self._source, self._end = source, end
        self._probe = Probe(source, Window(source, _LEN_WINDOW))
        first = self._prefix(0)
        self._lowest = None if first is None else first.base_offset
        self._at: int | None = 0
        """Where the next entry begins, or should; None if that is not known."""

    def runs(self, start: int, stop: int) -> Iterator[Extent | Damage]:
        """Yield where entries begin in a stretch, one after the other, and what is damaged between them.

        The first one is searched for, unless it follows one of an earlier stretch. A run of entries has a MiB
        at most, or is a single one.
        """
        if self._at is None or self._at < start:
            self._at = self._find(start, stop)
        begin = self._at
        while begin is not None and self._at is not None and self._at < stop:
            at, prefix = self._at, self._prefix(self._at)
            end = self._find(at + 1, stop) if prefix is None else at + prefix.len_entry
            is_left_out = prefix is None or prefix.len_entry > MAX_OF_ENTRY
            if begin < at and (is_left_out or end is None or end - begin > _LEN_RUN):
                yield begin, at
                begin = at
            if is_left_out:
                detail = "no sound entry is here" if prefix is None else f"left out: more than {_MOST} MiB"
                yield self._damage(at, stop if end is None else end, detail)
                begin = end
            self._at = end
        if begin is not None and self._at is not None and begin < self._at:
            yield begin, self._at

    def _damage(self, start: int, end: int, detail: str) -> Damage:
        return Damage(self._source.name, start, end, CorruptBatchError(detail), None, None)

    def _prefix(self, position: int) -> formats.Prefix | None:
        """Return the plausible beginning of an entry; None if none can be at this position."""
        left = self._source.size - position
        if left < formats.LEN_PREFIX:
            return None
        prefix = formats.read_prefix(self._source.read(position, formats.LEN_PREFIX))
        is_right = prefix.is_known and prefix.len_body >= prefix.min_len_body and prefix.len_entry <= left
        return prefix if is_right else None

    def _find(self, start: int, stop: int) -> int | None:
        """Return the position of the first entry that begins in `[start, stop)`; None if none does."""
        if start >= stop:
            return None
        left = self._source.size - start
        pattern, shift = candidate_pattern(left - formats.LEN_LOG_OVERHEAD)
        data = bytes(self._source.read(start, min(stop - start + formats.LEN_PREFIX, left)))
        for match in pattern.finditer(data, shift):
            position = start + match.start() - shift
            if position < stop and self._is_entry(position):
                return position
        return None

    def _is_entry(self, position: int) -> bool:
        prefix = self._prefix(position)
        if prefix is None:
            return False
        if self._lowest is not None and not 0 <= prefix.base_offset - self._lowest < MOST_OFFSETS:
            return False
        batch = self._sound(position)
        if batch is None or batch.magic >= 2:
            return batch is not None
        # A codec may have copied whole messages of a wrapper: there is no entry after the last one.
        return batch.end_position >= self._end or self._sound(batch.end_position) is not None

    def _sound(self, position: int) -> Batch | None:
        """Return the sound entry at a position, without a search for another one."""
        if self._prefix(position) is None:  # of zeros, `examine` would read all
            return None
        checked = self._probe.examine(position, None, check_crc=True)
        return checked.batch if checked.error is None else None
