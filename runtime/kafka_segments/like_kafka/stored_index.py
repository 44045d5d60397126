"""Index files as AbstractIndex of Kafka has them: zeros that a broker preallocated are entries, too.

That is not how `segment.index_files` reads them. Lookups search among all entries, in the order in which
Kafka does, and a part of an entry at the end is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from kafka_segments.core import formats
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.beside.index_files import MAX_LEN_INDEX
from kafka_segments.errors import CorruptIndexError, OptionError
from kafka_segments.like_kafka.lenient_entries import HIGHEST_INT, EntryReader

__all__ = ["IndexOptions", "StoredIndex", "content_of", "end_of_slice", "offset_in_name", "path_beside"]

_LEN_WARM = 8192  # bytes at the end of an index that AbstractIndex searches first


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What is done with an index.

    Attributes:
        is_sanity_only: check its last entry and its size, and nothing else.
        is_verify_only: print no entries.
        max_message_size: bytes that are looked at for the batch of an entry.
    """

    is_sanity_only: bool = False
    is_verify_only: bool = False
    max_message_size: int = HIGHEST_INT


class StoredIndex:
    """Entries of an index: pairs of numbers, as they are stored, whole ones alone.

    Raises:
        CorruptIndexError: the file is larger than any index.
        ReadError: it cannot be read.
    """

    def __init__(
        self, path: str, len_entry: int, decode: Callable[[bytes], list[Sequence[int]]], base_offset: int
    ) -> None:
        data = content_of(path)
        self.path, self.base_offset = path, base_offset
        self.size, self.len_entry = len(data), len_entry
        self.firsts, self.seconds = decode(data[: len(data) // len_entry * len_entry])

    def __len__(self) -> int:
        return len(self.firsts)

    def check_size(self) -> None:
        """Refuse a part of an entry at the end (sanityCheck)."""
        if self.size % self.len_entry:
            detail = f"{self.size} bytes, which is not a multiple of an entry's {self.len_entry}"
            raise CorruptIndexError(detail, path=self.path)

    def check_last_offset(self, relative: int) -> None:
        """Refuse a last offset below that of the segment (sanityCheck)."""
        if relative < 0:
            detail = f"the last offset is {self.base_offset + relative}, below that of the segment"
            raise CorruptIndexError(f"{detail}, {self.base_offset}", path=self.path)

    def position_of(self, offset: int) -> int:
        """The position of the last entry up to an offset, 0 if there is none (OffsetIndex.lookup).

        The search is that of AbstractIndex, whose result differs from others where entries are not in order.
        """
        last = len(self) - 1
        if last < 0:
            return 0
        relative = offset - self.base_offset
        first_warm = max(0, last - _LEN_WARM // self.len_entry)
        if self.firsts[first_warm] < relative:
            return self.seconds[self._search(relative, first_warm, last)]
        return 0 if self.firsts[0] > relative else self.seconds[self._search(relative, 0, first_warm)]

    def _search(self, relative: int, low: int, high: int) -> int:
        while low < high:
            middle = (low + high + 1) // 2
            if self.firsts[middle] == relative:
                return middle
            low, high = (low, middle - 1) if self.firsts[middle] > relative else (middle, high)
        return low


def offset_in_name(path: str) -> int:
    """The offset that a file's name begins with (Long.parseLong).

    Raises:
        OptionError: there is none.
    """
    first = os.path.basename(path).partition(".")[0]
    offset = int(first) if re.fullmatch(r"[+-]?[0-9]+", first) else None
    if offset is None or offset != formats.wrap_long(offset):
        raise OptionError(f"the name begins with {first!r}, and not with an offset", path=path)
    return offset


def path_beside(path: str, suffix: str) -> str:
    """The file of another kind that belongs to the same segment."""
    first = os.path.basename(path).partition(".")[0]
    return os.path.join(os.path.dirname(path), f"{first}{suffix}")


def content_of(path: str) -> bytes:
    with closing(open_source(path, only_files=True)) as source:
        if source.size > MAX_LEN_INDEX:
            detail = f"{source.size} bytes, more than the {MAX_LEN_INDEX} that this reader takes"
            raise CorruptIndexError(detail, path=path)
        return bytes(source.read(0, source.size))


def end_of_slice(reader: EntryReader, position: int, size: int) -> int:
    """Where a part of the log ends (FileRecords.slice); a sum above that of an int is the log's end."""
    if not 0 <= position <= reader.source.size:
        detail = f"position {position} is not in the log, which has {reader.source.size} bytes"
        raise CorruptIndexError(detail, path=reader.source.name)
    if size < 0:
        raise OptionError(f"--max-message-size is {size}; give a number of bytes")
    return min(position + size, reader.source.size)
