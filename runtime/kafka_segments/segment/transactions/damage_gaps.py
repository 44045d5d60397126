"""Damage that may hide the end of a transaction, and what of it leaves a doubt.

Strategy: a log may have many damaged places and many open transactions, and nearly every place is a gap in
nearly every transaction. So there is one list of gaps, and a transaction knows how long it was where its own
begin. Whatever is asked or explained is about a gap and all behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from kafka_segments.formats.entries import Damage

__all__ = ["DamageGaps", "GapMark"]


@dataclass(frozen=True, slots=True)
class _Own:
    """A gap of one producer, and how many of all there were before it."""

    num_before: int
    damage: Damage
    num_lost: int | None


@dataclass(slots=True)
class GapMark:
    """A producer's place in the log: how many gaps are before it, what they cost, and its own behind it."""

    num: int
    num_lost: int
    own: list[_Own] = field(default_factory=list)


class DamageGaps:
    """Damage in the order of the log, any of which may have been a marker of any producer."""

    def __init__(self) -> None:
        self._num = 0
        self._num_lost = 0
        self._last_unknown = -1  # the last gap of which nobody knows how many offsets it has cost
        self._numbers: list[int] = []  # of those that are not explained
        self._damage: list[Damage] = []

    def now(self) -> GapMark:
        """The place that the log has come to."""
        return GapMark(self._num, self._num_lost)

    def add(self, damage: Damage) -> None:
        """Go on behind damage; what has cost no offset is none."""
        lost = _num_lost(damage)
        if lost == 0:
            return
        self._numbers.append(self._num)
        self._damage.append(damage)
        if lost is None:
            self._last_unknown = self._num
        self._num_lost += lost or 0
        self._num += 1

    def add_own(self, since: GapMark, damage: Damage) -> None:
        """The same for what only the producer's own marker can have been in."""
        lost = _num_lost(damage)
        if lost != 0:
            since.own.append(_Own(self._num, damage, lost))

    def any_since(self, since: GapMark) -> bool:
        """Whether there are any."""
        return since.num < self._num or bool(since.own)

    def num_lost_since(self, since: GapMark) -> int | None:
        """How many offsets they have cost, None if that is unknown."""
        own = [gap.num_lost for gap in since.own]
        if self._last_unknown >= since.num or None in own:
            return None
        return self._num_lost - since.num_lost + sum(lost for lost in own if lost is not None)

    def explain_since(self, since: GapMark) -> None:
        """One producer's records fill them all, so no other's marker was in them either."""
        at = bisect_left(self._numbers, since.num)
        del self._numbers[at:], self._damage[at:]
        since.own.clear()

    def first_doubt_since(self, since: GapMark) -> Damage | None:
        """The first that is not explained."""
        at = bisect_left(self._numbers, since.num)
        if since.own and (at == len(self._numbers) or since.own[0].num_before <= self._numbers[at]):
            return since.own[0].damage
        return self._damage[at] if at < len(self._damage) else None


def _num_lost(damage: Damage) -> int | None:
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is not None and last is not None:
        return last - first + 1
    before, behind = damage.previous_offset, damage.next_offset
    is_whole = before is not None and behind == before + 1  # what goes back to a lower offset is not
    return 0 if is_whole and first is None and last is None else None
