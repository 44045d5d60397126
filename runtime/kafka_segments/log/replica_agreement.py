"""Comparison of two copies of a log, by the topic's id and by one batch.

Strategy: replicas are written in the order of the log, each from its leader, and truncated at the end only.
So if two of them have the same batch at an offset, they have the same below it, and would differ at the last
offset in both. One batch is compared: its header, including the checksum of all its records.

The log cleaner works on each replica by itself, so batches of compacted ones may legitimately differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.log.log_end import last_sound_batch
from kafka_segments.log.model import PartitionCopy, StoredSegment

__all__ = ["Answer", "Span", "compare", "is_same_batch", "two_topics"]

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
        if is_same_batch(mine, theirs):
            return True
        if _first(mine) <= theirs.last_offset:
            return mine, theirs
        # The other copy has no batch there: it is damaged or was cleaned.
        end = theirs.last_offset + 1
    return None


def is_same_batch(one: Batch, other: Batch) -> bool:
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
