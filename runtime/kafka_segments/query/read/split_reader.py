"""From a split to arrow batches, with findings.

Strategy: offsets decide. The range is read from the segment where it was planned; if that is another file
now, it is read by offsets all the same, and what it lacks is looked for in the segments that may have it.
What is damaged is told; what is not there is a loss, unless the cleaner may have taken it (`losses`). Offsets
that are missing inside never count.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import KafkaFormatError
from kafka_segments.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, name_partition
from kafka_segments.log.segment_extents import extent_of
from kafka_segments.query.read.batch_sizes import bounded
from kafka_segments.query.read.incomplete_tail import mark_incomplete_tail
from kafka_segments.query.read.losses import Losses
from kafka_segments.query.read.monotone_offsets import MonotoneOffsets
from kafka_segments.query.read.other_copies import from_others, lower, nearest
from kafka_segments.query.read.segment_finder import Found, SegmentFinder
from kafka_segments.query.read.start_position import begin
from kafka_segments.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.segment.columnar.read_range import ReadRange
from kafka_segments.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.segment.segment import Segment
from kafka_segments.segment.transactions.state import ExcludedBatches

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.segment.columnar.reader import Event

__all__ = ["Reading", "SplitReader", "read_split"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read.

    Attributes:
        columns: names, see `arrow_schema`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.
        is_best: what is damaged is read from other copies (`replicas=best`).
        max_row_size: bytes of one record that can be handed on; None is any.
    """

    columns: Sequence[str]
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    is_best: bool = False
    max_row_size: int | None = None


def read_split(
    split: Split, places: Places, reading: Reading, findings: Findings
) -> Iterator[pa.RecordBatch]:
    """Yield the data records of a range, in the order of the log; control records are left out.

    Each arrow batch has a row at least, up to 65,536, and a few MiB, unless one record has more; it stays as
    it is as long as anybody holds it.

    Args:
        split: what to read.
        places: where files live.
        reading: how.
        findings: gets the rest; what it raises ends the reading.

    Raises:
        RecordTooLargeError: a record is larger than `max_row_size`.
        ReadError: a file cannot be opened; that it is not there is a loss.
        KafkaFormatError: the file is another program's; all errors name topic and partition.
    """
    try:
        for batch in SplitReader(split, places, reading, findings).batches():
            yield from bounded(batch, split, reading.max_row_size, reading.columns)
    except KafkaFormatError as error:
        raise name_partition(error, split) from error.__cause__


class SplitReader:
    """One pass over a split; `events` is what is read of it.

    Args: as for `read_split`.
    """

    is_consumer = True
    """Its rows are records, of which those come that a consumer is given."""

    def __init__(self, split: Split, places: Places, reading: Reading, findings: Findings) -> None:
        self._split, self._places = split, places
        self.reading, self._findings = reading, findings
        self._columns = list(dict.fromkeys([*reading.columns, "offset"]))
        self._finder = SegmentFinder(split, places)
        self._excluded = ExcludedBatches.of(split.excluded) if split.excluded else None
        self._losses = Losses(split, places, self._finder, findings)
        self._end, self._reached = self._losses.end, self._losses.reached
        self._has_read = False
        self._position = MonotoneOffsets(split.asked[1])
        self._lacking: list[tuple[int, int | None]] = []
        self._why = f"{split.segment.file.path} has changed or is gone, and no segment has them now"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything there is, segment by segment."""
        path, missing = self._split.segment.file.path, self._losses.floor
        if self._end is not None and self._split.start >= self._end:
            return
        found = self._finder.planned()
        if found is None:
            self._losses.note(path, None, "it is gone since the reading was planned: looked for by offset")
            found = self._holding(missing)
        while found is not None:
            end = self._end_in(found)
            coverage = OffsetCoverage(missing, self._losses.named, end)
            try:
                yield from self._read(found, (missing, end), coverage)
            finally:
                found.source.close()
            following = yield from self._settle(found, (missing, end), coverage)
            if following is None:
                return
            missing = following
            found = self._holding(missing)
        # The cleaner takes records, but leaves a segment with an offset at or below theirs.
        lost = self._losses.lost_from(missing, self._reached) if self._has_read else missing
        if lost is not None:
            self._losses.lose(lost, self._reached, self._why)

    def _holding(self, missing: int) -> Found | None:
        """A segment that may hold what is missing, where anything is."""
        is_all = self._reached is not None and missing >= self._reached
        return None if is_all else self._finder.holding(missing, self._reached)

    def _end_in(self, found: Found) -> int | None:
        """Up to where a segment is read."""
        if found.is_as_planned:
            # To the file's end, where nobody has written since: so what is amiss at the log's end is seen.
            return self._reached if self._has_grown(found) else self._split.end
        # A file that was not planned may hold what other ranges are read for, or what does not count.
        is_other = any(found.stored is other for other in self._split.others)
        return lower(self._reached, found.stored.end_offset if is_other else None)

    def _log_end(self, found: Found) -> int | None:
        """Where in a segment the log ends, or ended when the reading was planned; None if in another one."""
        if not found.stored.is_newest:
            return None
        is_older = found.is_as_planned and self._has_grown(found)
        return self._split.segment.size if is_older else found.source.size

    def _is_misnamed(self, found: Found) -> bool:
        """Whether a segment holds what lies below its name: its end is not the log's."""
        extent = extent_of(self._places, found.stored)
        return extent is not None and extent.last < found.stored.base_offset

    def _has_grown(self, found: Found) -> bool:
        """Whether a broker has gone on with the log, of which only the part that was planned is read."""
        is_open = self._split.end is None and self._reached != self._end
        return is_open and found.source.size > self._split.segment.size

    def _read(
        self, found: Found, offsets: tuple[int, int | None], coverage: OffsetCoverage
    ) -> Iterator[pa.RecordBatch]:
        start, end = offsets
        stretch = self._stretch(found, start, coverage)
        events = self.events(found.source, (start, end), stretch)
        recent: list[pa.RecordBatch] = []  # since the last event, if that may matter
        is_begun = not found.is_as_planned
        for event, is_pending in mark_incomplete_tail(events, found.source, self._log_end(found)):
            if not is_begun and coverage.first is not None:
                is_begun = True
                yield from self._before(coverage, start, end)
            if isinstance(event, Damage):
                if event.touches(start, self._split.end if found.is_as_planned else end):
                    is_writing = is_pending and not self._is_misnamed(found)
                    yield from self._damaged(event, is_writing, (start, end), recent)
                recent.clear()
            elif isinstance(event, SoundBatches):
                self._findings.count(event)
                recent.clear()
            elif isinstance(event, Padding):
                # A segment is trimmed when the next one begins (LogSegment.onBecomeInactiveSegment).
                is_closed = self._split.following is not None and not found.stored.is_newest
                self._losses.is_zeroed = self._losses.is_zeroed or is_closed
            elif not isinstance(event, Batch):  # the damage of such a batch follows it
                ahead = self._ahead(event, found.stored.file.path)
                if ahead is not None:
                    if self.reading.is_best:
                        recent.append(ahead)
                    yield ahead
        self._has_read = True

    def _before(self, coverage: OffsetCoverage, start: int, end: int | None) -> Iterator[pa.RecordBatch]:
        """What the planned segment lacks at its beginning, from where it lies instead."""
        first = coverage.first
        if first is not None and first > max(start, self._split.start) and not coverage.is_damaged_before:
            behind = first if end is None else min(first, end)
            self._lacking += yield from self._elsewhere(start, behind, coverage)

    def _elsewhere(
        self, first: int, behind: int | None, own: OffsetCoverage
    ) -> Generator[pa.RecordBatch, None, list[tuple[int, int | None]]]:
        """Read what the planned segment lacks from others that hold it; returns the ranges that none has."""
        # What has nothing of its own, or another segment's content, was not only cleaned.
        is_own = own.last is not None and own.below is None and own.beyond is None
        is_near = self._losses.is_cleaned and is_own and self._finder.holds_its_own()
        lacking: list[tuple[int, int | None]] = []
        at = first
        while behind is None or at < behind:
            found = self._finder.elsewhere(at, behind, is_near=is_near)
            if found is None:
                break
            if behind is not None:  # what is cut off there is no end of the log
                found = replace(found, stored=replace(found.stored, is_newest=False))
            coverage = OffsetCoverage(at)
            try:
                yield from self._read(found, (at, behind), coverage)
            finally:
                found.source.close()
            if coverage.last is None or coverage.last < at:
                continue
            begin = at if coverage.first is None else max(at, coverage.first)
            if begin > at and not coverage.is_damaged_before:
                lacking.append((at, begin))
            # What strays in its middle is not where it ends: others may hold what comes between.
            extent = extent_of(self._places, found.stored)
            reached = coverage.last if extent is None or extent.last < at else min(coverage.last, extent.last)
            at = reached + 1 if behind is None else min(reached + 1, behind)
            if at > begin:
                detail = (
                    f"offsets {begin} to {at - 1} are read from here, where they stand; by the segments' "
                )
                detail += f"names they belong into {self._split.segment.file.path}"
                self._losses.note(found.stored.file.path, None, detail)
        if at == first or (behind is not None and at < behind):
            lacking.append((at, behind))
        return lacking

    def _ahead(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch | None:
        """The rows that a consumer would be given; the others are told."""
        ahead, skipped = self._position.of(batch) if self.is_consumer else (batch, None)
        if skipped is not None:
            self._losses.note(path, None, f"{skipped}: left out, as a consumer does")
            if skipped.new is not None:
                why = f"{path}: {skipped}, and are not known to have come before"
                self._losses.lose(skipped.new[0], skipped.new[1] + 1, why, self._losses.floor)
        return ahead

    def events(self, source: Source, offsets: tuple[int, int | None], stretch: ReadRange) -> Iterator[Event]:
        """Arrow batches of a part of a segment, and what is to be told beside them in its place."""
        segment = Segment(
            source,
            check_crc=self.reading.check_crc,
            headers_only=False,
            max_decompressed=self.reading.max_decompressed,
        )
        return segment.iter_columnar(self._columns, offsets, self._excluded, stretch)

    def _stretch(self, found: Found, start: int, coverage: OffsetCoverage) -> ReadRange:
        """Where to read, and a note if that is not where it should be."""
        split, source = self._split, found.source
        hint = split.position if found.stored is split.segment else 0
        bound = self.reading.max_decompressed
        # What is damaged in front of everything else is of this range where the segment was found by content.
        base_offset = (
            found.stored.base_offset if found.is_as_planned else min(found.stored.base_offset, start)
        )
        beginning = begin(source, start, base_offset, hint, bound)
        if beginning.position == 0:
            refuse_foreign(source)
        if hint and not beginning.is_hinted:
            why = "the .index is wrong" if found.is_as_planned else "the file has changed since then"
            detail = f"offset {start} was planned to be at or behind this place, but no sound entry with an "
            detail += f"offset at or below it begins here (damage, or {why}): looked for by headers"
            self._losses.note(found.stored.file.path, hint, detail)
        end_position = 0
        if found.is_as_planned:
            end_position = split.end_position or 0
            if split.end_position is None and split.end == split.following:
                end_position = split.segment.size if self._has_grown(found) else source.size
        return ReadRange(beginning.position, beginning.sound_offset, end_position, coverage, is_shared=True)

    def _settle(
        self, found: Found, offsets: tuple[int, int | None], coverage: OffsetCoverage
    ) -> Generator[pa.RecordBatch, None, int | None]:
        """Tell what was not there; returns from where on more is to be looked for, None if nothing is."""
        path, end = found.stored.file.path, self._reached
        self._losses.see(found, coverage)
        if found.is_as_planned:
            self._losses.tell_misnamed(found, coverage)
        elif coverage.first is not None and coverage.first > offsets[0] and not coverage.is_damaged_before:
            self._losses.lose_unless_cleaned(
                offsets[0], coverage.first, f"{path} begins with offset {coverage.first}"
            )
        for first, behind in self._lacking:
            self._losses.lose_unless_cleaned(first, behind, f"{path} begins with offset {coverage.first}")
        self._lacking.clear()
        missing = self._missing_behind(found, offsets, coverage)
        if missing is None or not found.is_as_planned:
            return missing
        for first, behind in (yield from self._elsewhere(missing, end, coverage)):
            is_known = self._losses.is_known_cleaned(first, behind)
            if not is_known and not coverage.is_ended and nearest(self._split.others, first, behind):
                self._why = f"{path} {_ending(coverage)}, and no other copy has them"
                return first
            if behind is not None or first > missing:
                self._losses.lose_unless_cleaned(first, behind, f"{path} {_ending(coverage)}")
        return None

    def _missing_behind(
        self, found: Found, offsets: tuple[int, int | None], coverage: OffsetCoverage
    ) -> int | None:
        """From where on offsets of the range are missing behind what was read; None if none are."""
        (start, limit), last, end = offsets, coverage.last, self._reached
        if coverage.is_ended and (found.is_as_planned or limit == end):
            is_damaged = coverage.is_damaged_before or coverage.is_damaged_after
            return start if last is None and not is_damaged else None
        behind = start if last is None else max(start, last + 1)
        # What lies below its segment's name is not the end of this one, nor is damage behind it.
        is_others = last is not None and last < self._losses.named[0]
        if (coverage.is_damaged_after and not is_others) or (end is not None and behind >= end):
            return None
        if end is None:  # a log ends somewhere
            return behind if is_others and found.is_as_planned else None
        return behind

    def _damaged(
        self,
        damage: Damage,
        is_pending: bool,
        offsets: tuple[int, int | None],
        recent: list[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        if self.reading.is_best and not is_pending:
            start, end = offsets
            range_of = start, self._end if end is None else end
            yield from from_others(
                self._split, damage, range_of, self._findings, self._read_copy, recent=recent
            )
        else:
            kind = Kind.PENDING if is_pending else Kind.DAMAGE
            self._findings.add(Finding.of_damage(damage, self._split.topic, self._split.partition, kind))

    def _read_copy(self, split: Split, findings: Findings) -> Iterator[pa.RecordBatch]:
        """What another copy has of a range."""
        reading = replace(self.reading, columns=self._columns)
        return type(self)(split, self._places, reading, findings).batches()


def _ending(coverage: OffsetCoverage) -> str:
    if coverage.is_ended:
        return "has nothing of these offsets"
    return "is empty" if coverage.last is None else f"ends with offset {coverage.last}"
