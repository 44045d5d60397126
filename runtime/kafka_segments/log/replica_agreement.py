"""Do two copies of a log hold the same batches? Asked at one place, which answers for all before it.

Strategy: replicas are written in the order of the log, each from its leader, and cut from the end only. So
where two of them hold the same batch at an offset, they hold the same below it; and the last place that both
have is where they would differ first. One batch is compared: its header, the checksum in it too, which is of
all its records.

The log cleaner works on each replica alone, so that the batches of compacted ones differ lawfully.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_segments.formats.entries import Batch
from kafka_segments.io.filesystems import Places
from kafka_segments.log.log_end import last_sound_batch
from kafka_segments.log.model import StoredSegment

__all__ = ["Answer", "Span", "compare", "is_same_batch"]

_NUM_TRIES = 8

Span = tuple[int, int, StoredSegment]
"""A segment, and the offsets [start, end) for which it counts."""

Answer = tuple[Batch, Batch] | bool | None
"""Whether two copies agree (True), the batches in which they do not, or None: nothing can be compared."""


def compare(places: Places, one: Sequence[Span], other: Sequence[Span], end: int) -> Answer:
    """Compare two copies at the last place below an offset where both have a sound batch.

    Args:
        places: where they are.
        one: the segments of the first, by offset.
        other: those of the second.
        end: behind the last offset that is to be compared.

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
        if is_same_batch(mine, theirs):
            return True
        if _first(mine) <= theirs.last_offset:
            return mine, theirs
        # There is none at this place, for whatever reason: it is damaged there, or was cleaned.
        end = theirs.last_offset + 1
    return None


def is_same_batch(one: Batch, other: Batch) -> bool:
    """Whether two batches are the same, by their headers."""
    return one == replace(other, path=one.path, position=one.position, crc_valid=one.crc_valid)


def _first(batch: Batch) -> int:
    return batch.last_offset if batch.base_offset is None else batch.base_offset


def _last_below(places: Places, spans: Sequence[Span], end: int) -> Batch | None:
    for start, _, segment in reversed(spans):
        if start < end:
            found = last_sound_batch(places, segment, end)
            if found is not None:
                return found
    return None
