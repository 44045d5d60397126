"""Whether the log cleaner has been in a directory, by the traces that it left in any segment.

Strategy: a task reads a part of a segment, and the traces may be in another: the cleaner goes through a log
from its beginning, and what it leaves of a segment may be without a gap. So before offsets count as lost the
other segments are looked at, the nearest first, and no more of them than a bound allows. Tables of headers
tell fast where there can be a trace; only a sound batch is one. What was found is kept: many ranges ask.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.catalog.holes import is_cleaned_at
from kafka_segments.catalog.model import StoredSegment
from kafka_segments.catalog.opening import open_stored
from kafka_segments.catalog.remembered import Remembered
from kafka_segments.catalog.walking import Budget
from kafka_segments.columnar.coverage import Coverage
from kafka_segments.columnar.headers import iter_tables
from kafka_segments.columnar.stretch import OffsetRange, Stretch
from kafka_segments.errors import KafkaFormatError, pass_over
from kafka_segments.places import Places

__all__ = ["is_any_cleaned", "shows_cleaner"]

_MAX_WALK = 4 << 30

_kept: Remembered[bool] = Remembered()


def is_any_cleaned(places: Places, own: StoredSegment, directory: Sequence[StoredSegment]) -> bool:
    """Whether any segment of a directory shows that the cleaner has been there.

    Args:
        places: where they are.
        own: the segment that lacks offsets.
        directory: all segments beside it, and itself, by base offset.
    """
    budget = Budget(_MAX_WALK)
    at_own = next((at for at, one in enumerate(directory) if one.base_offset >= own.base_offset), 0)
    nearest = sorted(range(len(directory)), key=lambda at: abs(at - at_own))
    return any(shows_cleaner(places, directory[at]) for at in nearest if budget.spend(directory[at].file))


def shows_cleaner(places: Places, segment: StoredSegment) -> bool:
    """Whether a segment shows that the cleaner has been there; it does not where it cannot be read."""
    try:
        return _kept.of(
            segment.file, lambda: _may_be_cleaned(places, segment) and is_cleaned_at(places, segment)
        )
    except KafkaFormatError as error:
        pass_over(error)  # whoever reads that segment tells of it
        return False


def _may_be_cleaned(places: Places, segment: StoredSegment) -> bool:
    """The same by headers that nobody has verified."""
    coverage = Coverage()
    source = open_stored(places, segment)
    try:
        for _piece in iter_tables(source, OffsetRange(None, None), Stretch(coverage=coverage)):
            if coverage.has_gaps:
                return True
        return False
    finally:
        source.close()
