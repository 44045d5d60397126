"""The next sound entry after a damaged one.

Strategy: a regular expression over windows of the file finds positions with a plausible length and a known
magic; it is derived from the generated classes. Each candidate is then checked by its checksum, which
`SpanChecksums` computes at a fixed price for any claimed length. Unreadable blocks are skipped. A long search
continues in machine code (`compiled_search`), a hundred times as fast, where that is available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

from crc32c import crc32c

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.core.io.storage import BLOCK_SIZE, Source
from kafka_segments.core.segment.scan.crc_spans import (
    CRC32_POLYNOMIAL,
    CRC32C_POLYNOMIAL,
    Checksum,
    SpanChecksums,
)
from kafka_segments.errors import CorruptBatchError, MissingExtraError, ReadError

if TYPE_CHECKING:
    from kafka_segments.core.segment.scan.compiled_search import Searcher

__all__ = ["Resync", "candidate_pattern"]

SkipNested: TypeAlias = Callable[[Batch], int | None]

_STEP = 1 << 20
_LEN_NEAR = 32 << 10  # most searches end within this, before machine code is loaded
_LEN_SLOW = 256 << 10  # of all searches so far, from which on machine code is used at once


def candidate_pattern(
    largest_body: int, magics: Collection[int] = formats.MAGICS
) -> tuple[re.Pattern[bytes], int]:
    """Return a pattern for positions where an entry may begin, and the distance of a match from there.

    A match starts at the length field's first byte. The pattern accepts too much: the caller parses the
    prefix.

    Args:
        largest_body: the greatest length that must be found.
        magics: those that must be found.
    """
    first = formats.OFS_LEN_BODY
    num_lower = formats.LEN_LOG_OVERHEAD - first - 1
    highest = min(0x7F, max(0, largest_body) >> (8 * num_lower))
    # Runs of zeros must not match: they are common, and each match is parsed.
    small = bytes(num_lower) + _any_of(range(formats.MIN_LEN_BODY))
    gap = formats.OFS_MAGIC - first - 1
    text = b"(?!%s)%s(?=.{%d}%s)" % (small, _any_of(range(highest + 1)), gap, _any_of(magics))
    return re.compile(text, re.DOTALL), first


def _any_of(values: Iterable[int]) -> bytes:
    """Return a pattern for one byte that is one of these values, signed or unsigned."""
    return b"[%s]" % re.escape(bytes(value % 256 for value in values))


class Resync:
    """Search of one source; each search reuses what earlier ones computed.

    Args:
        source: the segment's bytes.
        magics: those of entries.
    """

    def __init__(self, source: Source, magics: Collection[int] = formats.MAGICS) -> None:
        self._source = source
        self._magics = magics
        self._len_searched = 0  # bytes, by the regular expression
        self._can_compile = magics is formats.MAGICS  # the compiled search knows Kafka's own formats only
        self._searcher: Searcher | None = None
        self._spans: dict[Checksum, SpanChecksums] = {
            crc32c: SpanChecksums(source, crc32c, CRC32C_POLYNOMIAL),
            crc32: SpanChecksums(source, crc32, CRC32_POLYNOMIAL),
        }

    def true_entry(self, position: int) -> Batch | None:
        """Return the entry at `position`, if its length and magic are plausible and its checksum is right."""
        left = self._source.size - position
        if left < formats.LEN_PREFIX:
            return None
        try:
            prefix = formats.read_prefix(self._source.read(position, formats.LEN_PREFIX))
        except ReadError:
            return None
        return self._checked_entry(prefix, position) if self._is_plausible(prefix, left) else None

    def next_entry(
        self, position: int, sound_offset: int | None, skip_nested: SkipNested = lambda _batch: None
    ) -> Batch | None:
        """Return the first sound entry from `position` on.

        Args:
            position: where to begin.
            sound_offset: only entries with a greater base offset count.
            skip_nested: for a candidate that is part of what is damaged, returns where the search continues.
        """
        skipped_to = position
        near = min(position + _LEN_NEAR, self._source.size)
        if self._len_searched >= _LEN_SLOW:
            near = position
        searcher = None
        for candidate, prefix in self._candidates(position):
            if candidate >= near and (searcher := self._searcher_from(candidate)) is not None:
                near = candidate
                break
            is_later = sound_offset is None or prefix.base_offset > sound_offset
            if candidate < skipped_to or not is_later:
                continue
            if self._is_plausible(prefix, self._source.size - candidate):
                batch = self._checked_entry(prefix, candidate)
                end = None if batch is None else skip_nested(batch)
                if batch is not None and end is None:
                    self._len_searched += candidate - position
                    return batch
                skipped_to = end or skipped_to
        self._len_searched += near - position
        return (
            None
            if searcher is None
            else self._next_far(searcher, max(near, skipped_to), sound_offset, skip_nested)
        )

    def _next_far(
        self, searcher: Searcher, position: int, sound_offset: int | None, skip_nested: SkipNested
    ) -> Batch | None:
        """Continue `next_entry` in machine code, which finds positions; entries are read as before."""
        lowest = MIN_LONG if sound_offset is None else sound_offset + 1
        if lowest > MAX_LONG:
            return None
        while (place := searcher.next_place(position, lowest)) is not None:
            batch = self.true_entry(place)
            end = None if batch is None else skip_nested(batch)
            if batch is not None and end is None:
                return batch
            position = end or place + 1
        return None

    def _searcher_from(self, position: int) -> Searcher | None:
        """Return a compiled search from there on; None where the extra `arrow` is not installed."""
        if self._searcher is None or self._searcher.position > position:
            searcher_type = _searcher_type() if self._can_compile else None
            if searcher_type is None:
                return None
            try:
                self._searcher = searcher_type(self._source, position)
            except MissingExtraError:  # not compiled yet, and the compiler is disabled
                self._can_compile = False
        return self._searcher

    def _is_plausible(self, prefix: formats.Prefix, left: int) -> bool:
        is_known = prefix.magic in self._magics
        return is_known and prefix.len_body >= prefix.min_len_body and prefix.len_entry <= left

    def _checked_entry(self, prefix: formats.Prefix, position: int) -> Batch | None:
        try:
            len_head = formats.LEN_HEAD if prefix.is_known else formats.LEN_LONGEST_HEAD
            data = self._source.read(position, min(len_head, prefix.len_entry))
            batch = formats.read_entry_header(data, self._source.name, position, None)
            ofs_region, function = formats.checksum_region(batch.magic)
            computed = self._spans[function].checksum(position + ofs_region, position + prefix.len_entry)
        except (CorruptBatchError, ReadError):
            return None
        return batch if computed == batch.crc else None

    def _candidates(self, position: int) -> Iterator[tuple[int, formats.Prefix]]:
        largest = self._source.size - position - formats.LEN_LOG_OVERHEAD
        pattern, shift = candidate_pattern(largest, self._magics)
        for start, data in self._readable(position):
            for match in pattern.finditer(data, shift):
                at = match.start() - shift
                if at + formats.LEN_PREFIX <= len(data):
                    yield start + at, formats.read_prefix(data[at : at + formats.LEN_PREFIX])

    def _readable(self, position: int) -> Iterator[tuple[int, bytes]]:
        """Yield readable pieces with their positions; each repeats the end of the one before it."""
        overlap = formats.LEN_PREFIX - 1
        size = self._source.size
        while size - position > overlap:
            end = min(size, position + _STEP)
            try:
                yield position, bytes(self._source.read(position, end - position))
                position = end - overlap
            except ReadError as error:
                bad = position if error.position is None else error.position
                if bad > position:
                    yield position, bytes(self._source.read(position, bad - position))
                position = (bad // BLOCK_SIZE + 1) * BLOCK_SIZE


@cache
def _searcher_type() -> type[Searcher] | None:
    try:
        from kafka_segments.core.segment.scan.compiled_search import Searcher
    except ImportError:
        return None
    return Searcher
