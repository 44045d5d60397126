"""Offsets that the log cleaner may have removed, by its traces in a directory's segments.

Strategy: traces may be in other segments than the one being read, as a cleaned segment may have no gap. So
before offsets count as lost, the segments whose traces could explain them are read (`cleaner_traces`), up to
a bound of bytes. Header tables find candidates fast; only a valid batch is a trace. Results are cached for
other ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.core.segment.columnar.header_table import iter_tables
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange
from kafka_segments.core.segment.continuity import SegmentContents, traces_in
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.found_cache import FileCache
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.missing_segments import is_cleaned_at
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.segment_extents import contents_of_stored

__all__ = ["shows_cleaner", "traces_of"]

_MAX_WALK = 4 << 30

_kept: FileCache[bool] = FileCache()


def traces_of(places: Places, directory: Sequence[StoredSegment], noted: int | None) -> Traces:
    """Return the traces of the cleaner in a directory.

    Args:
        places: filesystems by path.
        directory: all its segments, by base offset.
        noted: the offset in the cleaner's checkpoint; None without one.
    """
    budget = Budget(_MAX_WALK)
    held = [_contents_of(places, stored) for stored in directory]
    stored_at = dict(zip(map(id, held), directory, strict=True))

    def shows(one: SegmentContents) -> bool:
        stored = stored_at[id(one)]
        return budget.spend(stored.file) and shows_cleaner(places, stored)

    return traces_in(held, noted, shows)


def _contents_of(places: Places, stored: StoredSegment) -> SegmentContents:
    try:
        return contents_of_stored(places, stored)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)  # the reader of that segment reports it
        return SegmentContents(stored.file.path, stored.base_offset, stored.size, is_unknown=True)


def shows_cleaner(places: Places, segment: StoredSegment) -> bool:
    """Whether a segment has a trace of the cleaner; False for an unreadable one."""
    try:
        return _kept.of(
            segment.file, lambda: _may_be_cleaned(places, segment) and is_cleaned_at(places, segment)
        )
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)  # the reader of that segment reports it
        return False


def _may_be_cleaned(places: Places, segment: StoredSegment) -> bool:
    """Whether unverified headers show a gap."""
    coverage = OffsetCoverage()
    with closing(open_stored(places, segment)) as source:
        for _piece in iter_tables(source, OffsetRange(None, None), ReadRange(coverage=coverage)):
            if coverage.has_gaps:
                return True
        return False
