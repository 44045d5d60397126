"""Offsets that a log directory held when a broker noted its checkpoints, and does not hold any more.

Strategy: a broker notes the high watermark of each partition (replication-offset-checkpoint) every few
seconds, the offset up to which it has flushed the log (recovery-point-offset-checkpoint) every minute, and
both when it stops. Where no broker holds the directory, a log that ends before that has lost its end.
Segments that were left out by whoever asks (other files were given by name, or chosen by options) are not
lost. A broker that is running may have noted more than is on the disk; its log is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.offsets import EndKind, LogView, Range
from kafka_segments.segment.continuity import CheckpointedOffsets, swapped_out

__all__ = ["lost_ends", "lost_swaps", "not_left_out"]

_LOG_ENDS = (EndKind.LOG_END, EndKind.STABLE)
"""What a range ends at that is to go as far as there are offsets (`Range.end_is`)."""


def lost_ends(view: LogView, found: Range) -> Iterator[Finding]:
    """The offsets between the end of a log and the greater of its high watermark and its recovery point.

    Args:
        view: the log.
        found: the range that is read; only one that goes to the log's end can lack something there.
    """
    log = view.log
    noted = max(log.end.high_watermark or 0, log.end.recovery_point or 0)
    if not noted or log.end.is_live or found.end_is.kind not in _LOG_ENDS:
        return
    # Also where something damaged stands behind: its reader may take it for a batch that is being written.
    if noted <= view.end:
        return
    why = f"the log ends at offset {view.end}, and a broker noted {noted} as its {_which(log)}"
    for first, behind in not_left_out(log, max(view.end, found.start), noted):
        yield Finding(Kind.LOST, log.topic, log.partition, why, first, behind - 1)


def lost_swaps(
    view: LogView, found: Range, known: Sequence[tuple[int, int]], *, is_from_start: bool
) -> Iterator[Finding]:
    """The offsets that only segments hold which a broker has yet to take in; see `continuity.swapped_out`.

    Args:
        view: the log.
        found: the range that is read.
        known: the offsets that are reported as lost already.
        is_from_start: the range begins where the log does; such a segment may lie in front of that.
    """
    log = view.log
    if log.end.is_live or not log.swaps:
        return
    noted = CheckpointedOffsets(
        log.log_start_offset, log.end.high_watermark, log.end.recovery_point, swaps=log.swaps
    )
    key = log.topic, log.partition
    start = 0 if is_from_start else found.start
    for first, behind, why in swapped_out(noted, [piece.segment.base_offset for piece in log.pieces]):
        last = first if behind is None else behind
        is_told = any(one[0] <= first and last <= one[1] for one in known)
        is_asked = last >= start and (found.end in (None, view.end) or first < found.end)
        if is_asked and not is_told:
            yield Finding(Kind.LOST, *key, why, first, last)


def _which(log: PartitionLog) -> str:
    end = log.end
    is_flushed = (end.recovery_point or 0) > (end.high_watermark or 0)
    return "recovery point" if is_flushed else "high watermark"


def not_left_out(log: PartitionLog, first: int, behind: int) -> Iterator[tuple[int, int]]:
    """The parts of a range of offsets that no segment holds which was left out on purpose.

    Args:
        log: the partition.
        first: the first offset.
        behind: the offset behind the last one.

    Yields:
        First offset, and the one behind the last.
    """
    chosen_out = [
        (one.first_offset, behind if one.last_offset is None else one.last_offset + 1)
        for one in of_kinds(log.findings, Kind.LEFT_OUT)
        if one.first_offset is not None
    ]
    for start, end in sorted(chosen_out):
        if first < min(start, behind):
            yield first, min(start, behind)
        first = max(first, end)
    if first < behind:
        yield first, behind
