"""Payloads of entries, decompressed, for a search that decodes only a few of them.

Strategy: the scanner makes a table of a window's entries. Those without compression are searched where they
are, in the window; runs with one codec are decompressed, many with a call, into a buffer that is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.decompressed import PlainRecords
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments.errors import DecompressionError, MissingCodecError
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["EntryPayloads", "PayloadPiece"]

_EMPTY = memoryview(b"")
_LEN_WINDOW = 2 << 20  # what is searched once should be in the cache still


@dataclass(frozen=True, slots=True)
class PayloadPiece:
    """Consecutive entries and their payloads; valid until the next piece.

    Attributes:
        entries: the headers.
        data: holds the payloads; empty for entries that the caller did not want.
        position: where `data` begins in the source, for entries that are not compressed; else None.
        places: of compressed payloads, int64, two columns: where each begins and ends in `data`.
        is_readable: False for an entry whose payload cannot be decompressed; `data` is empty then.
    """

    entries: EntryTable
    data: memoryview
    position: int | None = None
    places: Any = None
    is_readable: bool = True

    @property
    def is_wanted(self) -> bool:
        """Whether the caller wanted these entries."""
        return self.position is not None or self.places is not None

    def span(self) -> tuple[int, int]:
        """Return where the payloads begin and end in `data`; entries without compression count whole."""
        last = len(self.entries) - 1
        if self.position is None:
            return int(self.places[0, 0]), int(self.places[last, 1])
        start, end = self.entries.value(0, "position"), self.entries.value(last, "end_position")
        return start - self.position, end - self.position

    def ends(self) -> list[int]:
        """Return where each payload ends in `data`."""
        if self.position is None:
            return list(self.places[:, 1].tolist())
        return list((self.entries.column("end_position") - self.position).tolist())


class EntryPayloads:
    """Pass over the sound entries of a source.

    Args:
        source: the segment's bytes.
        check_crc: whether an entry with a wrong checksum counts as not sound. Otherwise headers are trusted.
        max_decompressed: bytes that one payload may decompress to.
        wanted: whether each entry of a table is wanted, as an array; None wants all. Others are left alone.

    Attributes:
        position: after the entries of the last pass.
    """

    def __init__(
        self,
        source: Source,
        *,
        check_crc: bool,
        max_decompressed: int,
        wanted: Callable[[EntryTable], Any] | None = None,
    ) -> None:
        self._scan = HeaderScan(source, kafka_log_segment, check_crc=check_crc, len_window=_LEN_WINDOW)
        self._plain = PlainRecords(max_decompressed)
        self._wanted = wanted
        self.position = 0

    def pieces(self, position: int) -> Iterator[PayloadPiece]:
        """Yield payloads from the entry at a position on, up to the first one that is not sound."""
        self.position = position
        while True:
            entries, end, is_refused = returned(self._scan.scan(self.position))
            if len(entries):
                yield from self._window_pieces(entries)
            self.position = end
            if is_refused or not len(entries):
                return

    def _window_pieces(self, entries: EntryTable) -> Iterator[PayloadPiece]:
        codec, position = entries.column("codec"), self._scan.window_position
        if self._wanted is None and not codec.any():
            yield PayloadPiece(entries, memoryview(self._scan.window), position)
            return
        wanted = np.ones(len(entries), bool) if self._wanted is None else self._wanted(entries)
        kinds = np.where(wanted, 2 * codec + entries.is_batch(), -1)
        start = 0
        for end in [*(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(entries)]:
            run = EntryTable(entries.rows[start:end], kafka_log_segment)
            if not wanted[start]:
                yield PayloadPiece(run, _EMPTY)
            elif codec[start] == 0:
                yield PayloadPiece(run, memoryview(self._scan.window), position)
            else:
                yield from self._decompressed(run, position)
            start = end

    def _decompressed(self, run: EntryTable, position: int) -> Iterator[PayloadPiece]:
        window, codec = memoryview(self._scan.window), run.value(0, "codec")
        magics, is_batch = run.column("magic"), bool(run.is_batch()[0])
        spans = np.column_stack([run.column("payload"), run.column("end_payload")]) - position
        done = 0
        while done < len(run):
            places, is_readable = spans[done:], True
            try:
                magic = 2 if is_batch else int(magics[done])
                count = self._plain.fill(window, codec, places, magic)
            except (DecompressionError, MissingCodecError):  # reading its records says why
                count, is_readable = 1, False
            data = self._plain.view if is_readable else _EMPTY
            part = EntryTable(run.rows[done : done + count], kafka_log_segment)
            yield PayloadPiece(part, data, None, places[:count], is_readable)
            done += count
