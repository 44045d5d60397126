"""Evidence on the offsets and leader epochs of batches, as their place in a file gives it.

No checksum covers a base offset, a length and a leader epoch, and other fields may be wrong under a right
one. So there is one rule: **a batch that no neighbour confirms and some evidence contradicts is put aside and
named.** What the file of a batch says is weighed here: the batches around it, the names of its segment and of
the next one, its own header, and the leader epochs of its copy. What other files and copies say comes later
(`salvage.confirmation`).

Strategy: runs of batches are looked at in the order of the file, each with the one before and the one after.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.scan.entry_table import MOST_OFFSETS
from kafka_segments.core.segment.verified.sound_runs import SoundRun

__all__ = ["FEW", "FileOrder", "JudgedRun", "bounds_of", "epoch_at", "judge"]

FEW = 2
"""Batches in a row that may be in the wrong place together; more of them confirm each other."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run, and what its place in the file says of it.

    Attributes:
        run: the run.
        expected: the offset after the batch before it; for the first one the base offset of the file; None
            after damage, and after a batch that is in the wrong place.
        doubt: what contradicts its offsets; empty if nothing does.
        is_in_order: whether they fit between those around it.
        is_epoch_doubted: whether its leader epoch is contradicted.
        is_foreign: whether they are another segment's by the names of the files.
    """

    run: SoundRun
    expected: int | None
    doubt: str
    is_in_order: bool
    is_epoch_doubted: bool
    is_foreign: bool


class FileOrder:
    """Judge of the runs of a file, one after the other.

    Args:
        base_offset: by the name of the file.
        end: offset with which the next file begins by its name; `NO_END` if there is none.
        log_end: where the log ended by a checkpoint, which may be older than the files; likewise.
        epochs: of the leader-epoch-checkpoint of the copy; empty if there is none.
        never_cleaned: whether the log cleaner has never been in the log, so that no batch lacks records.
        last_named: returns the last offset that the log had, by anything but its batches; -1 if unknown.
        before: the last offset before the first run; None if the file begins with that.
    """

    def __init__(
        self,
        base_offset: int,
        end: int = NO_END,
        epochs: Sequence[LeaderEpoch] = (),
        *,
        log_end: int = NO_END,
        never_cleaned: bool = False,
        last_named: Callable[[], int] = lambda: -1,
        before: int | None = None,
    ) -> None:
        self._base_offset, self._end = base_offset, min(end, base_offset + MOST_OFFSETS)
        self._log_end = log_end
        self._epochs, self._never_cleaned = epochs, never_cleaned
        self._last_named = last_named
        self._before = before  # last offset of what nothing contradicts
        self._epoch = -1  # of that
        self._held: tuple[SoundRun, int | None] | None = None

    @property
    def reached(self) -> int:
        """The offset after the last run so far."""
        return self._next if self._held is None else self._held[0].last + 1

    def add(self, run: SoundRun | None, *, is_after_damage: bool = False) -> JudgedRun | None:
        """Add the next run, or None at the end of the file; return the one before it, judged."""
        judged: JudgedRun | None = None
        expected = None if is_after_damage else self._base_offset
        if self._held is not None:
            held, place = self._held
            doubt, is_in_order = self._doubt(held, run, place)
            others = self._is_epoch_wrong(held, run), not self._base_offset <= held.first < self._end
            judged = JudgedRun(held, place, doubt, is_in_order, *others)
            expected = held.last + 1 if is_in_order and not is_after_damage else None
            if is_in_order:
                self._before = held.last
                self._epoch = self._epoch if judged.is_epoch_doubted else max(self._epoch, held.epoch)
        self._held = None if run is None else (run, expected)
        return judged

    @property
    def _next(self) -> int:
        """The offset after what nothing contradicts."""
        return self._base_offset if self._before is None else self._before + 1

    def _doubt(self, one: SoundRun, following: SoundRun | None, expected: int | None) -> tuple[str, bool]:
        """Return what contradicts a run's offsets, and whether the next ones may be compared with it."""
        which = f"its offsets, {one.first} to {one.last}, "
        if self._is_misplaced(one, following):
            return f"{which}do not fit between its neighbours'", False
        is_joined = one.first == self._next
        is_followed = following is not None and following.first == one.last + 1
        is_beyond = following is None and one.last >= min(self._end, self._log_end) > one.first
        is_short = one.is_cleaned and one.num_batches == 1 and following is None
        if one.is_doubted and not (is_joined and (is_followed or following is None)):
            return f"{which}are others than its records have", True
        if is_short and (is_beyond or self._never_cleaned):
            return f"{which}are more than its records", True
        is_at_end = expected is not None and expected <= self._log_end  # nothing before it is beyond the end
        if one.first >= self._log_end and not is_joined and (is_at_end or one.num_batches <= FEW):
            return f"{which}are beyond the end of the log, {self._log_end}", True
        is_few_after_gap = expected is not None and expected < one.first and one.num_batches <= FEW
        if is_few_after_gap and (expected or 0) <= (named := self._last_named()) < one.first:
            return f"{which}are beyond offset {named}, which the log had but now lacks", True
        if one.first < self._base_offset or one.first >= self._end:
            return f"{which}are not those of its segment, {self._base_offset} to {self._end - 1}", True
        return "", True

    def _is_misplaced(self, one: SoundRun, following: SoundRun | None) -> bool:
        """Return whether offsets fall before or after a run, and those around it fit together without it."""
        low = -1 if self._before is None else self._before
        if one.first <= low:  # many that go on beyond it were written again: an offset went back
            return one.num_batches <= FEW or one.last <= low or one.first < self._base_offset
        if following is None or following.first > one.last or following.first <= low:
            return False
        is_counted = one.num_lacking > 0 and following.first == one.last + 1 - one.num_lacking
        is_confirmed = is_counted or following.num_batches > 1 or following.first == self._next
        is_header_odd = (one.is_cleaned or one.is_doubted) and is_confirmed
        is_beyond = one.last >= min(self._end, self._log_end)
        is_suspect = one.first != self._next or is_beyond or is_header_odd
        return is_suspect and (is_confirmed or one.num_batches == 1)

    def _is_epoch_wrong(self, one: SoundRun, following: SoundRun | None) -> bool:
        """Return whether a leader epoch falls here, which it never does, or is not the checkpoint's."""
        if one.epoch < 0:
            return False
        known = epoch_at(self._epochs, one.first)
        if known is not None:
            return known != one.epoch
        if one.epoch < self._epoch:
            return True
        if following is None or following.epoch < 0:
            return False
        return self._epoch <= following.epoch < one.epoch and one.num_batches <= following.num_batches


def epoch_at(epochs: Sequence[LeaderEpoch], offset: int) -> int | None:
    """Return the leader epoch that a checkpoint has for an offset; None below its first entry."""
    at = bisect_right(epochs, offset, key=lambda one: one.start_offset)
    return epochs[at - 1].epoch if at else None


def judge(found: Iterable[object], order: FileOrder, *, is_inside: bool = False) -> Iterator[JudgedRun]:
    """Yield the runs among what was found in a file, judged.

    Args:
        found: in file order; anything but runs is damage.
        order: their judge.
        is_inside: the file does not begin with them.
    """
    for one in found:
        if not isinstance(one, SoundRun):
            is_inside = True
            continue
        judged, is_inside = order.add(one, is_after_damage=is_inside), False
        if judged is not None:
            yield judged
    last = order.add(None)
    if last is not None:
        yield last


def bounds_of(runs: Iterable[JudgedRun]) -> tuple[int, int] | None:
    """Return the first offset, and the one after the last, of runs without those that are put aside.

    Runs of another segment, by the names of the files, count if there are no others; None if there are none.
    """
    found: dict[bool, tuple[int, int]] = {}
    for one in runs:
        if one.is_in_order and (one.is_foreign or not one.doubt):
            first, end = found.get(one.is_foreign, (one.run.first, 0))
            found[one.is_foreign] = min(first, one.run.first), max(end, one.run.last + 1)
    return found.get(False, found.get(True))
