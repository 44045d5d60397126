"""Offsets of one segment that are missing in another, by the headers of both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries, run_of
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored

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
    theirs = [*_entries(places, other, offsets)]
    # A cleaned batch lacks some of its records, so that only an identical batch counts.
    marks = {mark for mark, _is_cleaned, _offsets in theirs}
    covered: list[tuple[int, int]] = []
    for part in sorted(one for _mark, is_cleaned, one in theirs if not is_cleaned):
        joins = bool(covered) and part[0] <= covered[-1][1] + 1
        before = covered.pop() if joins else part
        covered.append((before[0], max(before[1], part[1])))
    held: tuple[int, int] | None = None
    for mark, _is_cleaned, (first, last) in _entries(places, own, offsets):
        at = bisect_right(covered, first, key=lambda known: known[0]) - 1
        if mark in marks or (at >= 0 and last <= covered[at][1]):
            continue
        if held is not None and first != held[1] + 1:
            yield held
            held = None
        held = first if held is None else held[0], last
    if held is not None:
        yield held


def _entries(
    places: Places, segment: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[object, bool, tuple[int, int]]]:
    """Yield what identifies each entry, whether it lacks records, and those of some offsets that it has."""
    with closing(open_stored(places, segment)) as source:
        for one in iter_header_summaries(source):
            if isinstance(one, HeaderSummary):  # damage is reported by the reader of that segment
                run, size = run_of(one), one.end_position - one.position
                mark = run.first, run.last, run.newest, one.producer_id, one.num_records, size
                if run.first <= offsets[1] and offsets[0] <= run.last:
                    yield mark, run.is_cleaned, (max(run.first, offsets[0]), min(run.last, offsets[1]))
