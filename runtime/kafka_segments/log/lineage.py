"""Leader epochs of a log: up to where two of its copies have the same history.

Strategy: as a follower truncates its log to its leader's (KIP-101, KIP-279). The latest epoch of the one is
asked of the other, which says how far it knows that epoch, or the latest before it; until both know the same
epoch. Up to the lesser of its two ends they are one log: an epoch has one leader, and followers hold what it
wrote, in order and from the start.

The first entry of a checkpoint may begin later than its epoch did: when records are deleted from the start,
the entry moves with the log's start (LeaderEpochFileCache.truncateFromStart).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_segments.segment.index_files import LeaderEpoch

__all__ = ["Lineage", "contradiction", "diverges_at"]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Epochs in order, none if they are not known, and the end of the log that they are of."""

    entries: tuple[LeaderEpoch, ...]
    end_offset: int

    @classmethod
    def of(cls, entries: Iterable[LeaderEpoch], end_offset: int) -> Lineage:
        """What of some entries can be: as a broker reads them, a later one displaces what it contradicts.

        Entries that begin behind the end are left out, but for the latest: a leader notes its epoch before it
        writes anything. (LeaderEpochFileCache.assign, truncateFromEnd.)
        """
        found: list[LeaderEpoch] = []
        for entry in entries:
            if found and found[-1].epoch == entry.epoch and found[-1].start_offset <= entry.start_offset:
                continue
            while found and (found[-1].epoch >= entry.epoch or found[-1].start_offset >= entry.start_offset):
                found.pop()
            found.append(entry)
        return cls(tuple(entry for entry in found if entry.start_offset <= end_offset), end_offset)

    @property
    def latest(self) -> int:
        """The latest epoch; -1 if none is known."""
        return self.entries[-1].epoch if self.entries else -1

    def end_of(self, epoch: int) -> tuple[int | None, int]:
        """The latest known epoch up to this one, None if there is none, and where it ends.

        Where only later epochs are known, that is where the first of them begins: what was before it has been
        deleted here. Source: LeaderEpochFileCache.endOffsetFor.
        """
        at = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        end = self.entries[at].start_offset if at < len(self.entries) else self.end_offset
        return (self.entries[at - 1].epoch if at else None), end

    def extended(self, other: Lineage, start_offset: int) -> Lineage:
        """With what another lineage of the same log knows of what is before `start_offset`."""
        starts = {entry.epoch: entry.start_offset for entry in self.entries}
        for entry in other.entries:
            if entry.start_offset < start_offset:
                # A first entry may have moved forward: the lesser offset is the truer one.
                starts[entry.epoch] = min(entry.start_offset, starts.get(entry.epoch, entry.start_offset))
        return Lineage(tuple(LeaderEpoch(*entry) for entry in sorted(starts.items())), self.end_offset)


def diverges_at(leader: Lineage, other: Lineage) -> int:
    """Where the other log's history leaves the leader's: up to there it can be trusted.

    Both must know of epochs. Source: AbstractFetcherThread.getOffsetTruncationState.
    """
    limit = other.end_offset
    epoch = other.latest
    while True:
        known, end = leader.end_of(epoch)
        limit = min(limit, end)
        if known is None or known == epoch:
            return limit
        found, end = other.end_of(known)
        limit = min(limit, end)
        if found is None or found == known:
            return limit
        epoch = found


def contradiction(one: Lineage, other: Lineage) -> tuple[int, int, int] | None:
    """An epoch that cannot have begun at both offsets, and these; None if there is none."""
    starts = {entry.epoch: entry.start_offset for entry in one.entries}
    for entry in other.entries:
        start = starts.get(entry.epoch)
        if start is None or start == entry.start_offset:
            continue
        # A first entry may have moved forward: it says no more than that the epoch had begun by then.
        begun = entry.start_offset if start < entry.start_offset else start
        mover = other if begun == entry.start_offset else one
        if mover.entries[0].epoch != entry.epoch:
            return entry.epoch, start, entry.start_offset
    return None
