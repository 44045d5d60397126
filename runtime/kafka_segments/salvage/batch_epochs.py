"""Leader epochs of a log's batches, by which `leader-epoch-checkpoint` is checked, extended or made anew.

No checksum covers the epoch of a batch. One that is above that of the next batch is not believed, and no more
is one below those before it: in a log they never fall.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from kafka_segments.log.lineage import Lineage
from kafka_segments.segment.index_files import LeaderEpoch

__all__ = ["BatchEpochs", "EpochBatches"]

_MAX_RUNS = 50_000


@dataclass(slots=True)
class EpochBatches:
    """Batches of one leader epoch.

    Attributes:
        epoch: of the leader that wrote them.
        first: base offset of the first one.
        last: base offset of the last one.
        num_batches: how many they are.
    """

    epoch: int
    first: int
    last: int
    num_batches: int = 1


class BatchEpochs:
    """Runs of batches by leader epoch, in the order of their offsets."""

    def __init__(self) -> None:
        self._runs: list[EpochBatches] = []

    def note(self, run: EpochBatches) -> None:
        """Add batches; those without an epoch, -1, are passed over."""
        runs = self._runs
        if run.epoch < 0:
            return
        while runs and runs[-1].epoch > run.epoch and runs[-1].num_batches == 1:
            runs.pop()
        if runs and runs[-1].epoch == run.epoch:
            runs[-1].last = run.last
            runs[-1].num_batches += run.num_batches
        elif (not runs or runs[-1].epoch < run.epoch) and len(runs) < _MAX_RUNS:
            runs.append(run)

    def contradict(self, lineage: Lineage) -> bool:
        """Return whether batches have other epochs than a checkpoint says; a single batch says nothing."""
        starts = [entry.start_offset for entry in lineage.entries]
        latest = starts[-1] if starts else -1
        for run in self._runs:
            is_later = run.epoch > lineage.latest and run.first > latest
            if run.num_batches == 1 or is_later:
                continue
            for offset in (run.first, run.last):
                at = bisect_right(starts, offset)
                if at and lineage.entries[at - 1].epoch != run.epoch:
                    return True
        return False

    def after(self, lineage: Lineage) -> list[LeaderEpoch]:
        """Return the epochs that are later than all of a checkpoint."""
        latest = lineage.entries[-1] if lineage.entries else LeaderEpoch(-1, -1)
        return [
            LeaderEpoch(run.epoch, run.first)
            for run in self._runs
            if run.epoch > latest.epoch and run.first > latest.start_offset
        ]
