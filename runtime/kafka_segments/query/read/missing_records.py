"""Offsets of one segment that are missing in another, by the headers of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.io.filesystems import Places
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.header_table import iter_tables
from kafka_segments.segment.columnar.read_range import OffsetRange, ReadRange

__all__ = ["missing_in"]


def missing_in(
    places: Places, own: StoredSegment, other: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield offset ranges of a segment's entries that are missing in another segment, in file order.

    Args:
        places: filesystems by path.
        own: the segment.
        other: the other segment.
        offsets: first and last offset to compare.

    Raises:
        KafkaFormatError: one of them cannot be read.
    """
    theirs, ours = _entries(places, other, offsets), _entries(places, own, offsets)
    # A cleaned batch lacks some of its records, so that only an identical batch counts.
    known_marks = set(theirs.marks)
    is_other = np.array([mark not in known_marks for mark in ours.marks], bool)
    firsts, lasts = ours.firsts[is_other], ours.lasts[is_other]
    known, reached = _merged(theirs.firsts[theirs.is_whole], theirs.lasts[theirs.is_whole])
    if len(known):
        at = np.searchsorted(known, firsts, side="right") - 1
        is_missing = (at < 0) | (reached[at] < lasts)
        firsts, lasts = firsts[is_missing], lasts[is_missing]
    if not len(firsts):
        return
    begins = np.append(0, np.flatnonzero(firsts[1:] != lasts[:-1] + 1) + 1)
    for first, last in zip(firsts[begins], lasts[np.append(begins[1:], len(firsts)) - 1], strict=True):
        yield int(first), int(last)


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries in a range of offsets.

    Attributes:
        firsts, lasts: first and last offset of each, clipped to the range.
        is_whole: whether an entry has a record for each of its offsets.
        marks: identity of each entry: base offset and checksum.
    """

    firsts: Any
    lasts: Any
    is_whole: Any
    marks: list[tuple[int, int]]


def _entries(places: Places, segment: StoredSegment, offsets: tuple[int, int]) -> _Entries:
    parts = [[np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, bool)]]
    marks: list[tuple[int, int]] = []
    source = open_stored(places, segment)
    try:
        for piece in iter_tables(source, OffsetRange(None, None), ReadRange()):
            if not isinstance(piece, EntryTable):
                continue  # damage, which the reader of that segment reports
            rows = piece.in_range(offsets[0], offsets[1] + 1)
            firsts, lasts = piece.column("base_offset")[rows], piece.last_offsets()[rows]
            is_whole = ~piece.is_batch()[rows] | (piece.column("num_records")[rows] > lasts - firsts)
            cut = np.maximum(firsts, offsets[0]), np.minimum(lasts, offsets[1]), is_whole
            for part, values in zip(parts, cut, strict=True):
                part.append(values)
            marks += zip(firsts.tolist(), piece.column("crc")[rows].tolist(), strict=True)
    finally:
        source.close()
    firsts, lasts, is_whole = map(np.concatenate, parts)
    return _Entries(firsts, lasts, is_whole, marks)


def _merged(firsts: Any, lasts: Any) -> tuple[Any, Any]:
    """Sort ranges by first offset, and merge overlapping and adjacent ones."""
    order = np.argsort(firsts, kind="stable")
    firsts, reached = firsts[order], np.maximum.accumulate(lasts[order])
    is_new = np.ones(len(firsts), bool)
    is_new[1:] = firsts[1:] > reached[:-1] + 1
    begins = np.flatnonzero(is_new)
    return firsts[begins], reached[np.append(begins[1:], len(firsts)) - 1] if len(begins) else reached
