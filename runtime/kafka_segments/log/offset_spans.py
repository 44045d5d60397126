"""Assignment of offset ranges to segments; of overlapping ones the first added wins."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from kafka_segments.log.model import LogPiece, StoredSegment

__all__ = ["OffsetSpans"]

Filled = tuple[int, int, StoredSegment]


class OffsetSpans:
    """Map of offset ranges to segments."""

    def __init__(self) -> None:
        self._filled: list[Filled] = []  # by start, without overlap
        self._all: list[Filled] = []

    def add(self, start: int, end: int, segment: StoredSegment) -> None:
        """Assign the free part of [start, end) to a segment."""
        if start >= end:
            return
        self._all.append((start, end, segment))
        at = bisect_left(self._filled, start, key=_start)
        if at and self._filled[at - 1][1] > start:
            start = self._filled[at - 1][1]
        new = []
        stop = at
        while stop < len(self._filled) and self._filled[stop][0] < end:
            filled_start, filled_end, _ = self._filled[stop]
            if start < filled_start:
                new.append((start, filled_start, segment))
            start = max(start, filled_end)
            stop += 1
        if start < end:
            new.append((start, end, segment))
        self._filled[at:stop] = sorted([*self._filled[at:stop], *new], key=_start)

    def pieces(self) -> Iterator[LogPiece]:
        """Yield the pieces by offset, each with the other segments that have some of its offsets.

        Pieces of one segment that follow each other are one piece.
        """
        return _joined(self._pieces())

    def _pieces(self) -> Iterator[LogPiece]:
        ordered = sorted(self._all, key=_start)
        farthest = list(accumulate((end for _, end, _ in ordered), max))
        for start, end, segment in self._filled:
            first = bisect_right(farthest, start)
            last = bisect_left(ordered, end, key=_start)
            touching = [other for _, other_end, other in ordered[first:last] if other_end > start]
            yield LogPiece(start, end, segment, tuple(other for other in touching if other is not segment))


def _start(filled: Filled) -> int:
    return filled[0]


def _joined(pieces: Iterable[LogPiece]) -> Iterator[LogPiece]:
    before: LogPiece | None = None
    for piece in pieces:
        if before is not None and before.end == piece.start and before.segment is piece.segment:
            others = {one.file.path: one for one in (*before.others, *piece.others)}
            before = replace(before, end=piece.end, others=tuple(others.values()))
            continue
        if before is not None:
            yield before
        before = piece
    if before is not None:
        yield before
