"""Leader epochs of a log's batches, by which `leader-epoch-checkpoint` is checked, extended or rebuilt.

No checksum covers the epoch of a batch. In a log epochs never fall: of those that contradict each other, the
ones are believed that the most batches have, and that the checkpoint has.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_segments.core.segment.evidence import epoch_at
from kafka_segments.core.segment.index_files import LeaderEpoch
from kafka_segments.log.lineage import Lineage

__all__ = ["BatchEpochs", "EpochBatches"]

_MAX_RUNS = 50_000
_CONFIRMED = 1000
"""Weight of a batch that the checkpoint confirms: two files have the same then."""


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

    def settle(self, lineage: Lineage) -> list[EpochBatches]:
        """Keep the runs that a log can have; return those that more batches or the checkpoint contradict."""
        runs, self._runs = self._runs, []
        wrong = []

        def weight(run: EpochBatches) -> int:
            is_known = epoch_at(lineage.entries, run.first) == run.epoch
            return run.num_batches * (_CONFIRMED if is_known else 1)

        for run in runs:
            while self._is_above(run) and weight(self._runs[-1]) <= weight(run):
                wrong.append(self._runs.pop())
            if self._is_above(run):
                wrong.append(run)
            else:
                self._add(run)
        last = self._runs[-1] if self._runs else None
        # A leader notes its epoch before it writes: a later one in the last batch alone proves nothing.
        if last and lineage.entries and last.num_batches == 1 and last.epoch > lineage.latest:
            wrong.append(self._runs.pop())
        return wrong

    def _is_above(self, run: EpochBatches) -> bool:
        return bool(self._runs) and self._runs[-1].epoch > run.epoch

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
