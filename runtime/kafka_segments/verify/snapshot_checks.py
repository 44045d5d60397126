"""Checks of producer snapshots against the batches before their offsets.

Strategy: where the log has all batches up to a snapshot, the state of each producer must be the one that
the batches give. Where the cleaner or damage may have removed batches, only what no removal explains is a
finding. A producer that is not in a snapshot may have expired (`producer.id.expiration.ms`).
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.core.segment.beside.index_files import ProducerEntry
from kafka_segments.core.segment.verified.producer_table import ProducerState
from kafka_segments.verify.producer_checks import ProducerChecks
from kafka_segments.verify.sink import CheckSink

__all__ = ["check_snapshot"]


def check_snapshot(
    entries: Sequence[ProducerEntry],
    offset: int,
    path: str,
    producers: ProducerChecks,
    sink: CheckSink,
    *,
    is_reached: bool,
) -> None:
    """Compare a snapshot with the state of the producers at its offset.

    Args:
        entries: of the snapshot.
        offset: of the snapshot; records below it are in it.
        path: of its file.
        producers: the state by the batches below the offset.
        sink: collects the findings.
        is_reached: whether the batches go on up to the offset; those that are missing may explain its state.
    """
    is_gapless = is_reached and producers.is_complete and producers.num_missing == 0
    for entry in entries:
        detail = _contradiction(entry, offset, producers.known.get(entry.producer_id), is_gapless=is_gapless)
        if detail is not None:
            sink.add(
                "snapshot-state", f"producer {entry.producer_id}: {detail}", last_offset=offset, path=path
            )
    for producer_id, entry in {one.producer_id: one for one in entries}.items():
        _check_open(producer_id, entry, offset, producers)


def _check_open(producer_id: int, entry: ProducerEntry, offset: int, producers: ProducerChecks) -> None:
    """Report the transaction of a producer that has ended by a snapshot, and has no marker."""
    current = producers.open.get(producer_id)
    if current is None or current.is_in_doubt or current.epoch > entry.epoch:
        return
    if not 0 <= entry.current_txn_first_offset <= current.last_offset:
        producers.lost_marker(producer_id, current, f"the snapshot of offset {offset} has it as ended")
        del producers.open[producer_id]


def _contradiction(
    entry: ProducerEntry, offset: int, state: ProducerState | None, *, is_gapless: bool
) -> str | None:
    """Return how an entry contradicts the batches; None if it does not."""
    if entry.last_offset >= offset:
        return f"its last offset is {entry.last_offset}, but the snapshot is of offset {offset}"
    if state is None or state.is_seeded:
        return None  # its batches were deleted
    if entry.epoch < state.epoch:
        return f"epoch {entry.epoch}, but the batches have {state.epoch}"
    if entry.epoch == state.epoch and state.last_sequence is not None:
        found = entry.last_sequence, entry.last_offset
        expected = state.last_sequence, state.last_offset
        is_older = entry.last_offset < state.last_offset
        if found != expected and (is_gapless or is_older):
            return (
                f"last sequence number {found[0]} at offset {found[1]}, but the batches have {expected[0]} "
                f"at offset {expected[1]}"
            )
    if entry.epoch > state.epoch and is_gapless:
        return f"epoch {entry.epoch}, but the batches have {state.epoch}"
    return None
