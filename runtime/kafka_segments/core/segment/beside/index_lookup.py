"""Lookups in `.index` and `.timeindex` files by binary search.

Strategy: entries have one size and are in order, so a few reads are enough; a remote file or a small one is
read at once. Results are hints, which readers verify (`contents`, `query.timestamps`, `query.prune`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from kafka_segments.core import formats
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import MAX_LEN_INDEX
from kafka_segments.errors import CorruptIndexError, KafkaFormatError

__all__ = ["LEN_SMALL", "OffsetLookup", "TimeLookup", "offsets_in", "times_in"]

LEN_SMALL = 16 << 10
"""Bytes of an index that is read at once, at most: a request costs more than the bytes."""
_LEN_BLOCK = 4 << 10
_NUM_AROUND = 4

Decode = Callable[[bytes | memoryview], list[Sequence[int]]]
Entry = tuple[int, int]


class _Entries:
    """Entries of one size in a source; pairs of numbers."""

    def __init__(self, source: Source, len_entry: int, decode: Decode) -> None:
        self._source, self._len_entry, self._decode = source, len_entry, decode
        if source.size % len_entry:
            detail = f"{source.size} bytes, which is not a multiple of an entry's {len_entry}"
            raise CorruptIndexError(detail, position=source.size - source.size % len_entry)
        if source.size > MAX_LEN_INDEX:
            raise CorruptIndexError(
                f"{source.size} bytes, more than the {MAX_LEN_INDEX} that this reader takes"
            )
        is_near = source.descriptor >= 0 or source.is_memory
        self._len_block = _LEN_BLOCK // len_entry * len_entry
        if not is_near or source.size <= LEN_SMALL:
            self._len_block = max(source.size, len_entry)
        self._block: tuple[int, bytes] = (-1, b"")
        self.num = self._num_used()

    def bytes_of(self, at: int) -> bytes:
        position = at * self._len_entry
        start = position // self._len_block * self._len_block
        if self._block[0] != start:
            size = min(self._len_block, self._source.size - start)
            self._block = start, bytes(self._source.read(start, size))
        begin = position - start
        return self._block[1][begin : begin + self._len_entry]

    def pairs(self, places: Sequence[int]) -> list[Entry]:
        first, second = self._decode(b"".join([self.bytes_of(at) for at in places]))
        return list(zip(first, second, strict=True))

    def num_of(self, is_before: Callable[[Entry], bool], guess: int = 0) -> int:
        """Count the entries for which it holds, which come first; `guess` is an estimate."""
        around = range(max(0, guess - _NUM_AROUND), min(self.num, guess + _NUM_AROUND))
        holds = [is_before(pair) for pair in self.pairs(around)]
        if (any(holds) or around.start == 0) and (not all(holds) or around.stop == self.num):
            return around.start + holds.index(False) if False in holds else around.stop
        return self._bisect(self.num, lambda at: is_before(self.pairs([at])[0]))

    def close(self) -> None:
        self._source.close()

    def _num_used(self) -> int:
        """Count the entries before the zeros that a broker preallocates."""
        total = self._source.size // self._len_entry
        if total == 0 or any(self.bytes_of(total - 1)):
            return total
        return self._bisect(total, lambda at: any(self.bytes_of(at)))

    @staticmethod
    def _bisect(high: int, holds: Callable[[int], bool]) -> int:
        low = 0
        while low < high:
            at = (low + high) // 2
            if holds(at):
                low = at + 1
            else:
                high = at
        return low


class _Lookup:
    """Open index file; a context manager."""

    def __init__(self, entries: _Entries, base_offset: int, last: Entry) -> None:
        self._entries, self._base_offset = entries, base_offset
        self._last = last  # as it is stored; zeros if there is none

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entries.close()

    def __len__(self) -> int:
        return self._entries.num

    def entry(self, at: int) -> Entry:
        """Return one entry, with an absolute offset."""
        raise NotImplementedError

    def last(self) -> Entry | None:
        """Return the last entry; None if there is none."""
        return self.entry(len(self) - 1) if len(self) else None


class OffsetLookup(_Lookup):
    """Open `.index`; an entry has the last offset of an append and the position where it begins.

    Until Kafka 1.1 it is the first offset of the append. In either case greater offsets are there or later.
    """

    def entry(self, at: int) -> Entry:
        """Return offset and position of one entry."""
        return self.entries([at])[0]

    def entries(self, places: Sequence[int]) -> list[Entry]:
        """Return offsets and positions of entries."""
        return [(self._base_offset + relative, at) for relative, at in self._entries.pairs(places)]

    def last_below(self, offset: int) -> Entry | None:
        """Return the last entry below an offset: that offset and all later ones are from its position on.

        (OffsetIndex.lookup, one offset before.)
        """
        num = self.num_below(offset)
        return self.entry(num - 1) if num else None

    def num_below(self, offset: int) -> int:
        """Count the entries below an offset."""
        if not len(self):
            return 0
        relative, highest = offset - self._base_offset, max(1, self._last[0])
        guess = min(len(self), max(0, len(self) * relative // highest))
        return self._entries.num_of(lambda entry: entry[0] < relative, guess)

    def num_before(self, position: int) -> int:
        """Count the entries before a position."""
        return self._entries.num_of(lambda entry: entry[1] < position)


class TimeLookup(_Lookup):
    """Open `.timeindex`; an entry has the greatest timestamp up to an offset.

    The last entry of a closed segment has its greatest timestamp.
    """

    def entry(self, at: int) -> Entry:
        """Return timestamp and offset of one entry."""
        timestamp, relative = self._last if at == len(self) - 1 else self._entries.pairs([at])[0]
        return timestamp, self._base_offset + relative

    def last_below(self, timestamp: int) -> Entry | None:
        """Return the last entry below a timestamp: all records up to its offset are below it."""
        num = self._entries.num_of(lambda entry: entry[0] < timestamp)
        return self.entry(num - 1) if num else None

    def first_not_below(self, timestamp: int) -> Entry | None:
        """Return the first entry at or after a timestamp."""
        num = self._entries.num_of(lambda entry: entry[0] < timestamp)
        return self.entry(num) if num < len(self) else None


def offsets_in(source: Source, base_offset: int) -> OffsetLookup:
    """Open a `.index` for lookups, which close the file.

    Args:
        source: the file.
        base_offset: of the segment.

    Raises:
        ReadError: it cannot be read.
        CorruptIndexError: its size is not a multiple of an entry's, or its last offset is below the base
            offset (OffsetIndex.sanityCheck).
    """
    with _closing_at_errors(source):
        entries = _Entries(source, formats.LEN_OFFSET_ENTRY, formats.read_offset_entries)
        last = entries.pairs([entries.num - 1])[0] if entries.num else (0, 0)
        if last[0] < 0:
            raise CorruptIndexError(f"the last offset is below the base offset {base_offset}")
    return OffsetLookup(entries, base_offset, last)


def times_in(source: Source, base_offset: int) -> TimeLookup:
    """Open a `.timeindex` for lookups, as `offsets_in`.

    Raises:
        CorruptIndexError: also if its last timestamp is below the first (TimeIndex.sanityCheck).
    """
    with _closing_at_errors(source):
        entries, last, relative = _Entries(source, formats.LEN_TIME_ENTRY, formats.read_time_entries), 0, 0
        if entries.num:
            (first, _), (last, relative) = entries.pairs([0, entries.num - 1])
            if last < first or relative < 0:
                raise CorruptIndexError(
                    f"the last entry has timestamp {last} and offset {base_offset + relative}; the first "
                    f"timestamp is {first}, the segment's base offset {base_offset}"
                )
    return TimeLookup(entries, base_offset, (last, relative))


@contextmanager
def _closing_at_errors(source: Source) -> Iterator[None]:
    """Close a source if using it fails, and add its name to our errors."""
    try:
        yield
    except BaseException as error:
        source.close()
        if isinstance(error, KafkaFormatError):
            raise error.with_context(path=error.path or source.name) from error.__cause__
        raise
