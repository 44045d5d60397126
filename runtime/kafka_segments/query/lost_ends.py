"""Lost offsets at the end of a log, by the checkpoints of its broker.

Strategy: a broker writes the high watermark of each partition (replication-offset-checkpoint) every few
seconds, its recovery point (recovery-point-offset-checkpoint) every minute, and both at shutdown. A log that
ends before them, with no broker running, has lost its end. Segments excluded by the caller (by file names or
options) are not lost. A running broker may have more in its checkpoints than on the disk: its log is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_segments.core.segment.continuity import swapped_out
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.offsets import EndKind, LogView, Range

__all__ = ["lost_ends", "lost_swaps", "not_left_out"]

_LOG_ENDS = (EndKind.LOG_END, EndKind.STABLE)
"""Kinds of ends (`Range.end_is`) of ranges that read to the end of the log."""


def lost_ends(view: LogView, found: Range) -> Iterator[Finding]:
    """Report offsets between the end of a log and its checkpoints (high watermark, recovery point).

    Args:
        view: the log.
        found: the range that is read.
    """
    log, (noted, what) = view.log, view.log.noted.end
    if found.end_is.kind not in _LOG_ENDS or noted <= (view.end if noted else 0):
        return
    why = f"the log ends at offset {view.end}, but a broker noted {noted} as its {what.partition(' (')[0]}"
    for first, stop in not_left_out(log, max(view.end, found.start), noted):
        yield Finding(Kind.LOST, log.topic, log.partition, why, first, stop - 1)


def lost_swaps(
    view: LogView, found: Range, known: Sequence[tuple[int, int]], *, is_from_start: bool
) -> Iterator[Finding]:
    """Report offsets that only `.swap` files hold; see `continuity.swapped_out`.

    Args:
        view: the log.
        found: the range that is read.
        known: the offsets that are reported as lost already.
        is_from_start: the range begins at the log start; a `.swap` file may hold offsets before it.
    """
    log = view.log
    if log.end.is_live or not log.swaps:
        return
    key = log.topic, log.partition
    start = 0 if is_from_start else found.start
    for first, stop, why in swapped_out(log.noted, [piece.segment.base_offset for piece in log.pieces]):
        last = first if stop is None else stop
        is_known = any(one[0] <= first and last <= one[1] for one in known)
        is_asked = last >= start and (found.end in (None, view.end) or first < found.end)
        if is_asked and not is_known:
            yield Finding(Kind.LOST, *key, why, first, last)


def not_left_out(log: PartitionLog, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of an offset range outside deliberately excluded segments, as `[first, stop)`.

    Args:
        log: the partition.
        first: the first offset.
        stop: the end, exclusive.
    """
    chosen_out = [
        (one.first_offset, stop if one.last_offset is None else one.last_offset + 1)
        for one in of_kinds(log.findings, Kind.LEFT_OUT)
        if one.first_offset is not None
    ]
    for start, end in sorted(chosen_out):
        if first < min(start, stop):
            yield first, min(start, stop)
        first = max(first, end)
    if first < stop:
        yield first, stop
