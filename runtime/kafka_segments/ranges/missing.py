"""What a segment holds that another one lacks, by the headers of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kafka_segments.catalog.model import StoredSegment
from kafka_segments.catalog.opening import open_stored
from kafka_segments.columnar.headers import iter_tables
from kafka_segments.columnar.stretch import OffsetRange, Stretch
from kafka_segments.columnar.table import EntryTable
from kafka_segments.places import Places

__all__ = ["missing_in"]


def missing_in(
    places: Places, own: StoredSegment, other: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Offsets of entries of a segment that stand in no entry of another one, as ranges in file order.

    Args:
        places: where they are.
        own: the segment.
        other: the other one.
        offsets: the first and the last offset that are looked at.

    Raises:
        KafkaFormatError: one of them cannot be read.
    """
    known, reached = _merged(*_entries(places, other, offsets))
    firsts, lasts = _entries(places, own, offsets)
    if len(known):
        at = np.searchsorted(known, firsts, side="right") - 1
        is_missing = (at < 0) | (reached[at] < lasts)
        firsts, lasts = firsts[is_missing], lasts[is_missing]
    if not len(firsts):
        return
    begins = np.append(0, np.flatnonzero(firsts[1:] != lasts[:-1] + 1) + 1)
    for first, last in zip(firsts[begins], lasts[np.append(begins[1:], len(firsts)) - 1], strict=True):
        yield int(first), int(last)


def _entries(places: Places, segment: StoredSegment, offsets: tuple[int, int]) -> tuple[Any, Any]:
    """The first and last offsets of the entries of a segment that lie in a range, cut off at its ends."""
    firsts, lasts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    source = open_stored(places, segment)
    try:
        for piece in iter_tables(source, OffsetRange(None, None), Stretch()):
            if not isinstance(piece, EntryTable):
                continue  # damage, of which whoever reads that segment tells
            rows = piece.in_range(offsets[0], offsets[1] + 1)
            firsts.append(np.maximum(piece.column("base_offset")[rows], offsets[0]))
            lasts.append(np.minimum(piece.last_offsets()[rows], offsets[1]))
    finally:
        source.close()
    return np.concatenate(firsts), np.concatenate(lasts)


def _merged(firsts: Any, lasts: Any) -> tuple[Any, Any]:
    """Ranges by their first offsets; those that overlap or follow on each other as one."""
    order = np.argsort(firsts, kind="stable")
    firsts, reached = firsts[order], np.maximum.accumulate(lasts[order])
    is_new = np.ones(len(firsts), bool)
    is_new[1:] = firsts[1:] > reached[:-1] + 1
    begins = np.flatnonzero(is_new)
    return firsts[begins], reached[np.append(begins[1:], len(firsts)) - 1] if len(begins) else reached
