"""A partition's replicas as brokers keep them, without brokers: who leads, who follows, who is cut back.

Written from KIP-101, KIP-279 and AbstractFetcherThread, apart from the code that is tested. A batch has a
number; a replica is a list of batches, a checkpoint of epochs, and where its segments begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from tests.log.memory import MemoryPlaces

from kafka_segments import encode_records


@dataclass(frozen=True)
class Written:
    """A batch: its number, its offsets, the epoch of the leader that wrote it."""

    number: int
    first: int
    last: int
    epoch: int

    def encoded(self) -> bytes:
        return _encoded(self.number, self.first, self.last - self.first + 1, self.epoch)


@lru_cache(maxsize=100_000)
def _encoded(number: int, first: int, count: int, epoch: int) -> bytes:
    records = [{"value": b"%d" % number, "timestamp": number} for _ in range(count)]
    return encode_records(records, base_offset=first, partition_leader_epoch=epoch)


@dataclass
class Replica:
    """One replica.

    Attributes:
        log: its batches.
        epochs: epoch and start offset.
        bases: base offsets of its segments.
        start: the log start offset.
        noted: the high watermark, as noted.
        is_alive: a broker runs it.
        follows: the epoch of the leader that it was cut back to.
    """

    log: list[Written] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    bases: list[int] = field(default_factory=lambda: [0])
    start: int = 0
    noted: int = 0
    is_alive: bool = True
    follows: int = -1

    @property
    def end(self) -> int:
        return self.log[-1].last + 1 if self.log else self.start

    def assign(self, epoch: int, start: int) -> None:
        if self.epochs and self.epochs[-1][0] >= epoch:
            return
        self.epochs = [one for one in self.epochs if one[1] < start] + [(epoch, start)]

    def append(self, batch: Written) -> None:
        self.assign(batch.epoch, batch.first)
        self.log.append(batch)

    def roll(self) -> None:
        if self.bases[-1] < self.end:
            self.bases.append(self.end)

    def truncate(self, offset: int) -> None:
        self.log = [batch for batch in self.log if batch.last < offset]
        self.epochs = [one for one in self.epochs if one[1] < offset]
        self.bases = [base for base in self.bases if base < offset] or [min(self.bases[0], offset)]
        self.noted = min(self.noted, offset)

    def delete_head(self) -> None:
        """Delete the oldest segment."""
        if len(self.bases) < 2:
            return
        self.bases.pop(0)
        self.start = self.bases[0]
        self.log = [batch for batch in self.log if batch.first >= self.start]
        below = [one for one in self.epochs if one[1] <= self.start]
        if below:
            self.epochs = [(below[-1][0], self.start), *self.epochs[len(below) :]]

    def restart_at(self, offset: int) -> None:
        """Truncate fully and start anew: the leader has nothing older."""
        self.log, self.epochs, self.bases, self.start, self.noted = [], [], [offset], offset, offset

    def end_offset_for(self, epoch: int) -> tuple[int, int] | None:
        """What OffsetsForLeaderEpoch answers: epoch and end offset; None for an undefined one."""
        if not self.epochs:
            return None
        if self.epochs[-1][0] == epoch:
            return epoch, self.end
        higher = [one for one in self.epochs if one[0] > epoch]
        if not higher:
            return None
        lower = [one for one in self.epochs if one[0] <= epoch]
        return (lower[-1][0] if lower else epoch), higher[0][1]


class Cluster:
    """Replicas of one partition.

    Attributes:
        replicas: all that there ever were.
        leader: which one leads.
        truth: by offset, the batch that the log has there, also where no leader has it any more.
        committed: the high watermark.
    """

    def __init__(self, num_replicas: int) -> None:
        self.replicas = [Replica() for _ in range(num_replicas)]
        self.leader = 0
        self.epoch = 0
        self.truth: dict[int, Written] = {}
        self.committed = 0
        self._num = 0
        self.replicas[0].assign(0, 0)
        self.replicas[0].follows = 0

    @property
    def leading(self) -> Replica:
        return self.replicas[self.leader]

    def append(self, count: int) -> None:
        first = self.leading.end
        batch = Written(self._num, first, first + count - 1, self.epoch)
        self._num += 1
        self.leading.append(batch)
        self.truth.update(dict.fromkeys(range(first, first + count), batch))

    def fetch(self, follower: int, most: int) -> None:
        """Let a follower take up to so many batches, after it was cut back if the leader is a new one."""
        replica, leading = self.replicas[follower], self.leading
        if follower == self.leader or not replica.is_alive:
            return
        if replica.follows != self.epoch:
            self._cut_back(replica)
            replica.follows = self.epoch
        if replica.end < leading.start or replica.end > leading.end:
            replica.restart_at(leading.start)
        for batch in [batch for batch in leading.log if batch.first >= replica.end][:most]:
            replica.append(batch)
        self.commit()
        replica.noted = max(replica.noted, min(self.committed, replica.end))

    def _cut_back(self, replica: Replica) -> None:
        """AbstractFetcherThread.getOffsetTruncationState, until it is complete."""
        while replica.epochs:
            epoch = replica.epochs[-1][0]
            answer = self.leading.end_offset_for(epoch)
            if answer is None:
                replica.truncate(replica.noted)
                return
            known, end = answer
            if known == epoch:
                replica.truncate(min(end, replica.end))
                return
            mine = replica.end_offset_for(known)
            latest = replica.epochs[-1]
            replica.truncate(min(end, mine[1] if mine else end, replica.end))
            if mine is None or mine[0] == known:
                return
            # The latest epoch is gone with its records, or had none; the one before it is asked for next.
            replica.epochs = [one for one in replica.epochs if one != latest]

    def commit(self) -> None:
        """The high watermark goes on to what all that are in sync have from this leader."""
        in_sync = [replica for replica in self.replicas if replica.is_alive]
        if all(replica.follows == self.epoch for replica in in_sync):
            self.committed = max(self.committed, *(min(replica.end for replica in in_sync), 0))

    def note(self) -> None:
        """The leader notes its high watermark."""
        self.leading.noted = max(self.leading.noted, min(self.committed, self.leading.end))

    def elect(self, replica: int) -> None:
        """Make a replica the leader; what it does not have is lost."""
        chosen = self.replicas[replica]
        if not chosen.is_alive:
            return
        self.leader, self.epoch = replica, self.epoch + 1
        chosen.follows = self.epoch
        chosen.assign(self.epoch, chosen.end)
        self.committed = min(self.committed, chosen.end)
        self.truth = {offset: batch for offset, batch in self.truth.items() if offset < chosen.end}
        for batch in chosen.log:
            self.truth.update(dict.fromkeys(range(batch.first, batch.last + 1), batch))

    def crash(self, replica: int) -> None:
        """A broker stops for good; its disk stays."""
        if replica != self.leader:
            self.replicas[replica].is_alive = False

    def files(self, lineage: set[int] | None = None) -> dict[str, bytes]:
        """The replicas' log directories `m:/<number>`; with lineages, or those of some."""
        files: dict[str, bytes] = {}
        for number, replica in enumerate(self.replicas):
            top = f"m:/{number}"
            if lineage is None or number in lineage:
                lines = "".join(f"{epoch} {start}\n" for epoch, start in replica.epochs)
                files[f"{top}/t-0/leader-epoch-checkpoint"] = f"0\n{len(replica.epochs)}\n{lines}".encode()
            files[f"{top}/replication-offset-checkpoint"] = f"0\n1\nt 0 {replica.noted}\n".encode()
            for base, following in zip(replica.bases, [*replica.bases[1:], 1 << 62], strict=True):
                inside = (batch for batch in replica.log if base <= batch.first < following)
                files[f"{top}/t-0/{base:020}.log"] = b"".join(batch.encoded() for batch in inside)
        return files

    def places(self, lineage: set[int] | None = None) -> MemoryPlaces:
        return MemoryPlaces(self.files(lineage))
