"""The next true entry behind a damaged one.

Strategy: a regular expression over windows of the file finds the places where a plausible length and a known
magic stand; it is made from what the generated classes say of the prefix. Each such place is then judged by
its checksum, which `SpanChecksums` gives at a fixed price whatever length is claimed. Blocks that cannot be
read are stepped over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kafka_segments import checksum, layout
from kafka_segments.entries import Batch
from kafka_segments.errors import CorruptBatchError, ReadError
from kafka_segments.spans import CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL, Checksum, SpanChecksums
from kafka_segments.storage import BLOCK_SIZE, Source

__all__ = ["Resync", "candidate_pattern"]

_STEP = 1 << 20


def candidate_pattern(largest_body: int) -> tuple[re.Pattern[bytes], int]:
    """A pattern for the places where an entry may begin, and how far behind its beginning a match starts.

    A match starts at the length field's first byte. It is wide on purpose: whoever uses it parses the prefix.

    Args:
        largest_body: lengths above this need not be found.
    """
    digits, least = layout.length_digits()
    first, behind = digits[0], digits[1:]
    highest = min(0x7F, max(0, largest_body) >> (8 * len(behind)))
    # Runs of zeros must not match: they are common, and each match is parsed.
    small = bytes(len(behind)) + _any_of(range(least))
    gap = layout.OFS_MAGIC - first - 1
    text = b"(?!%s)%s(?=.{%d}%s)" % (small, _any_of(range(highest + 1)), gap, _any_of(layout.known_magics()))
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
        self._spans: dict[Checksum, SpanChecksums] = {
            checksum.crc32c: SpanChecksums(source, checksum.crc32c, CRC32C_POLYNOMIAL),
            checksum.crc32: SpanChecksums(source, checksum.crc32, CRC32_POLYNOMIAL),
        }

    def true_entry(self, position: int) -> Batch | None:
        """The entry at `position`, if its length and magic are plausible and its checksum is right."""
        left = self._source.size - position
        if left < layout.LEN_PREFIX:
            return None
        try:
            prefix = layout.read_prefix(self._source.read(position, layout.LEN_PREFIX))
        except ReadError:
            return None
        return self._judge(prefix, position) if _is_plausible(prefix, left) else None

    def next_entry(
        self, position: int, sound_offset: int | None, belongs: Callable[[Batch], bool] = lambda _batch: False
    ) -> Batch | None:
        """The first true entry from `position` on.

        Args:
            position: where to begin.
            sound_offset: only those whose base offset is above this count.
            belongs: whether what looks like one is a part of what is damaged; that is passed over.
        """
        for candidate, prefix in self._candidates(position):
            if sound_offset is not None and prefix.base_offset <= sound_offset:
                continue
            if _is_plausible(prefix, self._source.size - candidate):
                batch = self._judge(prefix, candidate)
                if batch is not None and not belongs(batch):
                    return batch
        return None

    def _judge(self, prefix: layout.Prefix, position: int) -> Batch | None:
        try:
            data = self._source.read(position, min(layout.LEN_HEAD, prefix.len_entry))
            head = layout.read_head(data, self._source.name, position, None)
            spans = self._spans[head.checksum]
            computed = spans.checksum(position + head.ofs_crc_region, position + prefix.len_entry)
        except (CorruptBatchError, ReadError):
            return None
        return head.batch if computed == head.batch.crc else None

    def _candidates(self, position: int) -> Iterator[tuple[int, layout.Prefix]]:
        pattern, shift = candidate_pattern(self._source.size - position - layout.LEN_LOG_OVERHEAD)
        for start, data in self._readable(position):
            for match in pattern.finditer(data, shift):
                at = match.start() - shift
                if at + layout.LEN_PREFIX <= len(data):
                    yield start + at, layout.read_prefix(data[at : at + layout.LEN_PREFIX])

    def _readable(self, position: int) -> Iterator[tuple[int, bytes]]:
        """Pieces of what can be read, with their positions; each begins with the end of the one before it."""
        overlap = layout.LEN_PREFIX - 1
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


def _is_plausible(prefix: layout.Prefix, left: int) -> bool:
    return prefix.is_known and prefix.len_body >= prefix.min_len_body and prefix.len_entry <= left
