"""Segments with offsets outside the range of their names, for lookups by timestamp.

Strategy: planning finds the segment of an offset by its name. Where files were renamed or swapped, or
overlap, the record is in another segment, and the timestamps of the first do not apply. Segments of tiers are
not opened: their names have ids, and manifests have their offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import starmap

from kafka_segments.core.formats.file_names import SEGMENT_NAME
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import Extent
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.model import PartitionLog, StoredSegment
from kafka_segments.log.opening import NUM_REQUESTS, is_remote
from kafka_segments.log.segment_extents import NUM_AHEAD, extent_of, read_small

__all__ = ["astray_in", "touches_any"]


def astray_in(places: Places, log: PartitionLog, budget: Budget) -> tuple[Extent, ...]:
    """Return the offsets of each segment that has others than its name says; empty where names are right.

    Args:
        places: opens files.
        log: the partition.
        budget: of the planning, see `read_small`.
    """
    segments = [piece.segment for piece in log.pieces if _is_brokers(piece.segment)]
    if any(is_remote(one.file) for one in segments):
        with ThreadPoolExecutor(NUM_REQUESTS) as pool:
            extents = list(pool.map(partial(extent_of, places), segments))
    else:
        extents = []
        for at in range(0, len(segments), NUM_AHEAD):
            some = segments[at : at + NUM_AHEAD]
            read_small(places, some, budget)
            extents += [extent_of(places, one) for one in some]
    return tuple(filter(None, starmap(_if_astray, zip(segments, extents, strict=True))))


def _is_brokers(segment: StoredSegment) -> bool:
    return SEGMENT_NAME.fullmatch(segment.file.path.rpartition("/")[2]) is not None


def _if_astray(segment: StoredSegment, extent: Extent | None) -> Extent | None:
    is_right = extent is None or extent.is_within(segment.base_offset, segment.end_offset)
    return None if is_right else extent


def touches_any(extents: Sequence[Extent], start: int, end: int | None) -> bool:
    """Return whether one of the segments may hold an offset in `[start, end)`."""
    return any(extent.touches(start, end) for extent in extents)
