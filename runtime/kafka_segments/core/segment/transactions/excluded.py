"""Aborted transactions, and the batches that readers of committed records skip, in few bytes each.

A log may have any number of them, and all are held in memory while it is read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors.packages import LazyPackage

__all__ = ["AbortedTransaction", "AbortedTransactions", "ExcludedBatches"]

np: Any = LazyPackage("numpy")

_NUM_FIELDS = 4


@dataclass(frozen=True, slots=True, order=True)
class AbortedTransaction:
    """A transaction that an ABORT marker has ended; equal to an entry of a `.txnindex`.

    Attributes:
        producer_id: of its producer.
        first_offset: of its first batch, as far back as the log or a snapshot goes.
        last_offset: of the marker.
        last_stable_offset: after the marker: the least first offset of the other transactions open then;
            without any, the offset after the marker, if there is a higher one.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """Aborted transactions in order, in 32 bytes each."""

    def __init__(self, found: Iterable[AbortedTransaction] = ()) -> None:
        self._numbers = array("q")
        self.extend(found)

    def __len__(self) -> int:
        return len(self._numbers) // _NUM_FIELDS

    def __getitem__(self, number: int) -> AbortedTransaction:
        return AbortedTransaction(*self._numbers[number * _NUM_FIELDS : (number + 1) * _NUM_FIELDS])

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return map(self.__getitem__, range(len(self)))

    def append(self, one: AbortedTransaction) -> None:
        stable = min(one.last_stable_offset, MAX_LONG)
        self._numbers.extend((one.producer_id, one.first_offset, one.last_offset, stable))

    def extend(self, found: Iterable[AbortedTransaction]) -> None:
        for one in found:
            self.append(one)


class ExcludedBatches:
    """Batches whose records are not delivered: those of aborted transactions, and those in doubt."""

    def __init__(self) -> None:
        self.ranges: dict[int, tuple[array[int], array[int]]] = {}
        """First and last base offsets of ranges, by producer; after `seal` they ascend and do not overlap."""
        self._unordered: set[int] = set()

    @classmethod
    def of(cls, found: Iterable[tuple[int, int, int]]) -> ExcludedBatches:
        """Build it, sealed, from producer id, first and last base offset of each range."""
        excluded = cls()
        for producer_id, first, last in sorted(found):
            excluded.add(producer_id, first, last)
        return excluded

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def add(self, producer_id: int, first: int, last: int) -> None:
        """Add the batches of a producer in a range of base offsets; most often the highest so far."""
        firsts, lasts = self.ranges.setdefault(producer_id, (array("q"), array("q")))
        if lasts and firsts[-1] <= first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
            return
        if lasts and first < firsts[-1]:
            self._unordered.add(producer_id)
        firsts.append(first)
        lasts.append(last)

    def seal(self) -> None:
        """Put the ranges in order; required after `add` and before `holds`."""
        for producer_id in self._unordered:
            found = sorted(zip(*self.ranges.pop(producer_id), strict=True))
            for first, last in found:
                self.add(producer_id, first, last)
        self._unordered.clear()

    def holds(self, batch: Batch) -> bool:
        """Return whether a batch is among them."""
        if not batch.is_transactional or batch.is_control or batch.base_offset is None:
            return False
        firsts, lasts = self.ranges.get(batch.producer_id, ((), ()))
        at = bisect_right(firsts, batch.base_offset)
        return at > 0 and batch.base_offset <= lasts[at - 1]

    def mask(self, entries: EntryTable) -> Any:
        """Return which rows of a table are among them, as an array."""
        mask = np.zeros(len(entries), bool)
        rows = np.flatnonzero(entries.is_batch() & (entries.column("is_transactional") != 0))
        producers, offsets = entries.column("producer_id")[rows], entries.column("base_offset")[rows]
        for producer_id in np.unique(producers).tolist():
            if producer_id in self.ranges:
                firsts, lasts = map(np.asarray, self.ranges[producer_id])
                is_own = producers == producer_id
                at = np.searchsorted(firsts, offsets[is_own], "right") - 1
                mask[rows[is_own]] = (at >= 0) & (offsets[is_own] <= lasts[at])
        return mask
