"""From times to offsets: the first record of a log whose timestamp is not below one.

Strategy: as a broker finds it (UnifiedLog.searchOffsetInLocalLog, LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp): `.timeindex` says which segments, and which part of one, hold earlier records
only; headers say it of batches; then the records of one batch are read, those of control batches and of
aborted transactions too. Two things are different. A time index has no checksum: what it claims is held
against the batch that it names, and without that nothing is left out. And the search goes on to the next
segment, where a broker finds nothing if the first one that it looks into has no such record: one whose latest
record the cleaner took, or one without times, which is judged by the time its file was changed.

Where damage may have held that record, `start` begins there, so that whoever reads is told. So it does where
offsets are lost right before it; of those that are lost before earlier records, it is taken that they were
earlier too. Where segments hold other offsets than their names say (`astray`), all of them are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_segments.errors import KafkaFormatError, OptionError, raise_unless_file_at_fault
from kafka_segments.formats.entries import Batch, Damage
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.astray_segments import astray_in
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.index_claims import TimeClaims, is_before, iter_claims, position_of
from kafka_segments.log.missing_segments import first_missing
from kafka_segments.log.model import LogPiece, PartitionLog, StoredSegment
from kafka_segments.log.opening import open_segment_of, open_stored
from kafka_segments.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.segment.scan.entry_scan import Scan
from kafka_segments.segment.segment import Segment

__all__ = ["TimeFinder", "piece_end"]


def piece_end(log: PartitionLog, at: int) -> int | None:
    """Behind the last offset that one of a log's pieces may hold; None for the last one, if it is open."""
    piece = log.pieces[at]
    following = log.pieces[at + 1].start if at + 1 < len(log.pieces) else None
    ends = [end for end in (piece.end, following) if end is not None]
    return min(ends, default=None)


@dataclass(slots=True)
class TimeFinder:
    """Finds offsets by times.

    Attributes:
        places: where files are opened.
        budget: of headers that may be read where no index helps.
        unused: errors of indexes, so far.
    """

    places: Places
    budget: Budget
    unused: list[KafkaFormatError] = field(default_factory=list)

    def find(self, log: PartitionLog, timestamp: int, start: int, *, is_start: bool) -> int | None:
        """The offset of the first record at or above `start` whose timestamp is not below `timestamp`.

        Args:
            log: where to look.
            timestamp: milliseconds.
            start: lowest offset.
            is_start: where damage may have held it, or offsets right before it are missing, take the first
                offset that may be lost; else go on.

        Raises:
            ReadError: a segment cannot be read.
            OptionError: no index helps, and the segments are too large to be walked through.
        """
        ends = [piece_end(log, at) for at in range(len(log.pieces))]
        if astray := astray_in(self.places, log):
            # No record below the first name counts as deleted, unless a broker has noted that.
            lowest = min([start, *(one.first for one in astray)])
            start = max(lowest, log.log_start_offset or 0) if start == log.pieces[0].start else start
            return self._find_in_all(log, timestamp, (start, ends[-1]), is_start=is_start)
        pairs = zip(log.pieces, ends, strict=True)
        wanted = [(piece, end) for piece, end in pairs if end is None or end > start]
        segments = [piece.segment for piece, _end in wanted]
        claims = iter_claims(self.places, segments, timestamp, self.unused)
        for (piece, end), claimed in zip(wanted, claims, strict=True):
            if claimed.is_all:
                continue
            offsets = max(start, piece.start), end
            found = self._find_in(piece, timestamp, offsets, claimed, is_start=is_start)
            if found is not None:
                return self._or_lost(log, piece, found, start) if is_start else found
        return None

    def _find_in_all(
        self, log: PartitionLog, timestamp: int, offsets: tuple[int, int | None], *, is_start: bool
    ) -> int | None:
        """The lowest one of all segments, where names do not say which of them holds what."""
        found = [
            self._find_in(piece, timestamp, offsets, TimeClaims(), is_start=is_start) for piece in log.pieces
        ]
        return min((one for one in found if one is not None), default=None)

    def _or_lost(self, log: PartitionLog, piece: LogPiece, found: int, start: int) -> int:
        """What was found in a piece, or the first offset that is lost right before it."""
        at = log.pieces.index(piece)
        start = max(start, log.cleaned_up_to or 0)
        if at == 0 or piece.start <= start:
            return found
        lost = first_missing(self.places, log.pieces[at - 1], piece, found, self.budget)
        return found if lost is None else max(lost, start)

    def _find_in(
        self,
        piece: LogPiece,
        timestamp: int,
        offsets: tuple[int, int | None],
        claims: TimeClaims,
        *,
        is_start: bool,
    ) -> int | None:
        segment, (start, end) = piece.segment, offsets
        if claims.before is not None:
            start = max(start, claims.before + 1)
        position = self._position(segment, start)
        if claims.before is None and not self.budget.spend(segment.file, position):
            raise OptionError(
                f"no sound .timeindex tells where timestamp {timestamp} is, and no more than "
                f"{self.budget.max_bytes} bytes of such segments are walked through while planning: give "
                "offsets instead, or allow more (maxWalkBytes)",
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
            raise_unless_file_at_fault(error)
            self.unused.append(error)
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
        for head in iter_header_summaries(self.source, position):
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

    def _offsets_in(self, head: HeaderSummary) -> Iterator[int]:
        """Offsets of a batch's records that are late enough; the first there may be if it is damaged."""
        found = next(Scan(self.source).entries(head.position), None)
        is_sound = isinstance(found, Batch) and found.crc_valid is not False
        try:
            for record in self.segment.iter_records(found) if isinstance(found, Batch) and is_sound else ():
                if record.timestamp >= self.timestamp:
                    yield record.offset
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            is_sound = False
        if not is_sound and self.is_start:
            first = head.last_offset if head.first_offset is None else head.first_offset
            yield max(first, self.offsets[0])
