"""Leader epochs of a log, and the offset where the histories of two copies diverge.

Strategy: as a follower truncates its log to its leader's (KIP-101, KIP-279). The latest epoch of one copy is
looked up in the other, which has an end of that epoch or of the latest before it; repeated until both have
the same epoch. Up to the lower of its two ends they are one log: an epoch has one leader, and followers have
what it wrote, in order and from the start.

The first entry of a checkpoint may begin later than its epoch did: when records are deleted from the start,
the entry moves with the log's start (LeaderEpochFileCache.truncateFromStart).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_segments.core.segment.beside.index_files import LeaderEpoch

__all__ = ["Lineage", "contradiction", "diverges_at"]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Leader epochs in order, empty if unknown, and the end offset of their log."""

    entries: tuple[LeaderEpoch, ...]
    end_offset: int

    @classmethod
    def of(cls, entries: Iterable[LeaderEpoch], end_offset: int) -> Lineage:
        """Make a consistent lineage of entries: as in a broker, a later one replaces those it contradicts.

        Entries that begin after the end are left out; the latest may begin at the end, for a leader writes
        its epoch before any record. (LeaderEpochFileCache.assign, truncateFromEnd.)
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
        """The latest epoch; -1 if unknown."""
        return self.entries[-1].epoch if self.entries else -1

    def end_of(self, epoch: int) -> tuple[int | None, int]:
        """Return the latest known epoch up to this one (None if there is none) and its end offset.

        If only later epochs are known, that is the start offset of the first: older records were deleted
        here. Source: LeaderEpochFileCache.endOffsetFor.
        """
        at = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        end = self.entries[at].start_offset if at < len(self.entries) else self.end_offset
        return (self.entries[at - 1].epoch if at else None), end

    def extended(self, other: Lineage, start_offset: int) -> Lineage:
        """Add what another lineage of the same log has before `start_offset`."""
        starts = {entry.epoch: entry.start_offset for entry in self.entries}
        for entry in other.entries:
            if entry.start_offset < start_offset:
                # A first entry may have moved forward: the lower offset is right.
                starts[entry.epoch] = min(entry.start_offset, starts.get(entry.epoch, entry.start_offset))
        return Lineage(tuple(LeaderEpoch(*entry) for entry in sorted(starts.items())), self.end_offset)


def diverges_at(leader: Lineage, other: Lineage) -> int:
    """Return the offset where the other log's history diverges from the leader's: it is valid up to there.

    Both must have epochs. Source: AbstractFetcherThread.getOffsetTruncationState.
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
    """Find an epoch with contradictory start offsets; return it and both offsets, None if there is none."""
    starts = {entry.epoch: entry.start_offset for entry in one.entries}
    for entry in other.entries:
        start = starts.get(entry.epoch)
        if start is None or start == entry.start_offset:
            continue
        # A first entry may have moved forward: it proves only that the epoch had begun by then.
        begun = entry.start_offset if start < entry.start_offset else start
        mover = other if begun == entry.start_offset else one
        if mover.entries[0].epoch != entry.epoch:
            return entry.epoch, start, entry.start_offset
    return None
