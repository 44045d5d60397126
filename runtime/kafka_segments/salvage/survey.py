"""Survey of the source files of a partition: stretches of sound batches, and everything else.

Strategy: each file is read once, with all checksums, and its stretches go to the ledger. Names of files are
not believed, but no checksum covers a base offset: a single batch whose offsets lie between those of neither
its neighbours nor its file's is not put where it claims to belong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_segments.errors import KafkaFormatError, ReadError, StoreError
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.formats.file_names import NO_END
from kafka_segments.io.storage import BLOCK_SIZE, Source
from kafka_segments.salvage.ledger import Fate, Ledger, SoundStretch, Status
from kafka_segments.salvage.source_files import SourceFile
from kafka_segments.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.segment.sound_runs import RefusedEntry, SoundRun, iter_sound_runs

__all__ = ["FileSurvey", "Parts", "changed_error", "heads_in", "parts_at", "readable_parts"]

_STEP = 1 << 20
_ZEROS = "zeros in the place of batches: only the newest segment of a log ends in zeros"


@dataclass(frozen=True, slots=True)
class Parts:
    """A stretch divided at an offset: below it, the batch that has offsets on both sides, and the rest."""

    below: SoundStretch | None
    across: SoundStretch | None
    rest: SoundStretch | None


class FileSurvey:
    """Survey of one file.

    Args:
        ledger: receives stretches and fates.
        file: the file.
        source: it, open.
        following: base offset of the next file of its copy; None after the last one.
        limit: records of the copy from there on are not part of the log.
        reason: why not.
        doubtful: number of the copy for stretches that only fill what all others lack.
        progress: is called with the number of bytes read.

    Attributes:
        is_cleaned: whether a batch lacks records, as after the log cleaner.
        shows_cleaner: whether that is so, or offsets are missing between adjacent batches.
    """

    def __init__(
        self,
        ledger: Ledger,
        file: SourceFile,
        source: Source,
        *,
        following: int | None,
        limit: int = NO_END,
        reason: str = "",
        doubtful: int,
        progress: Callable[[int], None],
    ) -> None:
        self.is_cleaned = self.shows_cleaner = False
        self._ledger, self._file, self._source = ledger, file, source
        self._following = NO_END if following is None else following
        self._limit, self._reason, self._doubtful = limit, reason, doubtful
        self._progress = progress
        self._first: int | None = None  # offset of the first stretch
        self._before: int | None = None  # last offset of the last stretch that was taken
        self._held: SoundStretch | None = None  # not taken before the next one is known
        self._is_after_gap = False  # offsets are missing between its batches and those that touch them
        self._done = 0

    def run(self) -> None:
        """Read the file.

        Raises:
            StoreError: a store stopped serving it.
        """
        end_of_sound: int | None = None
        is_empty = True
        for found in iter_sound_runs(self._source):
            self._report(found.end_position)
            is_padding = isinstance(found, Padding) and not self._hides_offsets()
            is_empty = is_empty and is_padding
            if isinstance(found, SoundRun):
                self.is_cleaned = self.is_cleaned or found.is_cleaned
                self.shows_cleaner = self.shows_cleaner or found.is_cleaned
                self._note(self._stretch(found))
                end_of_sound = found.end_position
            elif is_padding:
                self._fate((found.position, found.end_position), Status.PADDING)
            elif isinstance(found, Padding):
                end_of_sound = None
                offsets = self._reached(), self._following - 1
                self._fate((found.position, found.end_position), Status.QUARANTINED, _ZEROS, offsets)
            else:
                end_of_sound = None
                self._leave(found)
        self._report(self._source.size)
        self._finish()
        self._file.end_of_sound, self._file.is_empty = end_of_sound, is_empty
        self._file.last_offset = self._before

    def _reached(self) -> int:
        """Return the offset after the last batch so far."""
        last = self._before if self._held is None else self._held.last
        return self._file.segment.base_offset if last is None else last + 1

    def _hides_offsets(self) -> bool:
        """Return whether offsets are missing between the last batch so far and the next file."""
        return self._reached() < self._following < NO_END

    def _report(self, position: int) -> None:
        self._progress(position - self._done)
        self._done = position

    def _stretch(self, run: SoundRun) -> SoundStretch:
        file = self._file
        place = file.number, run.position, run.end_position
        return SoundStretch(file.copy, run.first, run.last, *place, run.num_batches, run.newest)

    def _note(self, stretch: SoundStretch) -> None:
        """Take the stretch before this one, unless its offsets lie outside of those around it."""
        held = self._held
        if held is None:
            self._first = stretch.first
        elif self._is_misplaced(held, stretch):
            self._misplace(held)
        else:
            self.shows_cleaner = self.shows_cleaner or (self._is_after_gap and held.last < stretch.first)
            self._take(held)
        self._is_after_gap = held is not None and _has_gap(held, stretch)
        self._held = stretch

    def _is_misplaced(self, held: SoundStretch, following: SoundStretch) -> bool:
        if held.num_batches > 1:
            return False
        before = self._before
        is_above = following.first <= held.last and (before is None or before < following.first)
        is_below = before is not None and held.first <= before < following.first
        if is_above and before is None and following.num_batches < 2:
            return False  # which of the two is wrong is unknown
        return is_above or (is_below and held.first < (self._first or 0))

    def _misplace(self, stretch: SoundStretch) -> None:
        reason = f"its offsets, {stretch.first} to {stretch.last}, do not fit between its neighbours'"
        self._quarantine(stretch, reason)

    def _finish(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        self.shows_cleaner = self.shows_cleaner or self._is_after_gap
        is_beyond = held.num_batches == 1 and held.first >= self._following and self._before is not None
        self._take(held._replace(copy=self._doubtful) if is_beyond else held)

    def _take(self, stretch: SoundStretch) -> None:
        self._before = stretch.last if self._before is None else max(self._before, stretch.last)
        if stretch.last < self._limit:
            self._ledger.add_stretch(stretch)
        else:
            self._quarantine_beyond(stretch)

    def _quarantine_beyond(self, stretch: SoundStretch) -> None:
        """Take what is below the limit; the rest is no part of the log."""
        if stretch.first >= self._limit:
            self._quarantine(stretch, self._reason)
            return
        parts = parts_at(self._source, stretch, self._limit)
        if parts.below is not None:
            self._ledger.add_stretch(parts.below)
        for part in (parts.across, parts.rest):
            if part is not None:
                self._quarantine(part, self._reason)

    def _quarantine(self, stretch: SoundStretch, reason: str) -> None:
        place, offsets = (stretch.position, stretch.end_position), (stretch.first, stretch.last)
        self._fate(place, Status.QUARANTINED, reason, offsets)

    def _leave(self, found: RefusedEntry | Damage) -> None:
        place = found.position, found.end_position
        if isinstance(found, RefusedEntry):
            self._fate(place, Status.QUARANTINED, found.reason, (found.first, None))
            return
        if isinstance(found.error, StoreError):
            raise found.error
        reason = f"{type(found.error).__name__}: {found.error.detail}"
        lost = found.first_lost_offset, found.last_lost_offset
        for position, end_position, error in readable_parts(self._source, *place):
            status = Status.QUARANTINED if error is None else Status.UNREADABLE
            self._fate((position, end_position), status, error or reason, lost)

    def _fate(
        self,
        place: tuple[int, int],
        status: str,
        reason: str = "",
        offsets: tuple[int | None, int | None] = (None, None),
    ) -> None:
        self._ledger.add_fate(Fate(self._file.number, *place, status, reason, *offsets))


def _has_gap(before: SoundStretch, after: SoundStretch) -> bool:
    return before.end_position == after.position and before.last + 1 < after.first


def heads_in(source: Source, position: int, end_position: int) -> Iterator[HeaderSummary]:
    """Yield the headers of sound entries between two positions.

    Raises:
        ReadError: the bytes are others than when the file was surveyed.
    """
    for head in iter_header_summaries(source, position):
        if not isinstance(head, HeaderSummary) or head.end_position > end_position:
            raise changed_error(source, head)
        yield head
        if head.end_position == end_position:
            return


def changed_error(source: Source, found: Batch | Damage | HeaderSummary | Padding) -> ReadError:
    """Return the error for something that was not there when the file was surveyed.

    That is the disk's own error, if it fails now and did not before.
    """
    if isinstance(found, Damage) and isinstance(found.error, ReadError):
        return found.error
    detail = "what is here has changed while it was read; give a copy that nothing writes to"
    return ReadError(detail, position=found.position, path=source.name)


def parts_at(source: Source, stretch: SoundStretch, offset: int) -> Parts:
    """Divide a stretch at an offset; the rest keeps the number and greatest timestamp of the whole.

    Raises:
        ReadError: see `heads_in`.
    """
    found: list[SoundStretch | None] = [None, None, None]
    first = stretch.first
    for head in heads_in(source, stretch.position, stretch.end_position):
        begins = first if head.first_offset is None else head.first_offset
        at = 0 if head.last_offset < offset else 1 if begins < offset else 2
        if at == 2:
            found[2] = stretch._replace(first=begins, position=head.position)
            break
        one = found[at]
        if one is None:
            one = stretch._replace(first=begins, position=head.position, num_batches=0, newest=-1)
        found[at] = one._replace(
            last=head.last_offset,
            end_position=head.end_position,
            num_batches=one.num_batches + 1,
            newest=max(one.newest, head.max_timestamp),
        )
        first = head.last_offset + 1
    return Parts(*found)


def readable_parts(source: Source, position: int, end_position: int) -> Iterator[tuple[int, int, str | None]]:
    """Divide a range of bytes into those that can be read, and blocks that cannot, with the error.

    Raises:
        StoreError: a store stopped serving the file.
    """
    begin = position
    while position < end_position:
        end = min(end_position, position + _STEP)
        try:
            source.read(position, end - position)
            position = end
        except KafkaFormatError as error:
            if not isinstance(error, ReadError) or error.position is None:
                raise
            bad = max(error.position, position)
            if bad > begin:
                yield begin, bad, None
            begin = position = min(end_position, (bad // BLOCK_SIZE + 1) * BLOCK_SIZE)
            yield bad, position, f"ReadError: {error.detail}"
    if end_position > begin:
        yield begin, end_position, None
