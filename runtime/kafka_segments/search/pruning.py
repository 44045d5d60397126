"""Where a search of a segment begins, by its indexes."""

from __future__ import annotations

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.index_claims import is_before, position_of, read_claims
from kafka_segments.log.model import StoredSegment
from kafka_segments.search.conditions import Conditions

__all__ = ["position_to_begin"]


def position_to_begin(
    places: Places,
    segment: StoredSegment,
    source: Source,
    conditions: Conditions,
    unused: list[KafkaFormatError],
) -> int | None:
    """Return a position before which no record is looked for; None if none is in the whole segment.

    Entries of indexes are verified in the log before they exclude anything; see `log.index_claims`.

    Args:
        places: opens the indexes.
        segment: the segment.
        source: its bytes.
        conditions: those on offsets and times count.
        unused: receives the errors of indexes that are wrong.
    """
    start = conditions.start
    if conditions.since is not None:
        claims = read_claims(places, segment, conditions.since, unused)
        if claims.is_all:
            return None
        if claims.before is not None:
            start = max(claims.before + 1, claims.before + 1 if start is None else start)
    if start is None or start <= segment.base_offset:
        return 0
    position = position_of(places, segment, start, unused)
    return position if is_before(source, position, start) else 0
