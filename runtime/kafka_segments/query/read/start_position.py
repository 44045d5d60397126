"""Where in a segment the reading of a range begins.

Strategy: everything from the range's first offset on must stand there or behind. That is certain where a
sound entry (its checksum is right) begins at or below this offset: a log's offsets grow. The hint is tried
first, then what a walk over the headers finds, and else there is the segment's beginning. So a wrong hint
costs time, never records. (An entry inside a record's value, a log in a log, is sound as well; only an index
made for that purpose points there.)
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.header_table import find_entries
from kafka_segments.segment.scan.entry_scan import first_offset_at

__all__ = ["StartPosition", "begin"]


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where to begin.

    Attributes:
        position: in the segment.
        sound_offset: an offset that everything sound before it is at or below.
        is_hinted: the hint was right.
    """

    position: int
    sound_offset: int
    is_hinted: bool


def begin(source: Source, start: int, base_offset: int, hint: int, max_decompressed: int) -> StartPosition:
    """Find where to begin.

    Args:
        source: the segment's bytes.
        start: the range's first offset.
        base_offset: the segment's.
        hint: a position; 0 is always right.
        max_decompressed: bytes that a wrapper may decompress to.
    """
    whole = StartPosition(0, base_offset - 1, hint == 0)
    if start <= base_offset and hint == 0:
        return whole
    if hint > 0:
        first = first_offset_at(source, hint, max_decompressed)
        if first is not None and first <= start:
            return StartPosition(hint, first - 1, True)
    if source.descriptor < 0 and not source.is_memory:
        return whole  # far away, a walk takes as long as the reading
    for position in find_entries(source, start):
        first = first_offset_at(source, position, max_decompressed) if position else None
        if first is not None and first <= start:
            return StartPosition(position, first - 1, hint == 0)
    return whole
