"""Ranges of offsets that are filled by segments, each offset by the first that comes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

from kafka_segments.log.model import LogPiece, StoredSegment

__all__ = ["OffsetSpans"]

Filled = tuple[int, int, StoredSegment]


class OffsetSpans:
    """Which segment is read for which offsets."""

    def __init__(self) -> None:
        self._filled: list[Filled] = []  # by start, without overlap
        self._all: list[Filled] = []

    def add(self, start: int, end: int, segment: StoredSegment) -> None:
        """Fill what is still free of [start, end)."""
        if start >= end:
            return
        self._all.append((start, end, segment))
        at = bisect_left(self._filled, start, key=_start)
        if at and self._filled[at - 1][1] > start:
            start = self._filled[at - 1][1]
        new = []
        stop = at
        while stop < len(self._filled) and self._filled[stop][0] < end:
            before, behind, _ = self._filled[stop]
            if start < before:
                new.append((start, before, segment))
            start = max(start, behind)
            stop += 1
        if start < end:
            new.append((start, end, segment))
        self._filled[at:stop] = sorted([*self._filled[at:stop], *new], key=_start)

    def pieces(self) -> Iterator[LogPiece]:
        """What is read, by offset, with the other segments that hold some of the same offsets."""
        ordered = sorted(self._all, key=_start)
        farthest = list(accumulate((end for _, end, _ in ordered), max))
        for start, end, segment in self._filled:
            first = bisect_right(farthest, start)
            last = bisect_left(ordered, end, key=_start)
            touching = [other for _, behind, other in ordered[first:last] if behind > start]
            yield LogPiece(start, end, segment, tuple(other for other in touching if other is not segment))


def _start(filled: Filled) -> int:
    return filled[0]
