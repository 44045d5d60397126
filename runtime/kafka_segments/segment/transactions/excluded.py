"""What has ended: aborted transactions, and the batches that nobody is to be given, in few bytes each.

A log may have any number of them, and all of them are held while it is read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafka_segments.formats.entries import Batch

__all__ = ["AbortedTransaction", "AbortedTransactions", "ExcludedBatches"]

_NUM_FIELDS = 4
_HIGHEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True, order=True)
class AbortedTransaction:
    """A transaction that an ABORT marker has ended; the same as an entry of a `.txnindex`.

    Attributes:
        producer_id: whose.
        first_offset: of its first batch here, as far back as the log or a snapshot tells.
        last_offset: of the marker.
        last_stable_offset: what it was with the marker there: of all other transactions open then, the least
            first offset; else the one behind the marker, if there is a higher one.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """Aborted transactions in order, of 32 bytes each."""

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
        """Add one."""
        stable = min(one.last_stable_offset, _HIGHEST)
        self._numbers.extend((one.producer_id, one.first_offset, one.last_offset, stable))

    def extend(self, found: Iterable[AbortedTransaction]) -> None:
        """Add some."""
        for one in found:
            self.append(one)


class ExcludedBatches:
    """Tells batches whose records nobody is to be given: of aborted transactions, and of those in doubt."""

    def __init__(self) -> None:
        self.ranges: dict[int, tuple[array[int], array[int]]] = {}
        """By producer: first base offsets, and the last ones; sealed, they ascend and do not overlap."""
        self._unordered: set[int] = set()

    @classmethod
    def of(cls, found: Iterable[tuple[int, int, int]]) -> ExcludedBatches:
        """Sealed: producer id, first and last base offset of some of them."""
        void = cls()
        for producer_id, first, last in sorted(found):
            void.add(producer_id, first, last)
        return void

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def add(self, producer_id: int, first: int, last: int) -> None:
        """Add the batches of a producer whose base offsets are in a range; most often the highest so far."""
        firsts, lasts = self.ranges.setdefault(producer_id, (array("q"), array("q")))
        if lasts and firsts[-1] <= first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
            return
        if lasts and first < firsts[-1]:
            self._unordered.add(producer_id)
        firsts.append(first)
        lasts.append(last)

    def seal(self) -> None:
        """Put ranges in order; before this, and after more was added, nothing can be asked."""
        for producer_id in self._unordered:
            found = sorted(zip(*self.ranges.pop(producer_id), strict=True))
            for first, last in found:
                self.add(producer_id, first, last)
        self._unordered.clear()

    def holds(self, batch: Batch) -> bool:
        """Whether a batch is among them."""
        if not batch.is_transactional or batch.is_control or batch.base_offset is None:
            return False
        firsts, lasts = self.ranges.get(batch.producer_id, ((), ()))
        at = bisect_right(firsts, batch.base_offset)
        return at > 0 and batch.base_offset <= lasts[at - 1]
