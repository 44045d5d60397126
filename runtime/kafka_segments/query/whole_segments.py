"""The split that reads a whole segment, before anything is cut, with what its reader must know of the log.

`planning` and `ingest` both begin with these, so that both read segments by the same rules.
"""

from __future__ import annotations

from kafka_segments.formats.file_names import SEGMENT_NAME
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query.timestamps import piece_end

__all__ = ["whole_split"]


def whole_split(
    log: PartitionLog, at: int, asked: tuple[int, int | None], *, is_from_beginning: bool
) -> Split:
    """The split that reads one piece of a log.

    Args:
        log: the partition.
        at: number of the piece.
        asked: the range of offsets that is read of the log.
        is_from_beginning: reading begins where the log does, and not at an offset or time that was asked for.
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
    """The base offset of the piece before, if its segment lies in the same directory of a broker."""
    if at == 0:
        return None
    own, before = log.pieces[at].segment, log.pieces[at - 1].segment
    directory, _, name = own.file.path.rpartition("/")
    is_same = before.file.path.rpartition("/")[0] == directory and SEGMENT_NAME.fullmatch(name) is not None
    return before.base_offset if is_same else None
