"""Leader epochs of a log's batches, by which `leader-epoch-checkpoint` is checked, extended or made anew.

No checksum covers the epoch of a batch. In a log epochs never fall: of those that contradict each other, the
ones are believed that the most batches have, and that the checkpoint has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_segments.formats.file_names import NO_END
from kafka_segments.log.lineage import Lineage
from kafka_segments.segment.evidence import epoch_at
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

    def settle(self, lineage: Lineage) -> Iterator[EpochBatches]:
        """Keep the runs that a log can have together; yield those that contradict them, or the checkpoint.

        Of all series of runs whose epochs never fall the one with the most batches is kept; batches count
        twice where the checkpoint has their epoch. It is found run by run: `best` has the series so far that
        may still win, by the last epoch, which the number of batches grows with.
        """
        best: list[tuple[int, int]] = []  # last epoch and number of batches
        ends: list[int] = []  # the last run of each
        before: list[int] = []  # of each run the one before it in its series
        for number, run in enumerate(self._runs):
            at = bisect_right(best, (run.epoch, NO_END))
            count, previous = (best[at - 1][1], ends[at - 1]) if at else (0, -1)
            is_known = epoch_at(lineage.entries, run.first) == run.epoch
            count += 2 * run.num_batches if is_known else run.num_batches
            before.append(previous)
            end = at
            while end < len(best) and best[end][1] <= count:
                end += 1
            start = at - 1 if at and best[at - 1][0] == run.epoch else at
            best[start:end], ends[start:end] = [(run.epoch, count)], [number]
        kept = set()
        at = ends[-1] if ends else -1
        while at >= 0:
            kept.add(at)
            at = before[at]
        runs, self._runs = self._runs, []
        for number, run in enumerate(runs):
            # A leader notes its epoch before it writes: a later one in the last batch alone proves nothing.
            is_last = number == len(runs) - 1 and run.num_batches == 1 and run.epoch > lineage.latest
            if number not in kept or (is_last and lineage.entries):
                yield run
            else:
                self._add(run)

    def note(self, run: EpochBatches) -> None:
        """Add batches; those without an epoch, -1, are passed over."""
        runs = self._runs
        if run.epoch < 0:
            return
        if (runs and runs[-1].epoch == run.epoch) or len(runs) < _MAX_RUNS:
            self._add(run)

    def _add(self, run: EpochBatches) -> None:
        runs = self._runs
        if runs and runs[-1].epoch == run.epoch:
            runs[-1].last = run.last
            runs[-1].num_batches += run.num_batches
        else:
            runs.append(run)

    def contradict(self, lineage: Lineage) -> bool:
        """Return whether batches have other epochs than a checkpoint says; a single batch says nothing."""
        latest = lineage.entries[-1].start_offset if lineage.entries else -1
        for run in self._runs:
            is_later = run.epoch > lineage.latest and run.first > latest
            if run.num_batches == 1 or is_later:
                continue
            known = {epoch_at(lineage.entries, offset) for offset in (run.first, run.last)} - {None}
            if known - {run.epoch}:
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
