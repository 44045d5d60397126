"""Batches that may hold a record that is looked for, by their headers and the bytes of their payloads.

Needs the extra `arrow`. No checksum is verified here unless all are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from kafka_segments.io.storage import Source
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.found import EntryPlace
from kafka_segments.segment.columnar.byte_search import ByteSearch
from kafka_segments.segment.columnar.entry_payloads import EntryPayloads, PayloadPiece
from kafka_segments.segment.columnar.entry_table import EntryTable

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
        last: the last of them.
        last_offset: the last offset of that.
        is_past_range: whether the entries after `position` are known to have higher offsets than wanted.
    """

    def __init__(
        self, source: Source, conditions: Conditions, *, check_crc: bool, max_decompressed: int
    ) -> None:
        self._conditions = conditions
        self._payloads = EntryPayloads(
            source, check_crc=check_crc, max_decompressed=max_decompressed, wanted=self._wanted
        )
        self._searches = [ByteSearch(needle) for needle in sorted(conditions.needles, key=len, reverse=True)]
        self.num_entries = 0
        self.last: EntryPlace | None = None
        self.last_offset: int | None = None
        self.is_past_range = False

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
        self.num_entries, self.last, self.last_offset = 0, None, previous_offset
        for piece in self._payloads.pieces(position):
            entries = piece.entries
            rows = self._rows(piece)
            lasts = [self.last_offset, *entries.last_offsets()[:-1].tolist()] if rows else []
            self.num_entries += len(entries)
            for row in rows:
                yield EntryPlace(entries.value(row, "position"), lasts[row])
            before = entries.last_offset(len(entries) - 2) if len(entries) > 1 else self.last_offset
            self.last = EntryPlace(entries.value(len(entries) - 1, "position"), before)
            self.last_offset = entries.last_offset(len(entries) - 1)
            end = self._conditions.end
            # One entry alone proves nothing: no checksum covers its first offset.
            if end is not None and len(entries) > 1 and int(entries.column("base_offset").min()) >= end:
                self.is_past_range = True
                return

    def _wanted(self, entries: EntryTable) -> Any:
        conditions, is_batch = self._conditions, entries.is_batch()
        wanted = entries.in_range(conditions.start, conditions.end)
        wanted &= ~(is_batch & (entries.column("is_control") != 0))
        if conditions.producer_id is not None:
            wanted &= is_batch & (entries.column("producer_id") == conditions.producer_id)
        if conditions.since is not None:
            wanted &= (entries.column("max_timestamp") >= conditions.since) | (entries.column("magic") == 0)
        return wanted

    def _rows(self, piece: PayloadPiece) -> list[int]:
        """Return the numbers of the entries that may hold a record."""
        if not piece.is_wanted:
            return []
        rows = set(range(len(piece.entries)))
        if not piece.is_readable:
            return sorted(rows)
        for search in self._searches:
            rows &= _rows_with(search, piece)
            if not rows:
                break
        return sorted(rows)


def _rows_with(search: ByteSearch, piece: PayloadPiece) -> set[int]:
    """Return the entries in which a byte string begins."""
    found: set[int] = set()
    at, end, ends = int(piece.spans[0, 0]), int(piece.spans[-1, 1]), list[int]()
    while at < end and (hit := search.find(piece.data, at, end)) >= 0:
        ends = ends or piece.spans[:, 1].tolist()
        row = bisect_right(ends, hit)
        found.add(row)
        at = ends[row]
    return found
