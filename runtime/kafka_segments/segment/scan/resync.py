"""The next true entry behind a damaged one.

Strategy: a regular expression over windows of the file finds the places where a plausible length and a known
magic stand; it is made from what the generated classes say of the prefix. Each such place is then judged by
its checksum, which `SpanChecksums` gives at a fixed price whatever length is claimed. Blocks that cannot be
read are stepped over. A search that goes far is left to machine code (`compiled_search`), a hundred times as
fast, where that can be had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from kafka_segments import formats
from kafka_segments.errors import CorruptBatchError, MissingExtraError, ReadError
from kafka_segments.formats import checksum
from kafka_segments.formats.entries import Batch
from kafka_segments.io.storage import BLOCK_SIZE, Source
from kafka_segments.segment.scan.crc_spans import CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL, Checksum, SpanChecksums

if TYPE_CHECKING:
    from kafka_segments.segment.scan.compiled_search import Searcher

__all__ = ["Resync", "candidate_pattern"]

Inside: TypeAlias = Callable[[Batch], int | None]

_STEP = 1 << 20
_LEN_NEAR = 32 << 10  # where most searches end, before machine code would be loaded
_LEN_SLOW = 256 << 10  # of all searches, after which it is worth its while at once
_LEAST_LONG = -(1 << 63)


def candidate_pattern(largest_body: int) -> tuple[re.Pattern[bytes], int]:
    """A pattern for the places where an entry may begin, and how far behind its beginning a match starts.

    A match starts at the length field's first byte. It is wide on purpose: whoever uses it parses the prefix.

    Args:
        largest_body: lengths above this need not be found.
    """
    first = formats.OFS_LEN_BODY
    num_lower = formats.LEN_LOG_OVERHEAD - first - 1
    highest = min(0x7F, max(0, largest_body) >> (8 * num_lower))
    # Runs of zeros must not match: they are common, and each match is parsed.
    small = bytes(num_lower) + _any_of(range(formats.MIN_LEN_BODY))
    gap = formats.OFS_MAGIC - first - 1
    text = b"(?!%s)%s(?=.{%d}%s)" % (small, _any_of(range(highest + 1)), gap, _any_of(formats.MAGICS))
    return re.compile(text, re.DOTALL), first


def _any_of(values: Iterable[int]) -> bytes:
    """A pattern for one byte that is one of these, signed or not."""
    return b"[%s]" % re.escape(bytes(value % 256 for value in values))


class Resync:
    """Searches one source; what was learned in one search serves the next.

    Args:
        source: the segment's bytes.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._len_searched = 0  # by expression
        self._can_compile = True
        self._searcher: Searcher | None = None
        self._spans: dict[Checksum, SpanChecksums] = {
            checksum.crc32c: SpanChecksums(source, checksum.crc32c, CRC32C_POLYNOMIAL),
            checksum.crc32: SpanChecksums(source, checksum.crc32, CRC32_POLYNOMIAL),
        }

    def true_entry(self, position: int) -> Batch | None:
        """The entry at `position`, if its length and magic are plausible and its checksum is right."""
        left = self._source.size - position
        if left < formats.LEN_PREFIX:
            return None
        try:
            prefix = formats.read_prefix(self._source.read(position, formats.LEN_PREFIX))
        except ReadError:
            return None
        return self._judge(prefix, position) if _is_plausible(prefix, left) else None

    def next_entry(
        self, position: int, sound_offset: int | None, inside: Inside = lambda _batch: None
    ) -> Batch | None:
        """The first true entry from `position` on.

        Args:
            position: where to begin.
            sound_offset: only those whose base offset is above this count.
            inside: of what looks like one, and is a part of what is damaged, where the search goes on.
        """
        passed = position
        near = min(position + _LEN_NEAR, self._source.size)
        if self._len_searched >= _LEN_SLOW:
            near = position
        searcher = None
        for candidate, prefix in self._candidates(position):
            if candidate >= near and (searcher := self._searcher_from(candidate)) is not None:
                near = candidate
                break
            is_behind = sound_offset is None or prefix.base_offset > sound_offset
            if candidate < passed or not is_behind:
                continue
            if _is_plausible(prefix, self._source.size - candidate):
                batch = self._judge(prefix, candidate)
                end = None if batch is None else inside(batch)
                if batch is not None and end is None:
                    self._len_searched += candidate - position
                    return batch
                passed = end or passed
        self._len_searched += near - position
        return None if searcher is None else self._next_far(searcher, max(near, passed), sound_offset, inside)

    def _next_far(
        self, searcher: Searcher, position: int, sound_offset: int | None, inside: Inside
    ) -> Batch | None:
        """The same by machine code, which finds places; what stands there is read as everywhere else."""
        lowest = _LEAST_LONG if sound_offset is None else sound_offset + 1
        if lowest > -_LEAST_LONG - 1:
            return None
        while (place := searcher.next_place(position, lowest)) is not None:
            batch = self.true_entry(place)
            end = None if batch is None else inside(batch)
            if batch is not None and end is None:
                return batch
            position = end or place + 1
        return None

    def _searcher_from(self, position: int) -> Searcher | None:
        """What searches from there on with machine code; None where the extra `arrow` is not installed."""
        if self._searcher is None or self._searcher.position > position:
            searcher_type = _searcher_type() if self._can_compile else None
            if searcher_type is None:
                return None
            try:
                self._searcher = searcher_type(self._source, position)
            except MissingExtraError:  # it was compiled nowhere, and the compiler is switched off
                self._can_compile = False
        return self._searcher

    def _judge(self, prefix: formats.Prefix, position: int) -> Batch | None:
        try:
            data = self._source.read(position, min(formats.LEN_HEAD, prefix.len_entry))
            batch = formats.read_entry_header(data, self._source.name, position, None)
            ofs_region, function = formats.checksum_region(batch.magic)
            computed = self._spans[function].checksum(position + ofs_region, position + prefix.len_entry)
        except (CorruptBatchError, ReadError):
            return None
        return batch if computed == batch.crc else None

    def _candidates(self, position: int) -> Iterator[tuple[int, formats.Prefix]]:
        pattern, shift = candidate_pattern(self._source.size - position - formats.LEN_LOG_OVERHEAD)
        for start, data in self._readable(position):
            for match in pattern.finditer(data, shift):
                at = match.start() - shift
                if at + formats.LEN_PREFIX <= len(data):
                    yield start + at, formats.read_prefix(data[at : at + formats.LEN_PREFIX])

    def _readable(self, position: int) -> Iterator[tuple[int, bytes]]:
        """Pieces of what can be read, with their positions; each begins with the end of the one before it."""
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
        from kafka_segments.segment.scan.compiled_search import Searcher
    except ImportError:
        return None
    return Searcher


def _is_plausible(prefix: formats.Prefix, left: int) -> bool:
    return prefix.is_known and prefix.len_body >= prefix.min_len_body and prefix.len_entry <= left
