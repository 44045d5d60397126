"""What a range lacks, and what stands where it should not: offsets that are lost, and notes.

Strategy: what is not there is a loss, unless the cleaner may have taken it: below the offset that it has
noted, or where traces in a segment say so, in the one that was read or in another of its directory
(`cleaning`).
"""

from __future__ import annotations

from kafka_segments.formats.file_names import NO_END
from kafka_segments.io.filesystems import Places
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, StoredSegment
from kafka_segments.query.read.misnamed import left_out
from kafka_segments.query.read.other_copies import lower
from kafka_segments.query.read.segment_finder import Found, SegmentFinder
from kafka_segments.segment.columnar.offset_coverage import OffsetCoverage

__all__ = ["Losses"]


class Losses:
    """Tells what a range lacks.

    Args:
        split: the range.
        places: where files live.
        finder: of its segments.
        findings: who is told.

    Attributes:
        end: of the range, by itself or by the next segment's name; None is open.
        reached: up to here, what is not there is a loss; None is open.
        named: the offsets that the planned segment should hold by its name and the next one's.
        floor: the first offset that is this range's to read. What lies below the offsets of a log's first
            range by the names is nobody else's.
        is_cleaned: the cleaner was here, so that most segments lack offsets.
        is_zeroed: records were overwritten, which no cleaner does.
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
        self._noted_end = split.cleaned_up_to or 0  # below this offset the cleaner was
        self._seen_end = 0  # likewise, by what was read and the segments' names

    def is_known_cleaned(self, first: int, behind: int | None) -> bool:
        """Whether the cleaner has taken some missing offsets, as far as is known without looking."""
        return max(self._noted_end, self._seen_end) >= (first + 1 if behind is None else behind)

    def see(self, found: Found, coverage: OffsetCoverage) -> None:
        """Tell what stands out of order in a segment, and take notice of the cleaner's work in it."""
        path = found.stored.file.path
        if coverage.misplaced is not None:
            self._tell_misplaced(*coverage.misplaced, path, self._replaced_in(coverage))
        if coverage.before is not None and found.is_as_planned:
            self._tell_before(*coverage.before, path)
        if not coverage.has_gaps:
            return
        self.is_cleaned = True
        # What holds other offsets than its name says does not end there.
        is_in_order = coverage.below is None and coverage.beyond is None and not coverage.falls
        if found.is_as_planned and is_in_order:
            # Without a note nothing tells how far behind a trace the cleaner was.
            end = None if self._split.cleaned_up_to is None else self.named[1]
            self._seen_end = max(self._seen_end, NO_END if end is None else end)

    def lose_unless_cleaned(self, first: int, behind: int | None, why: str) -> None:
        """Tell that offsets are missing, up to one or the end, but for those that the cleaner has taken."""
        if self.is_zeroed:
            self.lose(first, behind, f"{why}, and zeros stand behind that")
            return
        lost = self.lost_from(first, behind)
        if lost is not None:
            self.lose(lost, behind, f"{why}, and nothing shows that the cleaner has been there")

    def lost_from(self, first: int, behind: int | None) -> int | None:
        """The first of some missing offsets that the cleaner has not taken; None if it has all of them."""
        last = first if behind is None else behind - 1
        lost = max(first, self._noted_end)
        if lost <= last and self._finder.own_directory():  # what lies there tells more than names
            lost = self._finder.traces.lost_from(lost, last)
        elif lost <= last:
            lost = max(lost, self._seen_end)
        return lost if lost <= last else None

    def lose(self, first: int, behind: int | None, why: str, floor: int | None = None) -> None:
        """Tell that offsets are lost, as far as they are in the range, or above a lower floor than its."""
        least = self._split.start if floor is None else floor
        first = max(first, least, self._split.asked[0]) if first >= 0 else first
        behind = lower(lower(behind, self.reached), self._split.asked[1])
        last = first if behind is None else behind - 1  # at least that one
        if last < first:
            return
        self._lost(first, last, why)

    def note(self, path: str, position: int | None, detail: str) -> None:
        """Tell of something that costs no offset."""
        where = self._split.topic, self._split.partition
        self._findings.add(Finding(Kind.NOTE, *where, detail, path=path, position=position))

    def _lost(self, first: int, last: int, why: str) -> None:
        where = self._split.topic, self._split.partition
        self._findings.add(Finding(Kind.LOST, *where, why, first, last))

    def tell_misnamed(self, found: Found, coverage: OffsetCoverage) -> None:
        """What the segment holds that belongs to others by the names; what of it nobody reads is lost."""
        split, path = self._split, found.stored.file.path
        if coverage.below is not None and self.floor < split.start:
            first, last = coverage.below
            self.note(
                path, None, f"offsets {first} to {last} stand here, below its base offset: they are read"
            )
        elif coverage.below is not None:
            self._tell_outside(found.stored, coverage.below, "below its base offset")
        if coverage.beyond is not None:
            self._tell_outside(found.stored, coverage.beyond, f"from the next segment's, {self.named[1]}, on")

    def _tell_outside(self, stored: StoredSegment, offsets: tuple[int, int], where: str) -> None:
        (start, end), path = self._split.asked, stored.file.path
        which = f"offsets {offsets[0]} to {offsets[1]} stand here, {where}"
        self.note(path, None, f"overlap: {which}: they are read where they belong by the segments' names")
        first, last = max(offsets[0], start), offsets[1] if end is None else min(offsets[1], end - 1)
        if first > last:
            return
        directory = self._finder.own_directory()
        how = {"is_compacted": self._split.cleaned_up_to is not None, "is_open": end is None}
        for one in left_out(self._places, stored, directory, (first, last), **how):
            why = f"{path}: {which}, and nothing reads them there"
            self._lost(*one, why)

    def _tell_misplaced(self, first: int, last: int, path: str, replaced: tuple[int, int] | None) -> None:
        """What no range has: no checksum covers the base offsets that put it there."""
        which = f"entries with offsets {first} to {last} stand behind greater ones"
        if first < 0:
            which = f"entries with offsets from {first} on: none is negative"
            self.lose(*(replaced or (first, min(last, -1) + 1)), f"{path}: {which}")
        self.note(path, None, f"{which}; they are below what is read here, and left out")

    def _tell_before(self, first: int, last: int, path: str) -> None:
        """What stands in front of lower offsets of the range, where who reads those behind does not look."""
        asked, named = self._split.asked[1], self.named[1]
        behind = lower(lower(last + 1, asked), named)  # from there on it is told already, or not asked for
        if behind is not None and first < behind:
            why = f"{path}: entries with offsets {first} to {last} stand in front of lower ones"
            self._lost(first, behind - 1, why)

    def _replaced_in(self, coverage: OffsetCoverage) -> tuple[int, int] | None:
        """The offsets that are missing where entries with negative ones stand; None if none are."""
        if coverage.replaced is None:
            return None
        first, least, behind = coverage.replaced
        if behind is None:  # nothing follows in the segment
            behind = least if self.reached is None else max(least, self.reached)
        return (first, behind) if first < behind else None
