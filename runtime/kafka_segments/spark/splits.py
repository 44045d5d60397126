"""What `ingest` reads: whole segments, small ones packed together, as splits of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_segments.catalog import cutting
from kafka_segments.catalog.model import PartitionLog, Split
from kafka_segments.catalog.times import piece_end

__all__ = ["MAX_TASK_BYTES", "pack", "segment_splits"]

MAX_TASK_BYTES = 64 << 20


def segment_splits(logs: Iterable[PartitionLog]) -> list[Split]:
    """The segments of logs in order, each from the log start offset on.

    Offsets that are not there are no loss: everything there is, is asked for, and nothing in particular.
    """
    return [
        Split(
            log.topic,
            log.partition,
            max(piece.start, log.log_start_offset or 0),
            piece_end(log, at),
            piece.segment,
            following=log.pieces[at + 1].start if at + 1 < len(log.pieces) else None,
            is_compacted=True,
        )
        for log in logs
        for at, piece in enumerate(log.pieces)
    ]


def pack(splits: Sequence[Split], at_least: int = 1) -> list[tuple[Split, ...]]:
    """Cut the list into tasks, keeping its order; a large segment is one by itself.

    Args:
        splits: the segments.
        at_least: tasks to make if there are segments enough, to keep so many cores busy.
    """
    return cutting.pack(splits, MAX_TASK_BYTES, at_least)
