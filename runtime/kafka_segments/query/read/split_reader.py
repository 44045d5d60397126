"""Reader of a split: Arrow batches and findings.

Strategy: offsets decide. The range is read from the planned segment, even if the file was replaced, and its
missing offsets are searched in other segments. Damage is reported; missing offsets are lost, unless the
cleaner may have removed them (`losses`). Gaps within a segment are never losses.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.arrow_schema import Binary
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.state import ExcludedBatches
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, lower, name_partition
from kafka_segments.log.segment_extents import extent_of
from kafka_segments.query.read.incomplete_tail import mark_incomplete_tail
from kafka_segments.query.read.losses import Losses
from kafka_segments.query.read.other_copies import from_others, nearest
from kafka_segments.query.read.rows_in_order import MonotoneOffsets, bounded
from kafka_segments.query.read.segment_finder import Found, SegmentFinder, begin

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.core.segment.columnar.reader import Event

__all__ = ["Reading", "SplitReader", "read_split"]

_Span = tuple[int, int | None]
"""The first offset, and the one after the last; None is open."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Options of reading.

    Attributes:
        columns: names, see `arrow_schema`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.
        is_best: read damaged offsets from other copies (`replicas=best`).
        max_row_size: bytes of the largest row that the caller accepts; None is any.
        binary: see `arrow_schema`.
    """

    columns: Sequence[str]
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    is_best: bool = False
    max_row_size: int | None = None
    binary: Binary = "copy"


def read_split(
    split: Split, places: Places, reading: Reading, findings: Findings
) -> Iterator[pa.RecordBatch]:
    """Yield the data records of a range, in the order of the log, without control records.

    Each Arrow batch has 1 to 131,072 rows and a few MiB, unless one record is larger; buffers are not reused.

    Args:
        split: the range.
        places: filesystems by path.
        reading: options.
        findings: receives the findings; an error that it raises ends the reading.

    Raises:
        RecordTooLargeError: a record is larger than `max_row_size`.
        ReadError: a file cannot be opened; a deleted one is a loss.
        KafkaFormatError: a file of another program; all errors have topic and partition.
    """
    for batch in SplitReader(split, places, reading, findings).batches():
        yield from bounded(batch, split, reading.max_row_size, reading.columns)


class SplitReader:
    """One pass over a split; subclasses override `events`.

    Args: as for `read_split`.
    """

    is_consumer = True
    """Whether rows are records, returned in ascending order as by a consumer."""

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
        self._why = f"{split.segment.file.path} has changed or is gone, and no segment has them now"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches, segment by segment; errors name the partition."""
        if self._end is None or self._split.start < self._end:
            try:
                yield from self._batches()
            except KafkaFormatError as error:
                raise name_partition(error, self._split) from error.__cause__

    def _batches(self) -> Iterator[pa.RecordBatch]:
        path, missing = self._split.segment.file.path, self._losses.floor
        found = self._finder.planned()
        if found is None:
            self._losses.note(path, None, "it was deleted after planning: searched by offset")
            found = self._holding(missing)
        while found is not None:
            end = self._end_in(found)
            coverage = OffsetCoverage(missing, self._losses.named, end)
            with closing(found.source):
                lacking = yield from self._read(found, (missing, end), coverage)
            following = yield from self._settle(found, (missing, end), coverage, lacking)
            if following is None:
                return
            missing = following
            found = self._holding(missing)
        # The cleaner takes records, but leaves a segment with an offset at or below theirs.
        lost = self._losses.lost_from(missing, self._reached) if self._has_read else missing
        if lost is not None:
            self._losses.lose(lost, self._reached, self._why)

    def _holding(self, missing: int) -> Found | None:
        """Open a segment that may hold the missing offsets, if there are any."""
        is_all = self._reached is not None and missing >= self._reached
        return None if is_all else self._finder.holding(missing, self._reached)

    def _end_in(self, found: Found) -> int | None:
        """End offset of reading in a segment."""
        if found.is_as_planned:
            # Entries with wrong checksums count for no end, and are read if checksums are not looked at.
            ends_with_log = self._split.end is None and (self.reading.check_crc or self._has_grown(found))
            return self._reached if ends_with_log else self._split.end
        # Another file may hold offsets of other ranges, or offsets after its copy's end.
        is_other = any(found.stored is other for other in self._split.others)
        return lower(self._reached, found.stored.end_offset if is_other else None)

    def _log_end(self, found: Found) -> int | None:
        """Position of the log end in a segment, as of planning; None in other segments than the newest."""
        if not found.stored.is_newest:
            return None
        is_older = found.is_as_planned and self._has_grown(found)
        return self._split.segment.size if is_older else found.source.size

    def _is_misnamed(self, found: Found) -> bool:
        """Whether all offsets of a segment are below its name, so that its end is not the log's."""
        extent = extent_of(self._places, found.stored)
        return extent is not None and extent.last < found.stored.base_offset

    def _has_grown(self, found: Found) -> bool:
        """Whether a broker has appended to the log since planning, which is not read."""
        is_open = self._split.end is None and self._reached != self._end
        return is_open and found.source.size > self._split.segment.size

    def _read(
        self, found: Found, offsets: _Span, coverage: OffsetCoverage
    ) -> Generator[pa.RecordBatch, None, list[_Span]]:
        """Read a segment; of a planned one also, from others, what is missing at its beginning.

        Returns:
            The ranges of those that no segment has.
        """
        lacking = list[_Span]()
        start, end = offsets
        read_range = self._read_range(found, offsets, coverage)
        events = self.events(found.source, (start, end), read_range)
        recent: list[pa.RecordBatch] = []  # since the last event, for `replicas=best`
        is_begun = not found.is_as_planned
        for event, is_pending in mark_incomplete_tail(events, found.source, self._log_end(found)):
            if not is_begun and coverage.first is not None:
                is_begun = True
                if coverage.first > max(start, self._split.start) and not coverage.is_damaged_before:
                    gap_end = lower(coverage.first, end)
                    lacking = yield from self._elsewhere(start, gap_end, coverage)
            if isinstance(event, Damage):
                if event.position == 0:
                    refuse_foreign(found.source)
                if event.touches(start, self._split.end if found.is_as_planned else end):
                    is_writing = is_pending and not self._is_misnamed(found)
                    yield from self._damaged(event, is_writing, (start, end), recent)
                recent.clear()
            elif isinstance(event, SoundBatches):
                self._findings.count(event)
                recent.clear()
            elif isinstance(event, Padding):
                # Padding is trimmed when a segment rolls (LogSegment.onBecomeInactiveSegment).
                is_closed = self._split.following is not None and not found.stored.is_newest
                self._losses.is_zeroed = self._losses.is_zeroed or is_closed
            elif not isinstance(event, Batch):  # the damage of such a batch follows it
                ahead = self._ahead(event, found.stored.file.path)
                if ahead is not None:
                    if self.reading.is_best:
                        recent.append(ahead)
                    yield ahead
        self._has_read = True
        return lacking

    def _elsewhere(
        self, first: int, stop: int | None, own: OffsetCoverage
    ) -> Generator[pa.RecordBatch, None, list[_Span]]:
        """Read offsets missing in the planned segment from others; return the ranges not found."""
        # An empty segment, or one with offsets of another, was not only cleaned.
        is_own = own.last is not None and own.below is None and own.beyond is None
        is_near = self._losses.is_cleaned and is_own and self._finder.holds_its_own()
        lacking = list[_Span]()
        at = first
        while stop is None or at < stop:
            found = self._finder.elsewhere(at, stop, is_near=is_near)
            if found is None:
                break
            if stop is not None:  # a truncated entry there is not at the log end
                found = replace(found, stored=replace(found.stored, is_newest=False))
            coverage = OffsetCoverage(at)
            with closing(found.source):
                yield from self._read(found, (at, stop), coverage)
            if coverage.last is None or coverage.last < at:
                continue
            begin = at if coverage.first is None else max(at, coverage.first)
            if begin > at and not coverage.is_damaged_before:
                lacking.append((at, begin))
            # An entry of other offsets in its middle is not its end: other segments may hold those between.
            extent = extent_of(self._places, found.stored)
            reached = coverage.last if extent is None or extent.last < at else min(coverage.last, extent.last)
            at = reached + 1 if stop is None else min(reached + 1, stop)
            if at > begin:
                detail = f"offsets {begin} to {at - 1} are read from this segment; by the segments' "
                detail += f"names they belong to {self._split.segment.file.path}"
                self._losses.note(found.stored.file.path, None, detail)
        if at == first or (stop is not None and at < stop):
            lacking.append((at, stop))
        return lacking

    def _ahead(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch | None:
        """Rows that a consumer would return; others are reported."""
        ahead, skipped = self._position.of(batch) if self.is_consumer else (batch, None)
        if skipped is not None:
            self._losses.note(path, None, f"{skipped}: skipped, as a consumer does")
            if skipped.new is not None:
                why = f"{path}: {skipped}, and are not known duplicates"
                self._losses.lose(skipped.new[0], skipped.new[1] + 1, why, self._losses.floor)
        return ahead

    def events(self, source: Source, offsets: _Span, read_range: ReadRange) -> Iterator[Event]:
        """Arrow batches and other events of a part of a segment, in file order."""
        segment = Segment(
            source,
            check_crc=self.reading.check_crc,
            headers_only=False,
            max_decompressed=self.reading.max_decompressed,
        )
        return segment.iter_columnar(self._columns, offsets, self._excluded, read_range, self.reading.binary)

    def _read_range(self, found: Found, offsets: _Span, coverage: OffsetCoverage) -> ReadRange:
        """Range of positions to read; adds a note if the hint was wrong."""
        (start, end), split, source = offsets, self._split, found.source
        hint = split.position if found.stored is split.segment else 0
        bound = self.reading.max_decompressed
        # Damage at the beginning of a segment found by content is within this range.
        base_offset = (
            found.stored.base_offset if found.is_as_planned else min(found.stored.base_offset, start)
        )
        beginning = begin(source, start, base_offset, hint, bound)
        if hint and not beginning.is_hinted:
            why = "the .index is wrong" if found.is_as_planned else "the file has changed since then"
            detail = (
                f"offset {start} was planned to be at or after this position, but no valid entry with an "
            )
            detail += f"offset at or below it begins here (damage, or {why}): found by headers"
            self._losses.note(found.stored.file.path, hint, detail)
        end_position = 0
        if found.is_as_planned:
            end_position = split.end_position or 0
            if split.end_position is None and split.end == split.following:
                end_position = split.segment.size if self._has_grown(found) else source.size
        return ReadRange(
            beginning.position,
            beginning.sound_offset,
            end_position,
            coverage,
            is_shared=True,
            counts=self.new_counts(found, start, end),
        )

    def new_counts(self, found: Found, start: int, end: int | None) -> EntryCounts | None:  # noqa: ARG002
        """Return what counts the entries of a segment that is about to be read; None for nothing."""
        return None

    def _settle(
        self, found: Found, offsets: _Span, coverage: OffsetCoverage, lacking: Sequence[_Span]
    ) -> Generator[pa.RecordBatch, None, int | None]:
        """Report missing offsets; return the first offset to search elsewhere, None if there is none."""
        path, end = found.stored.file.path, self._reached
        is_at_end = self._split.end is None and found.is_as_planned and not self._has_grown(found)
        self._losses.see(found, coverage, is_at_log_end=is_at_end and offsets[1] is not None)
        if found.is_as_planned:
            self._losses.report_misnamed(found, coverage)
        elif coverage.first is not None and coverage.first > offsets[0] and not coverage.is_damaged_before:
            self._losses.lose_unless_cleaned(
                offsets[0], coverage.first, f"{path} begins with offset {coverage.first}"
            )
        for first, stop in lacking:
            self._losses.lose_unless_cleaned(first, stop, f"{path} begins with offset {coverage.first}")
        missing = self._missing_after(found, offsets, coverage)
        if missing is None or not found.is_as_planned:
            return missing
        for first, stop in (yield from self._elsewhere(missing, end, coverage)):
            is_known = self._losses.is_known_cleaned(first, stop)
            if not is_known and not coverage.is_ended and nearest(self._split.others, first, stop):
                self._why = f"{path} {_ending(coverage)}, and no other copy has them"
                return first
            if stop is not None or first > missing:
                self._losses.lose_unless_cleaned(first, stop, f"{path} {_ending(coverage)}")
        return None

    def _missing_after(self, found: Found, offsets: _Span, coverage: OffsetCoverage) -> int | None:
        """First missing offset of the range after the entries read; None if none is missing."""
        (start, limit), last, end = offsets, coverage.last, self._reached
        if coverage.is_ended and (found.is_as_planned or limit == end):
            is_damaged = coverage.is_damaged_before or coverage.is_damaged_after
            return start if last is None and not is_damaged else None
        stop = start if last is None else max(start, last + 1)
        # Offsets below the segment's name are not its end, and neither is damage after them.
        is_others = last is not None and last < self._losses.named[0]
        if (coverage.is_damaged_after and not is_others) or (end is not None and stop >= end):
            return None
        if end is None:  # a log ends somewhere
            return stop if is_others and found.is_as_planned else None
        return stop

    def _damaged(
        self,
        damage: Damage,
        is_pending: bool,
        offsets: _Span,
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
        """Read a range of another copy."""
        reading = replace(self.reading, columns=self._columns)
        return type(self)(split, self._places, reading, findings).batches()


def _ending(coverage: OffsetCoverage) -> str:
    if coverage.is_ended:
        return "has none of these offsets"
    return "is empty" if coverage.last is None else f"ends with offset {coverage.last}"
