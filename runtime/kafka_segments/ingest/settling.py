"""Settling of a partition after its tasks: what became of its offsets, and where the next run continues."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.core.formats.file_names import MAX_OFFSET
from kafka_segments.ingest.runs.account import Account, account_of, lost_spans
from kafka_segments.ingest.runs.run_state import PartitionState
from kafka_segments.ingest.splits import NewOffsets
from kafka_segments.ingest.task import PartitionOutput
from kafka_segments.log.findings import Finding
from kafka_segments.log.model import PartitionLog

__all__ = ["settle"]


def settle(
    log: PartitionLog,
    known: PartitionState | None,
    offsets: NewOffsets | None,
    output: PartitionOutput,
    planned: Sequence[Finding],
) -> tuple[Account, PartitionState]:
    """Return the account of a partition, and its state after the run.

    Args:
        log: the partition.
        known: its state before; None if it is new to the table.
        offsets: that were planned; None without any.
        output: of all tasks.
        planned: findings of the plan.

    Raises:
        AccountError: more offsets were read than there are.
    """
    key = log.topic, log.partition
    start, end = (0, 0) if offsets is None else offsets
    if known is not None:
        start, end = known.next_offset, known.next_offset if offsets is None else end
    last = output.counts.last
    end = min(MAX_OFFSET, max(start, output.counts.end if end is None else end))
    spans = [*output.lost, *lost_spans(planned, (start, end))]
    account = account_of(
        key,
        (start, end),
        output.counts,
        spans,
        batches=output.batches,
        num_bytes=output.num_bytes,
        crc_failures=output.crc_failures,
    )
    if last is None and known is not None:
        last = known.last
    epochs = log.leader_epochs or (known.leader_epochs if known is not None else ())
    topic_id = log.topic_id or (known.topic_id if known is not None else None)
    return account, PartitionState(*key, end, topic_id, tuple(epochs), last)
