"""Choice of the bytes that make the log: from each offset on, the most trusted copy that has it.

Strategy: a merge of the copies' stretches by offset. A less trusted copy is read only where all better ones
have nothing: at damage, a lost segment, an offset that is missing. Only whole batches are taken, each above
all before it, as a broker would find them. In a compacted log, offsets that are missing between adjacent
batches were removed by the cleaner, and are not taken from a copy that was cleaned later: a deleted key would
come back. Everything that is passed over is compared with what was taken afterwards (`comparison`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.salvage.batches import joined, parts_at, stretches_in
from kafka_segments.salvage.comparison import Outvoted
from kafka_segments.salvage.confirmation import OtherPlaces
from kafka_segments.salvage.ledger import (
    Ledger,
    MissingOffsets,
    SoundStretch,
    Status,
)
from kafka_segments.salvage.source_files import SourceFiles

__all__ = ["Choice"]

_MAX_RELATIVE = (1 << 31) - 1
"""Of an offset or a position in an index (OffsetIndex)."""


class _Cursor:
    """A copy's stretches, one after the other.

    Attributes:
        current: the stretch; None after the last one.
        since: the offset from which on this copy knows the log: lower than the first one of the stretch if
            the cleaner has removed those between.
    """

    def __init__(self, stretches: Iterator[SoundStretch], files: SourceFiles, *, is_compacted: bool) -> None:
        self._stretches, self._files, self._is_compacted = stretches, files, is_compacted
        self.current: SoundStretch | None = None
        self.since = 0
        self.advance()

    def advance(self) -> None:
        """Go to the next stretch."""
        before, self.current = self.current, next(self._stretches, None)
        one = self.current
        if one is None:
            return
        self.since = one.first
        if not self._is_compacted or (one.position == 0 and not self._files[one.file].shows_cleaner):
            return  # a front that a copy has lost was not taken by the cleaner
        self.since = min(self.since, one.since)
        is_next = before is not None and one.position == 0 and one.file == before.file + 1
        if before is not None and is_next and self._files[before.file].end_of_sound == before.end_position:
            self.since = min(self.since, before.last + 1)

    def set(self, stretch: SoundStretch) -> None:
        """Replace the stretch by the rest of it."""
        self.current, self.since = stretch, stretch.first


@dataclass
class Choice:
    """The merge.

    Args:
        ledger: has the stretches, and receives pieces, fates and, unless the log is compacted, gaps.
        files: the source files.
        num_copies: numbers of copies in the ledger, the most trusted first.
        is_compacted: whether the log cleaner has been in the log.
        cleaned: how far it has come.
        outvoted: batches that are not taken, by file and offset, and why not.
        known_end: the end of the log in a copy after a clean shutdown; `NO_END` if it is unknown.

    Attributes:
        start_offset: base offset of the first segment; None without any batch.
        end_offset: offset after the last one.
    """

    ledger: Ledger
    files: SourceFiles
    num_copies: int
    is_compacted: bool
    cleaned: Traces
    outvoted: Sequence[tuple[Outvoted, str]] = ()
    known_end: int = NO_END
    start_offset: int | None = None
    end_offset: int = 0
    _next: int | None = None  # the lowest offset that may be taken
    _segment: int = 0  # base offset of the result's current segment
    _len_segment: int = 0
    _file: int = -1  # that the last piece was of

    def run(self) -> None:
        """Choose; pieces and fates are in the ledger then.

        Raises:
            ReadError: a file has changed since it was surveyed, or cannot be read any more.
        """
        cursors = [
            _Cursor(self._in_place(copy), self.files, is_compacted=self.is_compacted)
            for copy in range(self.num_copies)
        ]
        while True:
            self._pass_over(cursors)
            live = [one for one in cursors if one.current is not None]
            if not live:
                return
            covering = [one for one in live if self._next is not None and one.since <= self._next]
            chosen = covering[0] if covering else min(live, key=lambda one: one.since)
            better = live[: live.index(chosen)]
            limit = min((one.since for one in better), default=None)
            self._take_from(chosen, limit)

    def _in_place(self, copy: int) -> Iterator[SoundStretch]:
        """Yield a copy's stretches, without those that other copies show to be in the wrong place."""
        others = OtherPlaces(self.ledger, self.files, self.num_copies)
        for stretch in self.ledger.stretches(copy):
            doubt = others.doubt(stretch) if self.num_copies > 2 else ""  # the last number is of the doubtful
            if not doubt and stretch.first > self.known_end and stretch.expected != stretch.first:
                doubt = f"the log ended at offset {self.known_end}, by the recovery point of a clean shutdown"
            if doubt:
                self.ledger.cover(stretch._replace(doubt=doubt))
            else:
                yield from self._not_outvoted(stretch)

    def _not_outvoted(self, stretch: SoundStretch) -> Iterator[SoundStretch]:
        """Yield the parts of a stretch without the batches that are not taken."""
        rest: SoundStretch | None = stretch
        for (file, first, last), why in self.outvoted:
            if rest is None or file != rest.file or not rest.first <= first <= rest.last:
                continue
            before = parts_at(self.files.source(file), rest, first)
            if before.below is not None:
                yield before.below
            assert before.rest is not None  # it begins with the batch
            found = parts_at(self.files.source(file), before.rest, last + 1)
            assert found.below is not None
            self.ledger.cover(found.below._replace(doubt=why))
            rest = found.rest
        if rest is not None:
            yield rest

    def _pass_over(self, cursors: Iterable[_Cursor]) -> None:
        """Move cursors to where the offsets begin that were not taken yet."""
        for cursor in cursors:
            while self._next is not None and cursor.current is not None:
                stretch = cursor.current
                if stretch.first >= self._next:
                    break
                if stretch.last < self._next:
                    self.ledger.cover(stretch)
                    cursor.advance()
                    continue
                parts = parts_at(self.files.source(stretch.file), stretch, self._next)
                self.ledger.cover(parts.below)
                self.ledger.cover(parts.across)
                if parts.rest is None:
                    cursor.advance()
                else:
                    cursor.set(parts.rest)
                    break

    def _take_from(self, cursor: _Cursor, limit: int | None) -> None:
        """Take a cursor's stretch, up to the offset where a better copy begins."""
        stretch = cursor.current
        assert stretch is not None  # the cursor is live
        if limit is None or stretch.last < limit:
            self._take(stretch)
            cursor.advance()
            return
        if stretch.first >= limit:  # the cleaner has removed all before
            self._next = limit
            return
        parts = parts_at(self.files.source(stretch.file), stretch, limit)
        if parts.below is not None:
            self._take(parts.below)
        if parts.across is not None:
            reason = f"it has offsets below and above {limit}, where a better copy begins"
            self.ledger.add_fate(parts.across.fate(Status.QUARANTINED, reason))
        if parts.rest is None:
            cursor.advance()
        else:
            cursor.set(parts.rest)

    def _take(self, stretch: SoundStretch) -> None:
        if self._next is not None:
            self.note_gap(self._next, stretch.first)
        for part in self._fitting(stretch):
            self._put(part)
        self._next = self.end_offset = stretch.last + 1

    def note_gap(self, start: int, end: int, *, is_certain: bool = False) -> None:
        """Note that offsets are missing from `start` up to `end`, if there are any in between.

        Args:
            start: the first one.
            end: the one after the last one.
            is_certain: whether the log cleaner cannot have removed them.
        """
        if start < end and not (is_certain or self.files.has_lost(start, end)):
            start = self.cleaned.lost_from(start, end - 1)
        if start < end:
            self.ledger.add_gap(MissingOffsets(start, end - 1))

    def _fitting(self, stretch: SoundStretch) -> Iterator[SoundStretch]:
        """Divide a stretch so that each part fits into a segment: by int32 positions and offsets."""
        if _fits(0, stretch.first, stretch):
            yield stretch
            return
        part: SoundStretch | None = None
        for one in stretches_in(self.files.source(stretch.file), stretch):
            whole = joined(part, one)
            if part is not None and not _fits(0, part.first, whole):
                yield part
                whole = one
            part = whole
        if part is not None:
            yield part

    def _put(self, stretch: SoundStretch) -> None:
        file = self.files[stretch.file]
        is_next = self._segment < file.segment.base_offset and stretch.file != self._file
        is_full = not _fits(self._len_segment, self._segment, stretch)
        if self.start_offset is None or is_next or is_full:
            self._segment, self._len_segment = self._base_of(stretch), 0
            if self.start_offset is None:
                self.start_offset = self._segment
                self.note_gap(self._segment, stretch.first)
        self.ledger.add_fate(stretch.fate(Status.COPIED, "", self._segment, self._len_segment))
        self._len_segment += stretch.size
        self._file = stretch.file

    def _base_of(self, stretch: SoundStretch) -> int:
        """Return the base offset of a new segment: that in the file's name, if nothing contradicts it."""
        named = self.files[stretch.file].segment.base_offset
        lowest = 0 if self._next is None else self.end_offset
        is_new = stretch.file != self._file  # else the file goes on in a second segment
        is_named = is_new and lowest <= named <= stretch.first
        return named if is_named and _fits(0, named, stretch) else stretch.first


def _fits(len_segment: int, base_offset: int, stretch: SoundStretch) -> bool:
    """Return whether indexes can have the offsets and positions of a stretch in a segment."""
    return len_segment + stretch.size <= _MAX_RELATIVE and stretch.last - base_offset <= _MAX_RELATIVE
