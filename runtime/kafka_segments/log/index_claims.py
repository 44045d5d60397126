"""Verification of index entries against the log, before records are left out because of them.

Strategy: neither `.index` nor `.timeindex` has a checksum, and after a crash of the machine the end of one
may be missing: a broker rebuilds them then, a reader of its disk finds them as they are. So a timestamp and
its offset are verified in the log, with one or two reads; and before a whole segment counts as earlier, the
batches after the last entries are read too. A wrong omission between two correct entries is not detected: no
broker writes such an index, and its own lookups would be as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_lookup import OffsetLookup
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.core.segment.scan.entry_scan import first_offset_at
from kafka_segments.errors import KafkaFormatError, NotingFaults, OptionError
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import (
    NUM_REQUESTS,
    is_remote,
    is_small,
    open_offsets,
    open_stored,
    open_times,
)

__all__ = [
    "TimeClaims",
    "is_before",
    "iter_claims",
    "position_of",
    "read_claims",
    "verify_claim",
]

_MOST_HEADS = 4096  # between two entries of an index: many times more than batches of 61 bytes in 4096 bytes


@dataclass(frozen=True, slots=True)
class TimeClaims:
    """Verified lookup of a timestamp in a time index.

    Attributes:
        before: all records up to this offset are earlier; None if unknown.
        is_all: all records of the segment are earlier.
        greatest: the greatest timestamp up to `before`; None if unknown.
    """

    before: int | None = None
    is_all: bool = False
    greatest: int | None = None


def read_claims(
    places: Places, segment: StoredSegment, timestamp: int, unused: list[KafkaFormatError]
) -> TimeClaims:
    """Look up in a segment's time index which records are earlier than a timestamp.

    Args:
        places: opens files.
        segment: the segment.
        timestamp: milliseconds.
        unused: receives the errors of its indexes.
    """
    with NotingFaults(unused):
        times = open_times(places, segment)
        if times is None:
            return TimeClaims()
        with times:
            claim = times.last_below(timestamp)
            is_any, is_last = len(times) > 0, claim is not None and claim == times.last()
        if claim is None:
            return TimeClaims(segment.base_offset - 1) if is_any else TimeClaims()
        # While a broker writes, there may be later records after the last entry.
        is_all = verify_claim(places, segment, claim, has_end=is_last and not segment.is_newest)
        return TimeClaims(claim[1], is_all, claim[0])
    return TimeClaims()


def iter_claims(
    places: Places, segments: Sequence[StoredSegment], timestamp: int, unused: list[KafkaFormatError]
) -> Iterator[TimeClaims]:
    """Yield the lookup in each segment; lookups in remote segments run in parallel."""
    for at in range(0, len(segments), NUM_REQUESTS):
        some = segments[at : at + NUM_REQUESTS]
        if not any(is_remote(segment.file) for segment in some):
            for segment in some:
                yield read_claims(places, segment, timestamp, unused)
            continue
        found: list[list[KafkaFormatError]] = [[] for _ in some]
        with ThreadPoolExecutor(len(some)) as pool:
            claims = list(pool.map(lambda one, own: read_claims(places, one, timestamp, own), some, found))
        for one, own in zip(claims, found, strict=True):
            unused += own
            yield one


def verify_claim(
    places: Places,
    segment: StoredSegment,
    claim: tuple[int, int],
    *,
    has_end: bool = False,
    needs_records: bool = False,
) -> bool:
    """Verify that the batch at an offset has this greatest timestamp.

    Args:
        places: opens files.
        segment: the segment of the time index.
        claim: timestamp and offset.
        has_end: this is the last entry of the index.
        needs_records: the batch must have records for readers.

    Returns:
        Whether the claim holds for the whole segment, if `has_end`.

    Raises:
        OptionError: it has another, or there is no such batch, or no index has its position.
        KafkaFormatError: an index or the segment cannot be read.
    """
    timestamp, offset = claim
    position = last_position = 0
    if not is_small(segment):  # which is read faster than its index
        lookup = open_offsets(places, segment)
        if lookup is None:
            raise _unverified(segment, claim, "there is no index to find that")
        with lookup:
            position = _position_in(lookup, offset, segment.size)
            last_position = max(position, _position_in(lookup, MAX_LONG, segment.size)) if has_end else 0
    with closing(open_stored(places, segment)) as source:
        found = _first(source, position, lambda head: head.last_offset >= offset)
        if found is None or (found.first_offset or 0) > offset:
            raise _unverified(segment, claim, "it is not where the index says")
        if needs_records and not found.has_records:
            raise _unverified(segment, claim, "the batch holds no records for readers")
        if found.max_timestamp != timestamp:
            raise _unverified(segment, claim, f"the batch at {found.position} has {found.max_timestamp}")
        return has_end and _is_early(source, last_position, timestamp)


def _first(source: Source, position: int, is_wanted: Callable[[HeaderSummary], bool]) -> HeaderSummary | None:
    """Find the first wanted header from a position on; None if damage or too many others come first."""
    for num, head in enumerate(iter_header_summaries(source, position)):
        if isinstance(head, Damage) or num > _MOST_HEADS:
            return None
        if is_wanted(head):
            return head
    return None


def _is_early(source: Source, position: int, timestamp: int) -> bool:
    """Return whether all batches from a position on are sound, few, and not later than a timestamp."""
    for num, head in enumerate(iter_header_summaries(source, position)):
        if isinstance(head, Damage) or num > _MOST_HEADS or head.max_timestamp > timestamp:
            return False
    return True


def _unverified(segment: StoredSegment, claim: tuple[int, int], why: str) -> OptionError:
    detail = f"it says that timestamp {claim[0]} is that of offset {claim[1]}, but {why}; not used"
    return OptionError(detail, path=segment.beside["timeindex"].path)


def position_of(
    places: Places, segment: StoredSegment, offset: int, unused: list[KafkaFormatError] | None
) -> int:
    """Return a position at or before the first batch from an offset on; 0 if no index has one.

    Args:
        places: opens files.
        segment: the segment.
        offset: the offset.
        unused: receives the error of an index that is at fault; None raises it.
    """
    with nullcontext() if unused is None else NotingFaults(unused):
        offsets = open_offsets(places, segment)
        if offsets is not None:
            with offsets:
                return _position_in(offsets, offset, segment.size)
    return 0


def _position_in(lookup: OffsetLookup, offset: int, size: int) -> int:
    below = lookup.last_below(offset)
    return 0 if below is None or not 0 < below[1] < size else below[1]


def is_before(source: Source, position: int, offset: int) -> bool:
    """Return whether there is a sound entry at a position that begins at an offset or before it.

    Then all offsets from that one on are there or later, and a hint was right.
    """
    if position == 0:
        return True
    first = first_offset_at(source, position)
    return first is not None and first <= offset
