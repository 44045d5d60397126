"""The indexes beside a stored segment, to look things up in."""

from __future__ import annotations

from kafka_segments.catalog.model import StoredSegment
from kafka_segments.catalog.opening import open_beside
from kafka_segments.lookups import OffsetLookup, TimeLookup, offsets_in, times_in
from kafka_segments.places import Places

__all__ = ["OffsetLookup", "TimeLookup", "open_offsets", "open_times"]


def open_offsets(places: Places, segment: StoredSegment) -> OffsetLookup | None:
    """Open a segment's `.index`, None if it has none; close it afterwards.

    Raises:
        ReadError: it cannot be opened or read.
        CorruptIndexError: see `lookups.offsets_in`.
    """
    source = open_beside(places, segment, "index")
    return None if source is None else offsets_in(source, segment.base_offset)


def open_times(places: Places, segment: StoredSegment) -> TimeLookup | None:
    """Open a segment's `.timeindex`; as `open_offsets`.

    Raises:
        CorruptIndexError: see `lookups.times_in`.
    """
    source = open_beside(places, segment, "timeindex")
    return None if source is None else times_in(source, segment.base_offset)
