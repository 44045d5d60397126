"""Damage that may hide the end of a transaction, and which of it leaves a transaction in doubt.

Strategy: a log may have many damaged regions and many open transactions, and nearly every region is a gap in
nearly every transaction. So there is one list of gaps, and a transaction keeps the list's length at its
beginning (`GapMark`). All queries are about the gaps since a mark, and but for numbers only the first of them
counts: so of the gaps between two marks, the first one is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_segments.core.formats.entries import Damage

__all__ = ["DamageGaps", "GapMark"]


@dataclass(frozen=True, slots=True)
class _Own:
    """A gap that can only hide the marker of one producer; `num_before` counts all common gaps before it."""

    num_before: int
    damage: Damage
    num_lost: int | None


@dataclass(slots=True)
class GapMark:
    """A producer's position in the log: number and cost of the gaps before it, and its own gaps after it."""

    num: int
    num_lost: int
    own: list[_Own] = field(default_factory=list)


class DamageGaps:
    """Damage in the order of the log, each of which may have held a marker of any producer."""

    def __init__(self) -> None:
        self._num = 0
        self._num_lost = 0
        self._last_unknown = -1  # the last gap that lost an unknown number of offsets
        self._numbers: list[int] = []  # of the unexplained gaps that are the first since a mark
        self._damage: list[Damage] = []
        self._is_marked = False  # since the last gap

    def __len__(self) -> int:
        """Return how many gaps are kept."""
        return len(self._damage)

    def now(self) -> GapMark:
        """Return a mark for the current end of the log."""
        self._is_marked = True
        return GapMark(self._num, self._num_lost)

    def add(self, damage: Damage) -> None:
        """Add damage; damage that lost no offset is ignored."""
        lost = _num_lost(damage)
        if lost == 0:
            return
        if self._is_marked:
            self._numbers.append(self._num)
            self._damage.append(damage)
            self._is_marked = False
        if lost is None:
            self._last_unknown = self._num
        self._num_lost += lost or 0
        self._num += 1

    def add_own(self, since: GapMark, damage: Damage) -> None:
        """Add damage that can only have held a marker of the producer of `since`."""
        lost = _num_lost(damage)
        if lost != 0:
            since.own.append(_Own(self._num, damage, lost))

    def any_since(self, since: GapMark) -> bool:
        """Return whether there is a gap since a mark."""
        return since.num < self._num or bool(since.own)

    def num_lost_since(self, since: GapMark) -> int | None:
        """Return how many offsets the gaps since a mark have lost, None if unknown."""
        own = [gap.num_lost for gap in since.own]
        if self._last_unknown >= since.num or None in own:
            return None
        return self._num_lost - since.num_lost + sum(lost for lost in own if lost is not None)

    def keep_since(self, marks: Iterable[GapMark]) -> None:
        """Forget the gaps that are not the first one since any of these marks."""
        firsts = {bisect_left(self._numbers, mark.num) for mark in marks} - {len(self._numbers)}
        self._damage = [self._damage[at] for at in sorted(firsts)]
        self._numbers = [self._numbers[at] for at in sorted(firsts)]

    def explain_since(self, since: GapMark) -> None:
        """Remove the gaps since a mark: one producer's records fill them all, so they held no marker."""
        at = bisect_left(self._numbers, since.num)
        del self._numbers[at:], self._damage[at:]
        since.own.clear()

    def first_doubt_since(self, since: GapMark) -> Damage | None:
        """Return the first unexplained gap since a mark."""
        at = bisect_left(self._numbers, since.num)
        if since.own and (at == len(self._numbers) or since.own[0].num_before <= self._numbers[at]):
            return since.own[0].damage
        return self._damage[at] if at < len(self._damage) else None


def _num_lost(damage: Damage) -> int | None:
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is not None and last is not None:
        return last - first + 1
    before, after = damage.previous_offset, damage.next_offset
    is_whole = before is not None and after == before + 1  # not if offsets go back
    return 0 if is_whole and first is None and last is None else None
