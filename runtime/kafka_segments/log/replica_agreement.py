"""Comparison of two copies of a log, by the topic's id, by one batch, and by the sizes of segments.

Strategy: replicas are written in the order of the log, each from its leader, and truncated at the end only.
So if two of them have the same batch at an offset, they have the same below it, and would differ at the last
offset in both. One batch is compared: its header, including the checksum of all its records.

The log cleaner works on each replica by itself, so batches of compacted ones may legitimately differ.

A segment is assumed to end where the next one of its copy begins by its name. If a `.log` is missing, the one
before it seems to have its offsets. Reading the end of each segment would cost too much, so only those are
read that are small compared with another copy of the same offsets, or where another copy has one more
segment. A reader still finds gaps that are missed here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.log.log_end import find_end, last_sound_batch
from kafka_segments.log.model import PartitionCopy, StoredSegment

__all__ = ["Answer", "Span", "compare", "find_holes", "two_topics"]

_NUM_TRIES = 8

Span = tuple[int, int, StoredSegment]
"""A segment, with the offsets [start, end) for which it counts."""

Answer = tuple[Batch, Batch] | bool | None
"""True if two copies agree, the two batches if they differ, None if nothing can be compared."""


def compare(places: Places, one: Sequence[Span], other: Sequence[Span], end: int) -> Answer:
    """Compare two copies at the last sound batch of both below an offset.

    Args:
        places: opens files.
        one: the segments of the first, by offset.
        other: those of the second.
        end: offset after the last one to compare.

    Raises:
        ReadError: a segment cannot be opened.
    """
    for _ in range(_NUM_TRIES):
        mine = _last_below(places, one, end)
        if mine is None:
            return None
        theirs = _last_below(places, other, mine.last_offset + 1)
        if theirs is None:
            return None
        if _is_same(mine, theirs):
            return True
        if _first(mine) <= theirs.last_offset:
            return mine, theirs
        # The other copy has no batch there: it is damaged or was cleaned.
        end = theirs.last_offset + 1
    return None


def _is_same(one: Batch, other: Batch) -> bool:
    """Return whether two batches are the same, by their headers; no checksum covers the leader epoch."""
    return one == replace(
        other,
        path=one.path,
        position=one.position,
        crc_valid=one.crc_valid,
        partition_leader_epoch=one.partition_leader_epoch,
    )


def _first(batch: Batch) -> int:
    return batch.last_offset if batch.base_offset is None else batch.base_offset


def _last_below(places: Places, spans: Sequence[Span], end: int) -> Batch | None:
    for start, _, segment in reversed(spans):
        if start < end:
            found = last_sound_batch(places, segment, end)
            if found is not None:
                return found
    return None


def two_topics(copies: Sequence[PartitionCopy]) -> dict[str, OptionError]:
    """Return the errors of topics of which copies have different ids."""
    known = [copy for copy in copies if copy.topic_id is not None]
    return {
        one.topic: OptionError(
            f"topic {one.topic} has the id {other.topic_id} here and {one.topic_id} in {one.path}: these "
            "are two topics of one name, one of which was deleted; give one of them",
            path=other.path,
        )
        for one, other in pairwise(known)
        if one.topic == other.topic and one.topic_id != other.topic_id
    }


_LEAST_SHARE = 0.75  # of another copy's bytes; copies that rolled at other offsets differ by less


def find_holes(places: Places, own: Sequence[Span], others: Sequence[Sequence[Span]]) -> dict[int, int]:
    """Find the end offsets of a copy's segments that end before the next one begins.

    Args:
        places: opens files.
        own: the segments of a copy, by offset.
        others: those of other copies, likewise.

    Returns:
        By number in `own`, the offset after the last batch. A segment with damage after that is left out: its
        reader reports it.

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


class _Sizes:
    """Estimates of the bytes that a copy has for offset ranges."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = [start for start, _end, _segment in spans]

    def is_suspicious(self, start: int, end: int, size: int) -> bool:
        """Return whether a segment of this size, of another copy, may lack offsets of [start, end)."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_left(self._starts, end)
        inside = self._spans[first:last]
        if last - bisect_right(self._starts, start) < 1:
            return False  # this copy does not roll in between
        has_both = inside[0][0] == start and inside[-1][1] == end
        return has_both or size < _LEAST_SHARE * sum(_bytes_in(span, start, end) for span in inside)


def _bytes_in(span: Span, start: int, end: int) -> float:
    first, span_end, segment = span
    common = min(end, span_end) - max(start, first)
    return segment.size * max(0, common) / max(1, span_end - first)
