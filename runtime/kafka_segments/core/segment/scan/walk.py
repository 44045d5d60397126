"""Entries of a source in file order: tables of sound ones, and damage and padding in their places.

Strategy: the generated scanner fills tables of headers (`scanner`). What it refuses is left to the scan of
single entries (`entry_scan`), which says what is wrong, or that it is sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kafka_segments.core import formats
from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_rows import batch_of, row_of
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["Walk", "find_entries", "find_last", "iter_headers"]


class Walk:
    """A pass over the entries of a source.

    Args:
        source: the segment's bytes.
        check_crc: verify checksums, for which all bytes are read.
        whole: read whole entries, also if their checksums are not verified.
        reads_payloads: each table is of one window, for callers that read most payloads.
        keeps: likewise, and what is read stays as it is while it is referenced.
        max_window: bytes that an entry may have to come from a window; a larger one comes alone.
        max_decompressed: bytes that one wrapper may decompress to, where its first offset is needed.
        experimental_magic3: read batches of the discarded magic 3, too; these entries come one by one alone.

    Attributes:
        scan: of single entries; knows the last sound offset so far.
        table: what the scanner has found last, all of it in `window`; None if that is not known.
    """

    def __init__(
        self,
        source: Source,
        *,
        check_crc: bool = False,
        whole: bool = False,
        reads_payloads: bool = False,
        keeps: bool = False,
        max_window: int | None = None,
        max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
        experimental_magic3: bool = False,
    ) -> None:
        self._source, self._check_crc, self._has_window = source, check_crc, check_crc or whole
        self._headers = HeaderScan(
            source,
            kafka_log_segment,
            check_crc=check_crc,
            whole=whole,
            max_window=max_window,
            reads_on=not reads_payloads,
            keeps=keeps,
        )
        self._is_experimental, self._reads_payloads = experimental_magic3, reads_payloads
        self.table: EntryTable | None = None
        self.scan = Scan(
            source,
            check_crc=check_crc,
            headers_only=not self._has_window,
            max_decompressed=max_decompressed,
            experimental_magic3=experimental_magic3,
        )

    def pieces(self, position: int = 0) -> Iterator[EntryTable | Damage | Padding]:
        """Yield tables, each valid until the next piece, damage and padding, from an entry's position on."""
        for piece in self._pieces(position):
            if isinstance(piece, EntryTable):
                yield piece
                self.scan.sound_offset = piece.last_offset(len(piece) - 1)
            elif not isinstance(piece, Batch):
                yield piece
            elif piece.crc_valid is not False:
                yield row_of(piece, kafka_log_segment)

    def entries(self, position: int = 0) -> Iterator[Batch | Damage | Padding]:
        """Yield each entry, damage and padding; a batch with a wrong checksum comes before its damage."""
        if self._is_experimental:
            yield from self.scan.entries(position)
            return
        for piece in self._pieces(position):
            if isinstance(piece, EntryTable):
                yield from self._batches(piece)
            else:
                yield piece

    def sound(self, position: int) -> Iterator[Batch]:
        """Yield sound entries from a position on, up to what the scanner refuses."""
        is_refused = False
        while not is_refused:
            entries, position, is_refused = returned(self._headers.scan(position))
            is_refused = is_refused or not len(entries)
            yield from self._batches(entries)

    @property
    def window(self) -> bytes | memoryview:
        """The bytes that `table` is of."""
        return self._headers.window

    @property
    def window_position(self) -> int:
        """Position of `window` in the source."""
        return self._headers.window_position

    def _batches(self, entries: EntryTable) -> Iterator[Batch]:
        self.table = entries if self._reads_payloads else None
        name, crc_valid = self._source.name, True if self._check_crc else None
        for row in range(len(entries)):
            batch = batch_of(entries, row, name, self.scan.sound_offset, crc_valid=crc_valid)
            self.scan.note_sound(batch)
            if batch.magic < 2 and not self._has_window:  # as `Scan` gives them
                batch = replace(batch, base_offset=None, num_records=None)
            yield batch

    def _pieces(self, position: int) -> Iterator[EntryTable | Batch | Damage | Padding]:
        while True:
            entries, position, is_refused = returned(self._headers.scan(position))
            if len(entries):
                yield entries
            elif not is_refused:
                return
            if is_refused:
                for entry in self.scan.region(position):
                    position = entry.end_position
                    yield entry

    def entry(self, entries: EntryTable, row: int) -> bytes | memoryview:
        """Return the bytes of an entry of the last table, as stored."""
        start = entries.value(row, "position")
        return self.read(start, entries.value(row, "end_position") - start)

    def payload(self, entries: EntryTable, row: int) -> bytes | memoryview:
        """Return what follows the header of a batch of the last table, or the length of an older entry."""
        is_old = entries.value(row, "magic") < 2
        return self.entry(entries, row)[formats.LEN_LOG_OVERHEAD if is_old else formats.LEN_HEAD :]

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Return bytes of the source, valid until the next piece; those of the last table without a copy."""
        place = position - self._headers.window_position
        if self._has_window and place >= 0 and place + size <= len(self._headers.window):
            return memoryview(self._headers.window)[place : place + size]
        return self.scan.window.read(position, size)


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
