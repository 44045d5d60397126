"""Lost offsets of a range, and notes about misplaced or misnamed entries.

Strategy: a missing offset is lost, unless the cleaner may have removed it: below its checkpoint, or by traces
in the segment or in another one of its directory (`segment_extents`).
"""

from __future__ import annotations

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, StoredSegment
from kafka_segments.query.read.misnamed import left_out
from kafka_segments.query.read.other_copies import lower
from kafka_segments.query.read.segment_finder import Found, SegmentFinder

__all__ = ["Losses"]


class Losses:
    """Reports lost offsets of a range.

    Args:
        split: the range.
        places: filesystems by path.
        finder: of its segments.
        findings: receives the findings.

    Attributes:
        end: of the range, by itself or by the next segment's name; None is open.
        reached: end of the offsets that must exist, exclusive; None is open.
        named: offsets of the planned segment by its name and the next one's.
        floor: lowest offset that this range reads: the first range of a log also reads lower offsets than
            its segment's name.
        is_cleaned: the log is cleaned, so that most segments have gaps.
        is_zeroed: records were overwritten by zeros, which the cleaner never does.
    """

    def __init__(self, split: Split, places: Places, finder: SegmentFinder, findings: Findings) -> None:
        self._split, self._places = split, places
        self._finder, self._findings = finder, findings
        self.end = self.reached = split.following if split.end is None else split.end
        if self.end is None and split.reached is not None:
            self.reached = max(split.start, split.reached)
        self.named = split.segment.base_offset, split.segment.end_offset
        self.floor = split.start if split.floor is None or split.start > self.named[0] else split.floor
        self.is_cleaned = split.cleaned_up_to is not None
        self.is_zeroed = False
        self._noted_end = split.cleaned_up_to or 0  # end of the cleaned offsets, by its checkpoint
        self._seen_end = 0  # likewise, by gaps in the segments that were read

    def is_known_cleaned(self, first: int, stop: int | None) -> bool:
        """Whether missing offsets were cleaned, without reading more segments."""
        return max(self._noted_end, self._seen_end) >= (first + 1 if stop is None else stop)

    def see(self, found: Found, coverage: OffsetCoverage, *, is_at_log_end: bool) -> None:
        """Report entries out of order in a segment, and keep its gaps as traces of the cleaner."""
        path = found.stored.file.path
        if coverage.misplaced is not None:
            self._report_misplaced(*coverage.misplaced, path, self._replaced_in(coverage))
        if coverage.before is not None and found.is_as_planned:
            self._report_before(*coverage.before, f"{path}: entries come before others with lower offsets")
        over = coverage.over
        if over is None and coverage.before is None and self.reached is not None:
            over = self.reached, coverage.greatest  # of an entry across the end
        if over is not None and is_at_log_end:
            self._report_before(*over, f"{path}: entries are left out, since the log ends before them")
        if not coverage.has_gaps:
            return
        self.is_cleaned = True
        # A misnamed segment does not end at the next one's name.
        is_in_order = coverage.below is None and coverage.beyond is None and not coverage.falls
        if found.is_as_planned and is_in_order:
            # Without a checkpoint, the cleaner may have gone any distance past a trace.
            end = None if self._split.cleaned_up_to is None else self.named[1]
            self._seen_end = max(self._seen_end, NO_END if end is None else end)

    def lose_unless_cleaned(self, first: int, stop: int | None, why: str) -> None:
        """Report missing offsets as lost, without those that the cleaner may have removed."""
        if self.is_zeroed:
            self.lose(first, stop, f"{why}, and zeros follow")
            return
        lost = self.lost_from(first, stop)
        if lost is not None:
            self.lose(lost, stop, f"{why}, and no trace of the cleaner explains it")

    def lost_from(self, first: int, stop: int | None) -> int | None:
        """The first missing offset that was not cleaned; None if all were."""
        last = first if stop is None else stop - 1
        lost = max(first, self._noted_end)
        if lost <= last and self._finder.own_directory():  # traces are more exact than names
            lost = self._finder.traces.lost_from(lost, last)
        elif lost <= last:
            lost = max(lost, self._seen_end)
        return lost if lost <= last else None

    def lose(self, first: int, stop: int | None, why: str, floor: int | None = None) -> None:
        """Report lost offsets within the range, or from a lower floor on."""
        least = self._split.start if floor is None else floor
        first = max(first, least, self._split.asked[0]) if first >= 0 else first
        stop = lower(lower(stop, self.reached), self._split.asked[1])
        last = first if stop is None else stop - 1  # at least that one
        if last < first:
            return
        self._lost(first, last, why)

    def note(self, path: str, position: int | None, detail: str) -> None:
        """Report something without a loss of offsets."""
        where = self._split.topic, self._split.partition
        self._findings.add(Finding(Kind.NOTE, *where, detail, path=path, position=position))

    def _lost(self, first: int, last: int, why: str) -> None:
        where = self._split.topic, self._split.partition
        self._findings.add(Finding(Kind.LOST, *where, why, first, last))

    def report_misnamed(self, found: Found, coverage: OffsetCoverage) -> None:
        """Report a segment's offsets of others by name; those that no split reads are lost."""
        split, path = self._split, found.stored.file.path
        if coverage.below is not None and self.floor < split.start:
            first, last = coverage.below
            self.note(
                path, None, f"offsets {first} to {last} are stored here, below its base offset: they are read"
            )
        elif coverage.below is not None:
            self._report_outside(found.stored, coverage.below, "below its base offset")
        if coverage.beyond is not None:
            self._report_outside(
                found.stored, coverage.beyond, f"from the next segment's, {self.named[1]}, on"
            )

    def _report_outside(self, stored: StoredSegment, offsets: tuple[int, int], where: str) -> None:
        (start, end), path = self._split.asked, stored.file.path
        which = f"offsets {offsets[0]} to {offsets[1]} are stored here, {where}"
        self.note(path, None, f"overlap: {which}: they are read where they belong by the segments' names")
        first, last = max(offsets[0], start), offsets[1] if end is None else min(offsets[1], end - 1)
        if first > last:
            return
        directory = self._finder.own_directory()
        how = {"is_compacted": self._split.cleaned_up_to is not None, "is_open": end is None}
        for one in left_out(self._places, stored, directory, (first, last), **how):
            why = f"{path}: {which}, and nothing reads them there"
            self._lost(*one, why)

    def _report_misplaced(self, first: int, last: int, path: str, replaced: tuple[int, int] | None) -> None:
        """Report entries that no range reads; checksums do not cover their base offsets."""
        which = f"entries with offsets {first} to {last} follow greater ones"
        if first < 0:
            which = f"entries with offsets from {first} on: offsets cannot be negative"
            self.lose(*(replaced or (first, min(last, -1) + 1)), f"{path}: {which}")
        self.note(path, None, f"{which}; they are below what is read here, and left out")

    def _report_before(self, first: int, last: int, why: str) -> None:
        """Report entries with offsets of a later range, which does not read them, as lost."""
        stop = lower(lower(last + 1, self._split.asked[1]), self.named[1])  # others are named elsewhere
        if stop is not None and first < stop:
            self._lost(first, stop - 1, why)

    def _replaced_in(self, coverage: OffsetCoverage) -> tuple[int, int] | None:
        """Offsets that are missing in place of entries with negative ones; None if none are."""
        if coverage.replaced is None:
            return None
        first, least, stop = coverage.replaced
        if stop is None:  # nothing follows in the segment
            stop = least if self.reached is None else max(least, self.reached)
        return (first, stop) if first < stop else None
