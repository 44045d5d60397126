"""Survey of the source files of a partition: stretches of sound batches, and everything else.

Strategy: each file is read once, with all checksums and records, and its stretches go to the ledger: what
nothing contradicts for its copy, and what something does (`segment.evidence`) to be confirmed or put aside
when all files have been read (`confirmation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.storage import BLOCK_SIZE, Source
from kafka_segments.core.segment.evidence import FEW, FileOrder, JudgedRun
from kafka_segments.core.segment.verified.sound_runs import RefusedEntry, SoundRun, iter_sound_runs
from kafka_segments.errors import KafkaFormatError, ReadError, StoreError
from kafka_segments.log.findings import error_words
from kafka_segments.log.log_end import NamedOffsets
from kafka_segments.log.model import PartitionCopy
from kafka_segments.salvage.batches import parts_at
from kafka_segments.salvage.ledger import Fate, Ledger, SoundStretch, Status, doubted
from kafka_segments.salvage.source_files import SourceFile

__all__ = ["FileSurvey", "readable_parts"]

_STEP = 1 << 20
_ZEROS = "zeros instead of batches: only the newest segment of a log ends in zeros"
_MAX_LOSSES = 1000


class FileSurvey:
    """Survey of one file.

    Args:
        ledger: receives stretches and fates.
        file: the file.
        source: it, open.
        copy: that it is of.
        limit: the copy's records from this offset on are not part of the log; and why not.
        doubtful: number of the copy for stretches that only fill what all others lack.
        named: offsets that the indexes of the file name.
        progress: is called with the number of bytes read.

    Attributes:
        is_cleaned: whether a batch lacks records, as after the log cleaner.
    """

    def __init__(
        self,
        ledger: Ledger,
        file: SourceFile,
        source: Source,
        *,
        copy: PartitionCopy,
        limit: tuple[int, str],
        doubtful: int,
        named: NamedOffsets,
        progress: Callable[[int], None],
    ) -> None:
        self.is_cleaned = False
        self._ledger, self._file, self._source, self._copy = ledger, file, source, copy
        self._limit, self._doubtful, self._named = limit, doubtful, named
        noted_end, base = file.segment.end_offset, file.segment.base_offset
        self._following = NO_END if noted_end is None else noted_end
        is_exact = noted_end is None and copy.end.was_shut_down and not copy.end.is_live
        self._log_end = (copy.end.recovery_point if is_exact else None) or NO_END
        self._order = FileOrder(
            base,
            self._following,
            copy.leader_epochs,
            log_end=self._log_end,
            never_cleaned=copy.never_cleaned,
            last_named=lambda: max(named.last(), file.segment.noted_end - 1),
        )
        self._progress = progress
        self._last: int | None = None  # greatest offset of what was taken
        self._next = 0  # the offset after what was taken for the copy of the file
        self._done = 0

    def run(self) -> None:
        """Read the file.

        Raises:
            StoreError: a store stopped serving it.
        """
        end_of_sound: int | None = None
        is_empty, is_after_damage = True, False
        for found in iter_sound_runs(self._source):
            self._report(found.end_position)
            is_padding = isinstance(found, Padding) and not self._hides_offsets()
            is_empty = is_empty and is_padding
            if isinstance(found, SoundRun):
                self._note(self._order.add(found, is_after_damage=is_after_damage))
                end_of_sound, is_after_damage = found.end_position, False
                continue
            is_after_damage = True
            if is_padding:
                self._fate((found.position, found.end_position), Status.PADDING)
                continue
            end_of_sound = None
            if isinstance(found, Padding):
                offsets = self._order.reached, self._following - 1
                self._fate((found.position, found.end_position), Status.QUARANTINED, _ZEROS, offsets)
            else:
                self._leave(found)
        self._report(self._source.size)
        self._note(self._order.add(None))
        if self._following == NO_END:
            self._file.refused_end = max(self._file.refused_end, self._named.last() + 1)
        self._file.end_of_sound, self._file.is_empty = end_of_sound, is_empty
        self._file.last_offset = self._last

    def _hides_offsets(self) -> bool:
        """Return whether offsets are missing between the last batch so far and the next file."""
        return self._order.reached < self._following < NO_END

    def _report(self, position: int) -> None:
        self._progress(position - self._done)
        self._done = position

    def _note(self, judged: JudgedRun | None) -> None:
        """Take a run, or leave it to be confirmed."""
        if judged is None:
            return
        run, file = judged.run, self._file
        copy = self._doubtful if judged.is_epoch_doubted else file.copy
        place = file.number, run.position, run.end_position
        since, figures = self._known_since(run, judged.expected), (run.num_batches, run.newest, run.first)
        stretch = SoundStretch(copy, run.first, run.last, *place, *figures, judged.expected)
        doubt = judged.doubt or self._doubt_by_index(run, judged.expected) or self._doubt_by_bounds(stretch)
        if doubt:
            stretch = stretch._replace(copy=doubted(file.copy), doubt=doubt)
        else:
            self.is_cleaned = self.is_cleaned or run.is_cleaned
            is_trace = run.is_cleaned or (since < run.first and run.position > 0)
            file.shows_cleaner = file.shows_cleaner or is_trace
            stretch = stretch._replace(since=since)
            self._last = run.last if self._last is None else max(self._last, run.last)
        self._take(stretch)

    def _doubt_by_index(self, run: SoundRun, expected: int | None) -> str:
        """Return what the indexes contradict of few batches that do not continue those before them."""
        if run.num_batches > FEW or (run.first == expected and not run.is_cleaned):
            return ""
        named, is_loose = self._named, run.first != expected
        is_short = run.is_cleaned and run.num_batches == 1 and self._copy.cleaned_up_to is None
        is_odd = is_loose and named.contradict(run.position, run.first, run.last)
        if is_odd or (is_short and named.any_in(run.first + 1, run.last - 1)):
            return f"its offsets, {run.first} to {run.last}, are others than the indexes have for its place"
        return ""

    def _doubt_by_bounds(self, stretch: SoundStretch) -> str:
        """Return whether the next segment begins, or the log ended, within a batch of a stretch."""
        for bound in (self._following, self._log_end if stretch.num_batches <= FEW else NO_END):
            if stretch.first < bound <= stretch.last and parts_at(self._source, stretch, bound).across:
                return f"offset {bound}, where its segment or the log ends, is within one of its batches"
        return ""

    def _known_since(self, run: SoundRun, expected: int | None) -> int:
        """Return the offset from which on the copy knows the log: that of the gap that the cleaner left."""
        if expected is None or expected >= run.first:
            return run.first
        if self._copy.never_cleaned or self._named.any_in(expected, run.first - 1):
            if len(self._file.losses) < _MAX_LOSSES:
                self._file.losses.append((expected, run.first - 1))
            return run.first
        return expected

    def _take(self, stretch: SoundStretch) -> None:
        """Add a stretch; where offsets go back, a broker serves the batches that come first in the file."""
        if stretch.copy == self._file.copy and stretch.first < self._next:
            parts = parts_at(self._source, stretch, self._next)
            self._ledger.cover(parts.below)
            self._ledger.cover(parts.across)
            if parts.rest is None:
                return
            stretch = parts.rest
        if stretch.copy == self._file.copy:
            self._next = stretch.last + 1
        limit, reason = self._limit
        if stretch.last < limit:
            self._ledger.add_stretch(stretch)
        elif stretch.first >= limit:
            self._ledger.add_fate(stretch.fate(Status.QUARANTINED, reason))
        else:  # the rest is not a part of the log
            parts = parts_at(self._source, stretch, limit)
            if parts.below is not None:
                self._ledger.add_stretch(parts.below)
            for part in (parts.across, parts.rest):
                if part is not None:
                    self._ledger.add_fate(part.fate(Status.QUARANTINED, reason))

    def _leave(self, found: RefusedEntry | Damage) -> None:
        place = found.position, found.end_position
        if isinstance(found, RefusedEntry):
            if found.first == self._order.reached and found.last is not None:
                self._file.refused_end = found.last + 1
            self._fate(place, Status.QUARANTINED, found.reason, (found.first, found.last))
            return
        if isinstance(found.error, StoreError):
            raise found.error
        reason = error_words(found.error)
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
