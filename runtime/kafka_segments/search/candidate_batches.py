"""Batches that may hold a record that is looked for, by their headers and the bytes of their payloads.

Needs the extra `arrow`. No checksum is verified here unless all are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.entry_payloads import EntryPayloads, PayloadPiece
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.search.byte_search import ByteSearch
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.found import EntryPlace

__all__ = ["CandidateBatches"]


class CandidateBatches:
    """Pass over a source.

    Args:
        source: the segment's bytes.
        conditions: what is looked for.
        check_crc: whether a wrong checksum ends the sound entries.
        max_decompressed: bytes that one payload may decompress to.

    Attributes:
        num_entries: how many entries the last call of `places` has seen so far.
        is_past_range: whether the entries after `position` are known to have higher offsets than wanted.
    """

    def __init__(
        self, source: Source, conditions: Conditions, *, check_crc: bool, max_decompressed: int
    ) -> None:
        self._conditions = conditions
        self._payloads = EntryPayloads(
            source,
            check_crc=check_crc,
            max_decompressed=max_decompressed,
            wanted=self._wanted if conditions.has_header_conditions else None,
        )
        self._searches = [ByteSearch(needle) for needle in sorted(conditions.needles, key=len, reverse=True)]
        self.num_entries = 0
        self.is_past_range = False
        self._tail: EntryTable | None = None  # the last two entries, or the only one of the last piece
        self._previous_offset: int | None = None  # before these

    @property
    def position(self) -> int:
        """After the entries of the last pass."""
        return self._payloads.position

    def places(self, position: int, previous_offset: int | None) -> Iterator[EntryPlace]:
        """Yield the places of candidates from the entry at a position on, up to what is not sound.

        Args:
            position: of an entry.
            previous_offset: the last offset before it.
        """
        self.num_entries, self._tail, self._previous_offset = 0, None, previous_offset
        for piece in self._payloads.pieces(position):
            entries = piece.entries
            rows = self._rows(piece)
            lasts = [self.last_offset, *entries.last_offsets()[:-1].tolist()] if rows else []
            self.num_entries += len(entries)
            for row in rows:
                before = EntryPlace(entries.value(row - 1, "position"), lasts[row - 1]) if row else self.last
                yield EntryPlace(entries.value(row, "position"), lasts[row], before)
            if len(entries) == 1:
                self._previous_offset = self.last_offset
            self._tail = entries.tail(2)  # the table is filled again
            end = self._conditions.end
            # One entry alone proves nothing: no checksum covers its first offset.
            if end is not None and len(entries) > 1 and int(entries.column("base_offset").min()) >= end:
                self.is_past_range = True
                return

    @property
    def last(self) -> EntryPlace | None:
        """The last entry that the last call of `places` has seen."""
        if self._tail is None:
            return None
        row = len(self._tail) - 1
        before = self._tail.last_offset(row - 1) if row else self._previous_offset
        return EntryPlace(self._tail.value(row, "position"), before)

    @property
    def last_offset(self) -> int | None:
        """The last offset of the last entry; before the first one, that of the entry before."""
        if self._tail is None:
            return self._previous_offset
        return self._tail.last_offset(len(self._tail) - 1)

    def _wanted(self, entries: EntryTable) -> Any:
        conditions, is_batch = self._conditions, entries.is_batch()
        wanted = entries.in_range(conditions.start, conditions.end)
        if conditions.producer_id is not None:
            wanted &= is_batch & (entries.column("producer_id") == conditions.producer_id)
        if conditions.since is not None:
            wanted &= (entries.column("max_timestamp") >= conditions.since) | (entries.column("magic") == 0)
        wanted |= entries.column("base_offset") < 0  # damage
        return wanted

    def _rows(self, piece: PayloadPiece) -> list[int]:
        """Return the numbers of the entries that may hold a record."""
        if not piece.is_wanted:
            return []
        if not (self._searches and piece.is_readable):
            return list(range(len(piece.entries)))
        rows = _rows_with(self._searches[0], piece)
        for search in self._searches[1:] if rows else ():
            rows &= _rows_with(search, piece)
        return sorted(rows)


def _rows_with(search: ByteSearch, piece: PayloadPiece) -> set[int]:
    """Return the entries in which a byte string begins."""
    found, ends = set[int](), list[int]()
    at, end = piece.span()
    while at < end and (hit := search.find(piece.data, at, end)) >= 0:
        ends = ends or piece.ends()
        row = bisect_right(ends, hit)
        found.add(row)
        at = ends[row]
    return found
