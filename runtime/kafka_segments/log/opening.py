"""Open segments and their indexes, in any place and storage form."""

from __future__ import annotations

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.contents import LARGEST_SMALL
from kafka_segments.core.segment.index_lookup import OffsetLookup, TimeLookup, offsets_in, times_in
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.log.model import StoredFile, StoredSegment
from kafka_segments.log.stored_segments import open_beside, open_file, open_stored

__all__ = [
    "NUM_REQUESTS",
    "is_remote",
    "is_small",
    "open_beside",
    "open_file",
    "open_offsets",
    "open_segment_of",
    "open_stored",
    "open_times",
]


NUM_REQUESTS = 32
"""Parallel requests to remote files."""


def open_segment_of(
    places: Places,
    segment: StoredSegment,
    *,
    check_crc: bool = True,
    headers_only: bool = False,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Segment:
    """Open a segment; close it afterwards.

    Raises:
        KafkaFormatError: see `stored_segments.open_stored` and `open_segment`.
    """
    return open_segment(
        open_stored(places, segment),
        check_crc=check_crc,
        headers_only=headers_only,
        max_decompressed=max_decompressed,
        closes_source=True,
    )


def is_remote(file: StoredFile) -> bool:
    """Return whether reading a file takes requests over a network."""
    scheme, colon, _rest = file.path.partition(":/")
    return bool(colon) and scheme.isalnum() and scheme.lower() != "file"


def is_small(segment: StoredSegment) -> bool:
    """Return whether a segment is read faster than its indexes: small, local, and a file of its own."""
    return 0 < segment.size <= LARGEST_SMALL and segment.form == "plain" and not is_remote(segment.file)


def open_offsets(places: Places, segment: StoredSegment) -> OffsetLookup | None:
    """Open a segment's `.index`, None if it has none; close it afterwards.

    Raises:
        ReadError: it cannot be opened or read.
        CorruptIndexError: see `index_lookup.offsets_in`.
    """
    source = open_beside(places, segment, "index")
    return None if source is None else offsets_in(source, segment.base_offset)


def open_times(places: Places, segment: StoredSegment) -> TimeLookup | None:
    """Open a segment's `.timeindex`, as `open_offsets`.

    Raises:
        CorruptIndexError: see `index_lookup.times_in`.
    """
    source = open_beside(places, segment, "timeindex")
    return None if source is None else times_in(source, segment.base_offset)
