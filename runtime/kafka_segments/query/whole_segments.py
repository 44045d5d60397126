"""Splits of whole segments, before they are cut, for planning and ingest."""

from __future__ import annotations

from kafka_segments.formats.file_names import SEGMENT_NAME
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query.timestamps import piece_end

__all__ = ["whole_split"]


def whole_split(
    log: PartitionLog, at: int, asked: tuple[int, int | None], *, is_from_beginning: bool
) -> Split:
    """Return the split for one piece of a log.

    Args:
        log: the partition.
        at: index of the piece.
        asked: the requested range of offsets of the log.
        is_from_beginning: the range begins at the log start, and not at a requested offset or time.
    """
    piece = log.pieces[at]
    ends = [end for end in (piece_end(log, at), asked[1]) if end is not None]
    start = max(piece.start, asked[0])
    lowest = min(asked[0], log.log_start_offset or 0) if is_from_beginning else asked[0]
    return Split(
        log.topic,
        log.partition,
        start,
        min(ends, default=None),
        piece.segment,
        piece.others,
        following=log.pieces[at + 1].start if at + 1 < len(log.pieces) else None,
        cleaned_up_to=log.cleaned_up_to,
        copies=log.copies,
        preceding=_preceding(log, at),
        asked=(lowest, asked[1]),
        floor=lowest if at == 0 and start == piece.segment.base_offset else None,
    )


def _preceding(log: PartitionLog, at: int) -> int | None:
    """Base offset of the previous piece, if its segment is in the same log directory."""
    if at == 0:
        return None
    own, before = log.pieces[at].segment, log.pieces[at - 1].segment
    directory, _, name = own.file.path.rpartition("/")
    is_same = before.file.path.rpartition("/")[0] == directory and SEGMENT_NAME.fullmatch(name) is not None
    return before.base_offset if is_same else None
