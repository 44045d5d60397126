"""Segments that a copy has lost from its middle, seen because another copy has more there.

Strategy: a segment is taken to reach up to the next one of its copy, as their names say. Where a `.log` is
gone, the one before it seems to hold what that had. To read the end of each segment would cost too much, so
only those are looked at which are small against what another copy has for the same offsets, or between whose
neighbours another copy has one more. What goes unnoticed here a reader still finds missing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from kafka_segments.formats.entries import Damage
from kafka_segments.io.filesystems import Places
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import find_end
from kafka_segments.log.model import LogPiece, StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.replica_agreement import Span
from kafka_segments.segment.contents import is_cleaned
from kafka_segments.segment.header_summaries import iter_header_summaries

__all__ = ["find_holes", "first_missing", "is_cleaned_at"]

_LEAST_SHARE = 0.75  # of the bytes that another copy has; copies that rolled elsewhere differ by less


def find_holes(places: Places, own: Sequence[Span], others: Sequence[Sequence[Span]]) -> dict[int, int]:
    """Where segments of a copy really end, if that is before the next one begins.

    Args:
        places: where they are.
        own: the segments of a copy, by offset.
        others: those of other copies, likewise.

    Returns:
        By number in `own`, the offset behind the last batch. Where something is damaged behind it, the
        segment counts to its end: its reader tells of that.

    Raises:
        ReadError: a segment cannot be opened.
    """
    known = [_Sizes(spans) for spans in others]
    found = {}
    for at, (start, end, segment) in enumerate(own[:-1]):
        if any(one.is_suspicious(start, end, segment.size) for one in known):
            reached = find_end(places, segment)
            if reached.end_offset < end and reached.tail is None:
                found[at] = max(start, reached.end_offset)
    return found


def first_missing(
    places: Places, before: LogPiece, piece: LogPiece, offset: int, budget: Budget
) -> int | None:
    """The first of the offsets that are lost right before the first record of a piece.

    Args:
        places: where they are.
        before: the piece in front of it.
        piece: it begins where nobody has noted the cleaner.
        offset: of a record in it.
        budget: of headers that may be read to see whether the cleaner took those offsets; where it does not
            allow that, they count as lost, as they do for a reader that sees no trace of the cleaner.

    Returns:
        None if that record is not the first one, or nothing is missing, or the cleaner has been there.

    Raises:
        ReadError: a segment cannot be opened.
    """
    if not _is_first(places, piece, offset):
        return None
    reached = before.end
    if reached is None or reached >= piece.start:
        end = find_end(places, before.segment)
        if end.tail is not None:  # whoever looks there is told
            return None
        reached = max(before.start, end.end_offset)
    if reached >= piece.start:
        return None
    may_look = budget.spend(before.segment.file)
    return None if may_look and is_cleaned_at(places, before.segment) else reached


def _is_first(places: Places, piece: LogPiece, offset: int) -> bool:
    source = open_stored(places, piece.segment)
    try:
        for head in iter_header_summaries(source):
            if isinstance(head, Damage):
                return False
            if head.last_offset >= piece.start:
                return offset <= (head.last_offset if head.first_offset is None else head.first_offset)
    finally:
        source.close()
    return False


def is_cleaned_at(places: Places, segment: StoredSegment) -> bool:
    """Whether a segment shows that the cleaner has been in it."""
    source = open_stored(places, segment)
    try:
        return is_cleaned(source)
    finally:
        source.close()


class _Sizes:
    """How many bytes a copy has for some offsets, about."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = [start for start, _end, _segment in spans]

    def is_suspicious(self, start: int, end: int, size: int) -> bool:
        """Whether a segment of this size, of another copy, may lack some of the offsets [start, end)."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_left(self._starts, end)
        inside = self._spans[first:last]
        if last - bisect_right(self._starts, start) < 1:
            return False  # it does not roll in between
        has_both = inside[0][0] == start and inside[-1][1] == end
        return has_both or size < _LEAST_SHARE * sum(_bytes_in(span, start, end) for span in inside)


def _bytes_in(span: Span, start: int, end: int) -> float:
    first, behind, segment = span
    common = min(end, behind) - max(start, first)
    return segment.size * max(0, common) / max(1, behind - first)
