"""Entries of a source in file order: tables of sound ones, and damage and padding in their places.

Strategy: the generated scanner fills tables of headers (`scanner`). What it refuses is left to the scan of
single entries (`entry_scan`), which says what is wrong, or that it is sound.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.core import formats
from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable, row_of
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["Walk", "find_entries", "find_last", "iter_headers"]


class Walk:
    """A pass over the entries of a source.

    Args:
        source: the segment's bytes.
        check_crc: verify checksums, for which all bytes are read.
        whole: read whole entries, also if their checksums are not verified.
        max_decompressed: bytes that one wrapper may decompress to, where its first offset is needed.

    Attributes:
        scan: of single entries; knows the last sound offset so far.
    """

    def __init__(
        self,
        source: Source,
        *,
        check_crc: bool = False,
        whole: bool = False,
        max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    ) -> None:
        self._source, self._has_window = source, check_crc or whole
        self._headers = HeaderScan(source, kafka_log_segment, check_crc=check_crc, whole=whole, reads_on=True)
        self.scan = Scan(
            source, check_crc=check_crc, headers_only=not self._has_window, max_decompressed=max_decompressed
        )

    def pieces(self, position: int = 0) -> Iterator[EntryTable | Damage | Padding]:
        """Yield tables, each valid until the next piece, damage and padding, from an entry's position on."""
        while True:
            entries, position, is_refused = returned(self._headers.scan(position))
            if len(entries):
                yield entries
                self.scan.sound_offset = entries.last_offset(len(entries) - 1)
            elif not is_refused:
                return
            if is_refused:
                for entry in self.scan.region(position):
                    position = entry.end_position
                    if not isinstance(entry, Batch):
                        yield entry
                    elif entry.crc_valid is not False:
                        yield row_of(entry, kafka_log_segment)

    def entry(self, entries: EntryTable, row: int) -> memoryview:
        """Return the bytes of an entry of the last table, as stored."""
        start, end = entries.value(row, "position"), entries.value(row, "end_position")
        place = start - self._headers.window_position
        if self._has_window and place >= 0 and place + end - start <= len(self._headers.window):
            return memoryview(self._headers.window)[place : place + end - start]
        return memoryview(self._source.read(start, end - start))

    def payload(self, entries: EntryTable, row: int) -> memoryview:
        """Return what follows the header of a batch of the last table, or the length of an older entry."""
        is_old = entries.value(row, "magic") < 2
        return self.entry(entries, row)[formats.LEN_LOG_OVERHEAD if is_old else formats.LEN_HEAD :]


def iter_headers(source: Source, position: int = 0) -> Iterator[EntryTable | Damage]:
    """Yield the headers of entries from a position on, unverified, as tables, and damage in its place.

    A table is valid until the next one is asked for.
    """
    for piece in Walk(source).pieces(position):
        if not isinstance(piece, Padding):
            yield piece


def find_entries(source: Source, offset: int) -> list[int]:
    """Find where reading of an offset and higher ones may begin, by unverified headers.

    Returns:
        Positions of entries, the best first: the first one that may hold the offset or a higher one, and the
        one before it, from which on nothing can be missed.
    """
    before: list[int] = []
    for piece in iter_headers(source):
        if isinstance(piece, Damage):
            if piece.touches(offset, None):
                return before
            continue
        is_wanted = piece.in_range(offset, None)
        row = int(is_wanted.argmax()) if is_wanted.any() else len(piece)
        if row:
            before = [piece.value(row - 1, "position")]
        if row < len(piece):
            return [piece.value(row, "position"), *before]
    return before


def find_last(source: Source, position: int = 0, count: int = 2) -> int:
    """Return where the last so many entries begin, or all of them, from a position on; without any, there."""
    last: list[int] = []
    for piece in iter_headers(source, position):
        if not isinstance(piece, Damage):
            last += [piece.value(row, "position") for row in range(max(0, len(piece) - count), len(piece))]
            del last[:-count]
    return last[0] if last else position
