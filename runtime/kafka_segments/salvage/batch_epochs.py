"""Leader epochs of the result: `leader-epoch-checkpoint`, checked, extended or rebuilt by the batches.

No checksum covers the epoch of a batch. In a log epochs never fall: of those that contradict each other, the
ones are believed that the most batches have, and that the checkpoint has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.evidence import epoch_at
from kafka_segments.core.segment.transactions.log_state import EpochBatches
from kafka_segments.log.lineage import Lineage

__all__ = ["believed_epochs"]

_CONFIRMED = 1000
"""Weight of a batch that the checkpoint confirms: two files have the same then."""
_MAX_NAMED = 10


def believed_epochs(
    lineage: Lineage, runs: Iterable[EpochBatches], start_offset: int
) -> tuple[list[LeaderEpoch], list[str]]:
    """Return the leader epochs of a log, and what there is to say about them.

    Args:
        lineage: of the checkpoints of its copies, up to its end.
        runs: its batches, in order.
        start_offset: where it begins.
    """
    kept, wrong = _settled(runs, lineage)
    notes = [
        f"the batches that begin with offsets {one.first} to {one.last} have leader epoch {one.epoch}, "
        "which their neighbours or leader-epoch-checkpoint contradict; no checksum covers it, so it is "
        "ignored, but followers may refuse them"
        for one in wrong[:_MAX_NAMED]
    ]
    if len(wrong) > _MAX_NAMED:
        notes.append(f"and {len(wrong) - _MAX_NAMED} more such runs of batches")
    known: Sequence[LeaderEpoch] = lineage.entries
    if _contradict(kept, lineage):
        notes.append("leader-epoch-checkpoint has other epochs than the batches, and was rebuilt from them")
        known = ()
    found = [*known, *_after(kept, known)]
    begun = [one for one in found if one.start_offset <= start_offset]
    later = [one for one in found if one.start_offset > start_offset]
    # The first entry moves with the log's start (LeaderEpochFileCache.truncateFromStart).
    return [LeaderEpoch(begun[-1].epoch, start_offset), *later] if begun else later, notes


def _settled(runs: Iterable[EpochBatches], lineage: Lineage) -> tuple[list[EpochBatches], list[EpochBatches]]:
    """Return the runs that a log can have, and those that more batches or the checkpoint contradict."""
    kept: list[EpochBatches] = []
    wrong: list[EpochBatches] = []

    def weight(run: EpochBatches) -> int:
        is_known = epoch_at(lineage.entries, run.first) == run.epoch
        return run.num_batches * (_CONFIRMED if is_known else 1)

    for run in runs:
        while kept and kept[-1].epoch > run.epoch and weight(kept[-1]) <= weight(run):
            wrong.append(kept.pop())
        if kept and kept[-1].epoch > run.epoch:
            wrong.append(run)
        elif kept and kept[-1].epoch == run.epoch:
            kept[-1].last = run.last
            kept[-1].num_batches += run.num_batches
        else:
            kept.append(run)
    last = kept[-1] if kept else None
    # A leader notes its epoch before it writes: a later one in the last batch alone proves nothing.
    if last and lineage.entries and last.num_batches == 1 and last.epoch > lineage.latest:
        wrong.append(kept.pop())
    return kept, wrong


def _contradict(runs: Iterable[EpochBatches], lineage: Lineage) -> bool:
    """Return whether batches have other epochs than a checkpoint says; a single batch says nothing."""
    latest = lineage.entries[-1].start_offset if lineage.entries else -1
    for run in runs:
        is_later = run.epoch > lineage.latest and run.first > latest
        if run.num_batches == 1 or is_later:
            continue
        known = {epoch_at(lineage.entries, offset) for offset in (run.first, run.last)} - {None}
        if known - {run.epoch}:
            return True
    return False


def _after(runs: Iterable[EpochBatches], known: Sequence[LeaderEpoch]) -> list[LeaderEpoch]:
    """Return the epochs that are later than all of a checkpoint."""
    latest = known[-1] if known else LeaderEpoch(-1, -1)
    return [
        LeaderEpoch(run.epoch, run.first)
        for run in runs
        if run.epoch > latest.epoch and run.first > latest.start_offset
    ]
