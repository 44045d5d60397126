"""Payloads of entries, decompressed, for a search that decodes only a few of them.

Strategy: the scanner makes a table of a window's entries. Those without compression are searched where they
are, in the window; runs with one codec are decompressed, many with a call, into a buffer that is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.errors import DecompressionError, MissingCodecError
from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.decompressed import PlainRecords
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.scanner import HeaderScan, returned
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["EntryPayloads", "PayloadPiece"]

_EMPTY = memoryview(b"")


@dataclass(frozen=True, slots=True)
class PayloadPiece:
    """Consecutive entries and their payloads; valid until the next piece.

    Attributes:
        entries: the headers.
        spans: int64, two columns: where the payload of each entry, with its header if it is not compressed,
            begins and ends in `data`.
        data: holds the payloads.
        is_readable: False for an entry whose payload cannot be decompressed; `data` is empty then.
        is_wanted: False for entries that the caller did not want; `data` is empty then.
    """

    entries: EntryTable
    spans: Any
    data: memoryview
    is_readable: bool = True
    is_wanted: bool = True


class EntryPayloads:
    """Pass over the sound entries of a source.

    Args:
        source: the segment's bytes.
        check_crc: whether an entry with a wrong checksum counts as not sound. Otherwise headers are trusted.
        max_decompressed: bytes that one payload may decompress to.
        wanted: whether each entry of a table is wanted, as an array; payloads of others are left alone.

    Attributes:
        position: after the entries of the last pass.
    """

    def __init__(
        self, source: Source, *, check_crc: bool, max_decompressed: int, wanted: Callable[[EntryTable], Any]
    ) -> None:
        self._scan = HeaderScan(source, kafka_log_segment, check_crc=check_crc)
        self._plain = PlainRecords(max_decompressed)
        self._wanted = wanted
        self.position = 0

    def pieces(self, position: int) -> Iterator[PayloadPiece]:
        """Yield payloads from the entry at a position on, up to the first one that is not sound."""
        self.position = position
        while True:
            rows, end, is_refused = returned(self._scan.scan(self.position))
            if len(rows):
                yield from self._window_pieces(EntryTable(rows, kafka_log_segment))
            self.position = end
            if is_refused or not len(rows):
                return

    def _window_pieces(self, entries: EntryTable) -> Iterator[PayloadPiece]:
        wanted = self._wanted(entries)
        codec = entries.column("codec")
        kinds = np.where(wanted, 2 * codec + entries.is_batch(), -1)
        ends = [*(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(entries)]
        start = 0
        for end in ends:
            run = EntryTable(entries.rows[start:end], kafka_log_segment)
            names = ("position", "end_position") if codec[start] == 0 else ("payload", "end_payload")
            spans = np.column_stack([run.column(name) for name in names]) - self._scan.window_position
            if not wanted[start]:
                yield PayloadPiece(run, spans, _EMPTY, is_wanted=False)
            elif codec[start] == 0:
                yield PayloadPiece(run, spans, memoryview(self._scan.window))
            else:
                yield from self._decompressed(run, spans)
            start = end

    def _decompressed(self, run: EntryTable, spans: Any) -> Iterator[PayloadPiece]:
        window, address = memoryview(self._scan.window), self._scan.address
        codecs, magics = run.column("codec"), run.column("magic")
        done = 0
        while done < len(run):
            places = spans[done:]
            is_readable = True
            try:
                magic = 2 if run.is_batch()[done] else int(magics[done])
                count = self._plain.fill(window, address, codecs[done:], places, magic)
            except (DecompressionError, MissingCodecError):  # reading its records says why
                count, is_readable = 1, False
            data = self._data() if is_readable else _EMPTY
            part = EntryTable(run.rows[done : done + count], kafka_log_segment)
            yield PayloadPiece(part, places[:count], data, is_readable)
            done += count

    def _data(self) -> memoryview:
        address, size = self._plain.data
        return memoryview(pa.foreign_buffer(address, size, self._plain)) if size else _EMPTY
