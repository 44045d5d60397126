"""Lost offsets of a range, and notes about misplaced or misnamed entries.

Strategy: a missing offset is lost, unless the cleaner may have removed it: below its checkpoint, or by traces
in the segment or in another one of its directory (`segment_extents`).

Each offset is read by the split that has it by name, so it comes once. A split searches other segments for
offsets missing at either end of its own (`SegmentFinder.elsewhere`), but not for gaps in the middle, which
the cleaner may have made. So an entry in the wrong segment is lost if the right one has entries before and
after it. So is an entry in the middle of a segment, outside the range of its first and last entries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.continuity import Extent
from kafka_segments.core.segment.header_summaries import run_of, summaries_of
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.findings import Finding, Findings, Kind, merged
from kafka_segments.log.model import Split, StoredSegment, lower
from kafka_segments.log.opening import open_stored
from kafka_segments.log.segment_extents import extent_of, shows_cleaner
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
        stop = lower(stop, self.reached, self._split.asked[1])
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
        for one in _left_out(self._places, stored, directory, (first, last), **how):
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
        stop = lower(last + 1, self._split.asked[1], self.named[1])  # others are named elsewhere
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


def _left_out(
    places: Places,
    own: StoredSegment,
    directory: Sequence[StoredSegment],
    offsets: tuple[int, int],
    *,
    is_compacted: bool,
    is_open: bool,
) -> Iterator[tuple[int, int]]:
    """Yield offsets of a segment's entries that no split reads, as first and last offset.

    Args:
        places: filesystems by path.
        own: the segment.
        directory: all segments of its directory, by base offset.
        offsets: first and last of the offsets that are not its own by name.
        is_compacted: the log was cleaned: splits of correctly named segments search neighbours only.
        is_open: the newest segment is read to its own end.
    """
    at_own = bisect_right([one.base_offset for one in directory], own.base_offset) - 1
    own_extent = extent_of(places, own)
    first, last = offsets
    for at, other in enumerate(directory):
        end = directory[at + 1].base_offset if at + 1 < len(directory) else None
        low, high = max(first, other.base_offset), last if end is None else min(last, end - 1)
        if at == at_own or low > high:
            continue
        extent = extent_of(places, other)
        is_within = extent is None or extent.is_within(other.base_offset, end)
        is_far = abs(at - at_own) > 1 and is_within
        if is_open and end is None and extent is None:
            yield other.base_offset, high  # the newest segment is empty: the log ends at its base offset
            continue
        is_not_searched = is_far and (is_compacted or shows_cleaner(places, other))
        found = None if is_not_searched else own_extent
        for inside in _unread((low, high), (other.base_offset, end), extent, found):
            if inside[0] > inside[1]:
                continue
            try:
                yield from _missing_in(places, own, other, inside)
            except KafkaFormatError as error:
                raise_unless_file_at_fault(error)  # the reader of that segment reports it
    if directory and first < directory[0].base_offset:
        yield first, min(last, directory[0].base_offset - 1)


def _unread(
    offsets: tuple[int, int], named: tuple[int, int | None], extent: Extent | None, found: Extent | None
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of offsets that the split of another segment does not search in this one.

    Args:
        offsets: of entries in this segment.
        named: offsets of the other segment by name; contain `offsets`.
        extent: of the other segment's entries; missing offsets outside it are searched.
        found: extent of this segment's entries, within which it is searched; None if it is not searched.
    """
    low, high = offsets
    if found is None:
        yield low, high
        return
    yield low, min(high, found.first - 1)
    yield max(low, found.last + 1), high
    low, high = max(low, found.first), min(high, found.last)
    base_offset, end = named
    if extent is not None and extent.last >= base_offset:
        yield max(low, extent.first), high if end is None else min(high, extent.last)


def _missing_in(
    places: Places, own: StoredSegment, other: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield offset ranges of a segment's entries that are missing in another segment.

    Args:
        places: filesystems by path.
        own: the segment.
        other: the other segment.
        offsets: first and last offset to compare.

    Raises:
        KafkaFormatError: one of them cannot be read.
    """
    theirs = [*_entries(places, other, offsets)]
    # A cleaned batch lacks some of its records, so that only an identical batch counts.
    marks = {mark for mark, _is_cleaned, _offsets in theirs}
    covered = merged((first, last + 1) for _mark, is_cleaned, (first, last) in theirs if not is_cleaned)
    missing = list[tuple[int, int]]()
    for mark, _is_cleaned, (first, last) in _entries(places, own, offsets):
        at = bisect_right(covered, first, key=lambda known: known[0]) - 1
        if mark not in marks and (at < 0 or last >= covered[at][1]):
            missing.append((first, last + 1))
    yield from ((first, stop - 1) for first, stop in merged(missing))


def _entries(
    places: Places, segment: StoredSegment, offsets: tuple[int, int]
) -> Iterator[tuple[object, bool, tuple[int, int]]]:
    """Yield what identifies each sound entry, whether it lacks records, and which of some offsets it has."""
    with closing(open_stored(places, segment)) as source:
        tables = (one for one in Walk(source, check_crc=True).pieces() if isinstance(one, EntryTable))
        for one in chain.from_iterable(map(summaries_of, tables)):  # that segment's reader reports damage
            run, size = run_of(one), one.end_position - one.position
            mark = run.first, run.last, run.newest, one.producer_id, one.num_records, size
            if run.first <= offsets[1] and offsets[0] <= run.last:
                yield mark, run.is_cleaned, (max(run.first, offsets[0]), min(run.last, offsets[1]))
