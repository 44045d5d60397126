"""From times to offsets: the first record of a log whose timestamp is not below one.

Strategy: as a broker finds it (UnifiedLog.searchOffsetInLocalLog, LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp): `.timeindex` says which segments, and which part of one, hold earlier records
only; headers say it of batches; then the records of one batch are read, those of control batches and of
aborted transactions too. Two things are different. A time index has no checksum: what it claims is held
against the batch that it names, and without that nothing is left out. And the search goes on to the next
segment, where a broker finds nothing if the first one that it looks into has no such record: one whose latest
record the cleaner took, or one without times, which is judged by the time its file was changed.

Where damage may have held that record, `start` begins there, so that whoever reads is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_segments.catalog.lookups import open_offsets, open_times
from kafka_segments.catalog.model import PartitionLog, Piece, StoredSegment
from kafka_segments.catalog.opening import open_segment_of, open_stored
from kafka_segments.catalog.walking import Budget, Head, iter_heads
from kafka_segments.entries import Batch, Damage
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.framing import Scan
from kafka_segments.places import Places
from kafka_segments.segment import Segment
from kafka_segments.storage import Source

__all__ = ["Finder", "TimeClaims", "is_before", "piece_end", "position_of", "read_claims", "verify_claim"]

_MOST_HEADS = 4096  # that lie between two entries of an index: 4096 bytes with a batch of 61 each, many times


@dataclass(frozen=True, slots=True)
class TimeClaims:
    """What a time index says of a time and is borne out by the log.

    Attributes:
        before: up to this offset all records are earlier; None if nothing is said.
        is_all: that is so of the whole segment.
        greatest: the greatest timestamp of what `before` speaks of; None if nothing is said.
    """

    before: int | None = None
    is_all: bool = False
    greatest: int | None = None


def read_claims(
    places: Places, segment: StoredSegment, timestamp: int, findings: list[KafkaFormatError]
) -> TimeClaims:
    """What the segment's time index says of records earlier than `timestamp`.

    Args:
        places: where files are opened.
        segment: which.
        timestamp: milliseconds.
        findings: gets what is wrong with its indexes.
    """
    try:
        times = open_times(places, segment)
        if times is None:
            return TimeClaims()
        with times:
            last = times.last()
            if last is None:
                return TimeClaims()
            if last[0] < timestamp:
                verify_claim(places, segment, last)
                # While a broker writes, later records may stand behind the last entry.
                return TimeClaims(last[1], not segment.is_newest, last[0])
            below = times.last_below(timestamp)
            if below is None:
                return TimeClaims(segment.base_offset - 1)
            verify_claim(places, segment, below)
            return TimeClaims(below[1], False, below[0])
    except KafkaFormatError as error:
        findings.append(error)
        return TimeClaims()


def verify_claim(
    places: Places, segment: StoredSegment, claim: tuple[int, int], *, needs_records: bool = False
) -> None:
    """See that the batch at an offset has a timestamp as its greatest.

    Args:
        places: where files are opened.
        segment: whose time index it is.
        claim: timestamp and offset.
        needs_records: the batch must hold records that readers are given.

    Raises:
        OptionError: it has another, or there is no such batch, or no index says where it is.
        KafkaFormatError: an index cannot be read.
    """
    timestamp, offset = claim
    source = open_stored(places, segment)
    try:
        position = position_of(places, segment, offset)
        if position is None:
            raise _unproved(segment, claim, "no index tells where that is")
        for num, head in enumerate(iter_heads(source, position)):
            if isinstance(head, Damage) or num > _MOST_HEADS:
                raise _unproved(segment, claim, "there is damage before it, or too much else")
            if head.last_offset >= offset:
                if needs_records and not head.has_records:
                    raise _unproved(segment, claim, "the batch holds no records for readers")
                if head.max_timestamp == timestamp and (head.first_offset or 0) <= offset:
                    return
                raise _unproved(segment, claim, f"the batch at {head.position} has {head.max_timestamp}")
        raise _unproved(segment, claim, "the log ends before it")
    finally:
        source.close()


def _unproved(segment: StoredSegment, claim: tuple[int, int], why: str) -> OptionError:
    detail = f"it says that timestamp {claim[0]} is that of offset {claim[1]}, but {why}; not used"
    return OptionError(detail, path=segment.beside["timeindex"].path)


def position_of(places: Places, segment: StoredSegment, offset: int) -> int | None:
    """A position from which on everything with this offset or a greater one stands; None without an index.

    Raises:
        KafkaFormatError: the index cannot be read.
    """
    offsets = open_offsets(places, segment)
    if offsets is None:
        return None
    with offsets:
        below = offsets.last_below(offset)
        return 0 if below is None or below[1] >= segment.size else below[1]


def is_before(source: Source, position: int, offset: int) -> bool:
    """Whether a sound entry stands at a position and begins at an offset or before it.

    Then everything from that offset on stands there or behind, and a hint was right.
    """
    if position == 0:
        return True
    found = next(Scan(source).entries(position), None)
    if not isinstance(found, Batch) or not found.crc_valid or found.position != position:
        return False
    first = found.last_offset if found.base_offset is None else found.base_offset
    return first <= offset


def piece_end(log: PartitionLog, at: int) -> int | None:
    """Behind the last offset that one of a log's pieces may hold; None for the last one, if it is open."""
    piece = log.pieces[at]
    following = log.pieces[at + 1].start if at + 1 < len(log.pieces) else None
    ends = [end for end in (piece.end, following) if end is not None]
    return min(ends, default=None)


@dataclass(slots=True)
class Finder:
    """Finds offsets by times.

    Attributes:
        places: where files are opened.
        budget: of headers that may be read where no index helps.
        findings: what was wrong with indexes, so far.
    """

    places: Places
    budget: Budget
    findings: list[KafkaFormatError] = field(default_factory=list)

    def find(self, log: PartitionLog, timestamp: int, start: int, *, is_start: bool) -> int | None:
        """The offset of the first record at or above `start` whose timestamp is not below `timestamp`.

        Args:
            log: where to look.
            timestamp: milliseconds.
            start: lowest offset.
            is_start: where damage may have held it, take the first offset that may be lost; else go on.

        Raises:
            ReadError: a segment cannot be read.
            OptionError: no index helps, and the segments are too large to be walked through.
        """
        for at, piece in enumerate(log.pieces):
            end = piece_end(log, at)
            if end is not None and end <= start:
                continue
            found = self._find_in(piece, timestamp, max(start, piece.start), end, is_start)
            if found is not None:
                return found
        return None

    def _find_in(
        self, piece: Piece, timestamp: int, start: int, end: int | None, is_start: bool
    ) -> int | None:
        segment = piece.segment
        claims = read_claims(self.places, segment, timestamp, self.findings)
        if claims.is_all:
            return None
        if claims.before is not None:
            start = max(start, claims.before + 1)
        position = self._position(segment, start)
        if claims.before is None and not self.budget.spend(segment.file, position):
            raise OptionError(
                f"no sound .timeindex tells where timestamp {timestamp} is, and no more than "
                f"{self.budget.max_bytes} bytes of such segments are walked through while planning; give "
                "offsets instead",
                path=segment.file.path,
            )
        with open_segment_of(self.places, segment) as opened:
            source = open_stored(self.places, segment)
            try:
                position = position if is_before(source, position, start) else 0
                return _Search(opened, source, timestamp, (start, end), is_start).run(position)
            finally:
                source.close()

    def _position(self, segment: StoredSegment, offset: int) -> int:
        try:
            return position_of(self.places, segment, offset) or 0
        except KafkaFormatError as error:
            self.findings.append(error)
            return 0


@dataclass(slots=True)
class _Search:
    """The search in one segment, for offsets in a range."""

    segment: Segment
    source: Source
    timestamp: int
    offsets: tuple[int, int | None]
    is_start: bool

    def run(self, position: int) -> int | None:
        """The first such record from a position on."""
        start, end = self.offsets
        reached = start - 1
        for head in iter_heads(self.source, position):
            if isinstance(head, Damage):
                if self.is_start and head.touches(start, end):
                    return reached + 1
                continue
            if end is not None and (head.first_offset or 0) >= end:
                return None
            if head.max_timestamp >= self.timestamp and head.last_offset >= start:
                for found in self._offsets_in(head):
                    if found >= start and (end is None or found < end):
                        return found
            reached = max(reached, head.last_offset)
        return None

    def _offsets_in(self, head: Head) -> Iterator[int]:
        """Offsets of a batch's records that are late enough; the first there may be if it is damaged."""
        found = next(Scan(self.source).entries(head.position), None)
        is_sound = isinstance(found, Batch) and found.crc_valid is not False
        try:
            for record in self.segment.iter_records(found) if isinstance(found, Batch) and is_sound else ():
                if record.timestamp >= self.timestamp:
                    yield record.offset
        except KafkaFormatError:
            is_sound = False
        if not is_sound and self.is_start:
            first = head.last_offset if head.first_offset is None else head.first_offset
            yield max(first, self.offsets[0])
