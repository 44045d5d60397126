"""Start position of a range in its segment.

Strategy: all offsets from the range's first one on must follow the position. That is certain at a valid entry
(by its checksum) that begins at or below this offset, as offsets ascend in a log. The hint is tried first,
then positions from the headers, else the segment's beginning. So a wrong hint costs time, never records. (An
entry inside a record's value is valid too, but only a forged index points there.)
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_scan import first_offset_at
from kafka_segments.core.segment.scan.walk import find_entries

__all__ = ["StartPosition", "begin"]


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Start position of a range.

    Attributes:
        position: in the segment.
        sound_offset: upper bound of the offsets of valid entries before it.
        is_hinted: the hint was right.
    """

    position: int
    sound_offset: int
    is_hinted: bool


def begin(source: Source, start: int, base_offset: int, hint: int, max_decompressed: int) -> StartPosition:
    """Find the start position of a range.

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
        return whole  # in a store, reading headers takes as long as reading everything
    for position in find_entries(source, start):
        first = first_offset_at(source, position, max_decompressed) if position else None
        if first is not None and first <= start:
            return StartPosition(position, first - 1, hint == 0)
    return whole
