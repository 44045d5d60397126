"""From a split to arrow batches, with findings.

Strategy: offsets decide. The range is read from the segment where it was planned; if that is another file
now, it is read by offsets all the same, and what it lacks is looked for in the segments that may have it.
What is damaged is told; what is not there is a loss, unless the cleaner may have taken it: where it is known
to have been, or where offsets are missing between or inside sound entries of what was read. That is all that
can be told here. A task sees a part of a segment: the cleaner's traces may be in another. So offsets that are
missing between segments count as lost if this part is without a gap, and `Split.is_compacted` is what decides
for sure; offsets that are missing inside never count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_segments.catalog.model import Loss, Split, StoredSegment
from kafka_segments.columnar.coverage import Coverage
from kafka_segments.columnar.stretch import Stretch
from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.errors import KafkaFormatError, ReadError
from kafka_segments.foreign import refuse_foreign
from kafka_segments.places import Places
from kafka_segments.ranges.ahead import Ahead
from kafka_segments.ranges.beginning import begin
from kafka_segments.ranges.finding import Finder, Found
from kafka_segments.ranges.findings import Findings, Note, name_partition
from kafka_segments.ranges.others import Heard, without
from kafka_segments.ranges.pending import judge
from kafka_segments.ranges.sizes import bounded
from kafka_segments.segment import Segment
from kafka_segments.storage import Source
from kafka_segments.transactions import Void

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.columnar.reader import Event

__all__ = ["Reading", "SplitReader", "read_split"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read.

    Attributes:
        columns: names, see `columnar.schema`.
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
        findings: who is told of the rest; what it raises ends the reading.

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
        self._finder = Finder(split, places)
        self._void = Void.of(split.void) if split.void else None
        self._end = split.following if split.end is None else split.end
        self._reached = self._end  # up to here, what is not there is a loss
        if self._end is None and split.reached is not None:
            self._reached = max(split.start, split.reached)
        self._is_cleaned = bool(split.is_compacted)
        self._has_read = False
        self._position = Ahead()
        self._why = f"{split.segment.file.path} has changed or is gone, and no segment has them now"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything there is, segment by segment."""
        path, missing = self._split.segment.file.path, self._split.start
        if self._end is not None and missing >= self._end:
            return
        found = self._finder.planned()
        if found is None:
            self._note(path, None, "it is gone since the reading was planned: looked for by offset")
            found = self._holding(missing)
        while found is not None:
            coverage, end = Coverage(missing), self._end_in(found)
            try:
                yield from self._read(found, (missing, end), coverage)
            finally:
                found.source.close()
            following = self._settle(found, (missing, end), coverage)
            if following is None:
                return
            missing = following
            found = self._holding(missing)
        # The cleaner takes records, but leaves a segment with an offset at or below theirs.
        if not (self._has_read and self._is_cleaned):
            self._lose(missing, self._reached, self._why)

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
        return _lower(self._reached, found.stored.end_offset if is_other else None)

    def _has_grown(self, found: Found) -> bool:
        """Whether a broker has gone on with the log, of which only the part that was planned is read."""
        is_open = self._split.end is None and self._reached != self._end
        return is_open and found.source.size > self._split.segment.size

    def _read(
        self, found: Found, offsets: tuple[int, int | None], coverage: Coverage
    ) -> Iterator[pa.RecordBatch]:
        start, end = offsets
        stretch = self._stretch(found, start, coverage)
        events = self.events(found.source, (start, end), stretch)
        recent: list[pa.RecordBatch] = []  # since the last event, if that may matter
        for event, is_pending in judge(events, found.source, found.stored.is_newest):
            if isinstance(event, Damage):
                if event.touches(start, self._split.end if found.is_as_planned else end):
                    yield from self._damaged(event, is_pending, (start, end), recent)
                recent.clear()
            elif isinstance(event, SoundBatches):
                self._findings.batches(event)
                recent.clear()
            elif not isinstance(event, Batch | Padding):  # the damage of such a batch follows it
                ahead = self._ahead(event, found.stored.file.path)
                if ahead is not None:
                    if self.reading.is_best:
                        recent.append(ahead)
                    yield ahead
        self._has_read = True

    def _ahead(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch | None:
        """The rows that a consumer would be given; the others are told."""
        ahead, skipped = self._position.of(batch) if self.is_consumer else (batch, None)
        if skipped is not None:
            which = f"{skipped.num_rows} records with offsets {skipped.first_offset} to {skipped.last_offset}"
            which += " stand behind greater ones, or twice"
            self._note(path, None, f"{which}: left out, as a consumer does")
            if skipped.new is not None:
                why = f"{path}: {which}, and are not known to have come before"
                self._lose(skipped.new[0], skipped.new[1] + 1, why)
        return ahead

    def events(self, source: Source, offsets: tuple[int, int | None], stretch: Stretch) -> Iterator[Event]:
        """Arrow batches of a part of a segment, and what is to be told beside them in its place."""
        segment = Segment(
            source,
            check_crc=self.reading.check_crc,
            headers_only=False,
            max_decompressed=self.reading.max_decompressed,
        )
        return segment.iter_columnar(self._columns, offsets, self._void, stretch)

    def _stretch(self, found: Found, start: int, coverage: Coverage) -> Stretch:
        """Where to read, and a note if that is not where it should be."""
        split, source = self._split, found.source
        hint = split.position if found.stored is split.segment else 0
        bound = self.reading.max_decompressed
        beginning = begin(source, start, found.stored.base_offset, hint, bound)
        if beginning.position == 0:
            refuse_foreign(source)
        if hint and not beginning.is_hinted:
            why = "the .index is wrong" if found.is_as_planned else "the file has changed since then"
            detail = f"offset {start} was planned to be at or behind this place, but no sound entry with an "
            detail += f"offset at or below it begins here (damage, or {why}): looked for by headers"
            self._note(found.stored.file.path, hint, detail)
        end_position = 0
        if found.is_as_planned and beginning.is_hinted:
            end_position = split.end_position or 0
            if split.end_position is None and split.end == split.following:
                end_position = split.segment.size if self._has_grown(found) else source.size
        return Stretch(beginning.position, beginning.sound_offset, end_position, coverage, is_shared=True)

    def _settle(self, found: Found, offsets: tuple[int, int | None], coverage: Coverage) -> int | None:
        """Tell what was not there; returns from where on more is to be looked for, None if nothing is."""
        start, limit = offsets
        if coverage.misplaced is not None:
            self._tell_misplaced(*coverage.misplaced, found.stored.file.path)
        self._is_cleaned = self._is_cleaned or coverage.has_gaps
        first, last, end, path = coverage.first, coverage.last, self._reached, found.stored.file.path
        is_damaged = coverage.is_damaged_before or coverage.is_damaged_behind
        if first is not None and first > start and not coverage.is_damaged_before:
            self._lose_unless_cleaned(start, first, f"{path} begins with offset {first}")
        if coverage.is_ended and (found.is_as_planned or limit == end):
            if last is None and not is_damaged:
                self._lose_unless_cleaned(start, end, f"{path} has nothing below offset {end}")
            return None
        behind = start if last is None else max(start, last + 1)
        if end is None or behind >= end or coverage.is_damaged_behind:
            return None
        if not found.is_as_planned:
            return behind
        ends = "is empty" if last is None else f"ends with offset {last}"
        if not self._is_cleaned and _nearest(self._split.others, behind, end):
            self._why = f"{path} {ends}, and no other copy has them"
            return behind
        self._lose_unless_cleaned(behind, end, f"{path} {ends}")
        return None

    def _tell_misplaced(self, first: int, last: int, path: str) -> None:
        """What no range has: no checksum covers the base offsets that put it there."""
        which = f"entries with offsets {first} to {last} stand behind greater ones"
        if first < 0:
            which = f"entries with offsets from {first} on: none is negative"
            self._lose(first, min(last, -1) + 1, f"{path}: {which}")
        self._note(path, None, f"{which}; they are below what is read here, and left out")

    def _damaged(
        self,
        damage: Damage,
        is_pending: bool,
        offsets: tuple[int, int | None],
        recent: list[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        if is_pending:
            self._findings.pending(damage)
        elif self.reading.is_best:
            yield from self._from_others(damage, offsets, recent)
        else:
            self._findings.damage(damage)

    def _from_others(
        self, damage: Damage, offsets: tuple[int, int | None], recent: list[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """What damage has cost, from other copies; those may be damaged there too, and have others again."""
        start, end = offsets
        end = self._end if end is None else end
        first = start if damage.previous_offset is None else max(start, damage.previous_offset + 1)
        behind = end
        if damage.next_offset is not None:
            behind = damage.next_offset if end is None else min(end, damage.next_offset)
        heard = Heard(self._findings)
        sources: list[str] = []
        at = first
        while behind is None or at < behind:
            others = _nearest(self._split.others, at, behind)
            if not others:
                heard.is_whole = False
                break
            sources.append(others[0].file.path)
            until = _lower(behind, others[0].end_offset)
            for batch in self._from_other(others, (at, until), heard):
                # Of a wrapper, messages behind the damaged one have come already.
                yield from without(batch, recent)
            if until is None:
                break
            at = until
        if heard.is_whole and sources:
            which = f"offsets {first} to {'the end' if behind is None else behind - 1}"
            detail = f"{damage.error.detail}; {which} were read from {' and '.join(sources)}"
            self._note(damage.path, damage.position, detail)
        else:
            self._findings.damage(damage)

    def _from_other(
        self, others: Sequence[StoredSegment], offsets: tuple[int, int | None], heard: Heard
    ) -> Iterator[pa.RecordBatch]:
        """What the first of some copies has of a range; those behind it are its others."""
        split = replace(
            self._split,
            start=offsets[0],
            end=offsets[1],
            segment=others[0],
            others=tuple(others[1:]),
            position=0,
            end_position=None,
            following=None,
            copies=(),
            reached=None,
        )
        reading = replace(self.reading, columns=self._columns)
        try:
            yield from type(self)(split, self._places, reading, heard).batches()
        except ReadError:
            heard.is_whole = False  # that copy cannot be read: the damage of this one is to be told

    def _lose_unless_cleaned(self, first: int, behind: int | None, why: str) -> None:
        if not self._is_cleaned:
            self._lose(first, behind, f"{why}, and nothing shows that the cleaner has been there")

    def _lose(self, first: int, behind: int | None, why: str) -> None:
        behind = _lower(behind, self._reached)
        last = first if behind is None else behind - 1  # at least that one
        if last < first:
            return
        self._findings.lost(Loss(self._split.topic, self._split.partition, first, last, why))

    def _note(self, path: str, position: int | None, detail: str) -> None:
        self._findings.note(Note(self._split.topic, self._split.partition, path, position, detail))


def _nearest(others: Sequence[StoredSegment], first: int, behind: int | None) -> list[StoredSegment]:
    """The segments that may hold offsets, those first that begin at or below the first one.

    What a copy holds from its `end_offset` on does not count: it had left the log there, or rolled.
    """
    usable = [
        other
        for other in others
        if (behind is None or other.base_offset < behind)
        and (other.end_offset is None or other.end_offset > first)
    ]
    return sorted(usable, key=lambda other: other.base_offset > first)


def _lower(one: int | None, other: int | None) -> int | None:
    """The lower of two ends, of which None is the highest."""
    return min((end for end in (one, other) if end is not None), default=None)
