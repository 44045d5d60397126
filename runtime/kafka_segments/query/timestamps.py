"""Offsets by time: the first record of a log at or after a timestamp.

Strategy: as in a broker (UnifiedLog.searchOffsetInLocalLog, LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp): `.timeindex` excludes segments and beginnings of segments with earlier
records only, headers exclude batches, then the records of one batch are read, also of control batches and
aborted transactions. Two differences: a time index has no checksum, so each used entry is verified against
its batch. And the search continues in the next segment, where a broker stops after the first candidate, even
if the cleaner removed its latest record, or it has no timestamps and was chosen by the file's time.

A `start` begins at damage that may have held the record, so that the reader reports it, and at lost offsets
directly before the record; offsets lost before earlier records count as earlier too. If segments are
misnamed (`astray`), all of them are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import KafkaFormatError, OptionError, raise_unless_file_at_fault
from kafka_segments.log.index_claims import TimeClaims, is_before, iter_claims, position_of
from kafka_segments.log.model import LogPiece, PartitionLog, lower
from kafka_segments.log.opening import Budget, open_stored
from kafka_segments.log.segment_extents import astray_in, contents_of_stored, shows_cleaner

__all__ = ["TimeFinder", "piece_end"]


def piece_end(log: PartitionLog, at: int) -> int | None:
    """End of the offsets of a log's piece, exclusive; None for the last one, if it is open."""
    end = log.pieces[at].end
    if at + 1 == len(log.pieces):
        return end
    return lower(end, log.pieces[at + 1].start)


@dataclass(slots=True)
class TimeFinder:
    """Finds offsets by times.

    Attributes:
        places: filesystems by path.
        budget: for reading headers where there is no sound index.
        unused: errors of indexes.
    """

    places: Places
    budget: Budget
    unused: list[KafkaFormatError] = field(default_factory=list)

    def find(self, log: PartitionLog, timestamp: int, start: int, *, is_start: bool) -> int | None:
        """Find the offset of the first record from `start` on that is at or after `timestamp`.

        Args:
            log: the partition.
            timestamp: milliseconds.
            start: lowest offset.
            is_start: return the first offset of damage that may have held the record, or of lost offsets
                directly before it, instead of skipping them.

        Raises:
            ReadError: a segment cannot be read.
            OptionError: no sound index, and the segments exceed the budget.
        """
        ends = [piece_end(log, at) for at in range(len(log.pieces))]
        if astray := astray_in(self.places, log):
            # Offsets below the first name are deleted only if a broker's checkpoint has them so.
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
                return self._first_lost_before(log, piece, found, start) if is_start else found
        return None

    def _find_in_all(
        self, log: PartitionLog, timestamp: int, offsets: tuple[int, int | None], *, is_start: bool
    ) -> int | None:
        """Search all segments, as their names are wrong, for the lowest offset."""
        found = [
            self._find_in(piece, timestamp, offsets, TimeClaims(), is_start=is_start) for piece in log.pieces
        ]
        return min((one for one in found if one is not None), default=None)

    def _first_lost_before(self, log: PartitionLog, piece: LogPiece, found: int, start: int) -> int:
        """The first offset lost directly before the found one, else the found one.

        Where no more may be read for traces of the cleaner, they count as lost, as if there were none.
        """
        at = log.pieces.index(piece)
        start = max(start, log.cleaned_up_to or 0)
        if at == 0 or piece.start <= start:
            return found
        before = log.pieces[at - 1]
        own, held = (contents_of_stored(self.places, one.segment) for one in (piece, before))
        is_first = own.extent is not None and found <= max(own.extent.first, piece.start)
        if not is_first or own.is_damaged_before:
            return found
        lost = before.end
        if lost is None or lost >= piece.start:
            if held.is_damaged_after or (held.extent is None and held.is_damaged_before):
                return found  # the segment's reader reports it
            lost = before.start if held.extent is None else max(before.start, held.extent.last + 1)
        is_cleaned = lost < piece.start and self.budget.spend(before.segment.file)
        is_cleaned = is_cleaned and shows_cleaner(self.places, before.segment)
        return found if lost >= piece.start or is_cleaned else max(lost, start)

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
        position = position_of(self.places, segment, start, self.unused)
        if claims.before is None and not self.budget.spend(segment.file, position):
            raise OptionError(
                f"no valid .timeindex has the position of timestamp {timestamp}, and the segments exceed "
                f"the {self.budget.max_bytes} bytes whose headers planning may read: give offsets instead, "
                "or raise maxWalkBytes",
                path=segment.file.path,
            )
        with closing(open_stored(self.places, segment)) as source:
            position = position if is_before(source, position, start) else 0
            return _Search(open_segment(source), source, timestamp, (start, end), is_start).run(position)


@dataclass(slots=True)
class _Search:
    """Search of an offset range in one segment."""

    segment: Segment
    source: Source
    timestamp: int
    offsets: tuple[int, int | None]
    is_start: bool

    def run(self, position: int) -> int | None:
        """The offset of the first match from a position on."""
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
        """Yield offsets of matching records of a batch; of a damaged one, the first it may have."""
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
