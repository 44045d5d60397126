"""What is true of a case: which records lie sound in which file, and which offsets are nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from tests.invariant.cases import Case
from tests.made.log_directory import (
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    RECOVERY_POINT,
    Directory,
    base_of,
    end_of,
)
from tests.made.sound_batches import Found, Row, sound_batches

cached_batches = lru_cache(maxsize=4096)(sound_batches)


@dataclass(frozen=True)
class Region:
    """Bytes of a file that hold no sound batch, between those that do.

    Attributes:
        name: of the file.
        position: first byte.
        end: behind the last byte.
        first: the first offset that may have stood there.
        last: the last one; None if nothing behind it says.
        is_zeros: there is nothing but zeros.
        is_at_end: nothing sound stands behind it in its file.
    """

    name: str
    position: int
    end: int
    first: int
    last: int | None
    is_zeros: bool
    is_at_end: bool

    def covers(self, offset: int) -> bool:
        """Whether an offset may have stood there."""
        return self.first <= offset and (self.last is None or offset <= self.last)


@dataclass(frozen=True)
class Truth:
    """What is true of a directory."""

    directory: Directory

    @cached_property
    def batches(self) -> dict[str, list[Found]]:
        """The sound batches of each segment."""
        return {name: cached_batches(self.directory.files[name]) for name in self.directory.logs}

    @cached_property
    def data_rows(self) -> list[tuple[str, Found, Row]]:
        """Each record that lies sound in a file; control records are not among them."""
        return [
            (name, batch, row)
            for name, batches in self.batches.items()
            for batch in batches
            if not batch.is_control
            for row in batch.rows
        ]

    @cached_property
    def nowhere(self) -> list[int]:
        """The offsets that the sound partition had and that are in no file now."""
        sound = self.directory.sound
        had = _offsets(batch for name in sound.logs for batch in cached_batches(sound.files[name]))
        return sorted(had - self.present)

    @cached_property
    def present(self) -> set[int]:
        """The offsets that batches in files have."""
        return _offsets(batch for batches in self.batches.values() for batch in batches)

    @cached_property
    def regions(self) -> list[Region]:
        """What is damaged or zeros."""
        return [region for name in self.directory.logs for region in self._regions(name)]

    def _regions(self, name: str) -> Iterator[Region]:
        data, position, previous = self.directory.files[name], 0, base_of(name)
        following = [base_of(other) for other in self.directory.logs if base_of(other) > base_of(name)]
        last_named = min(following) - 1 if following else None
        for batch in self.batches[name]:
            if batch.position > position:
                # One that is below what should stand there says nothing of what that was.
                last = batch.base_offset - 1 if batch.base_offset >= previous else last_named
                yield self._region(name, (position, batch.position), (previous, last))
            position, previous = batch.end, batch.last_offset + 1
        if position < len(data):
            yield self._region(name, (position, len(data)), (previous, last_named))

    def _region(self, name: str, where: tuple[int, int], offsets: tuple[int, int | None]) -> Region:
        data = self.directory.files[name]
        is_zeros = not any(data[slice(*where)])
        return Region(name, *where, *offsets, is_zeros, where[1] == len(data))

    @cached_property
    def cleaned_end(self) -> int:
        """Below this offset the cleaner has been; at and above it nothing shows that.

        It notes the first offset that it has not come to. A note may be older than the segments: what it
        leaves in sound bytes shows where else it was. It goes through whole segments, so one with a trace was
        its up to where the next one begins. Without a note nothing tells how far it was behind the last
        trace: it may leave none in a segment.
        """
        if CLEANER not in self.directory.noted:
            return 1 << 63 if self._with_traces() else 0
        return max([self.directory.noted[CLEANER], *map(self._begin_behind, self._with_traces())])

    def _with_traces(self) -> list[str]:
        return [name for name, batches in self.batches.items() if _shows_cleaner(batches)]

    def _begin_behind(self, name: str) -> int:
        """Where the segment behind one begins, by its name or by what it holds."""
        last = max(batch.last_offset for batch in self.batches[name])
        begins = [*self.present, *(base_of(other) for other in self.directory.logs)]
        return min((offset for offset in begins if offset > last), default=1 << 63)

    def is_before_misplaced(self, offset: int) -> bool:
        """Whether it is missing in front of a batch behind which one stands that is not above it."""
        for name, batches in self.batches.items():
            highest = base_of(name) - 1
            for batch, behind in pairwise(batches):
                if behind.base_offset <= batch.last_offset and highest < offset < batch.base_offset:
                    return True
                highest = max(highest, batch.last_offset)
        return False

    @cached_property
    def log_start(self) -> int:
        """The first offset that the directory can be asked for."""
        bases = [base_of(name) for name in self.directory.logs]
        return max(min(bases, default=0), self.directory.noted.get(LOG_START, 0))

    @cached_property
    def known_end(self) -> int:
        """The offset up to which something on the disk says that there was a log."""
        directory = self.directory
        ends = [directory.noted.get(name, 0) for name in (HIGH_WATERMARK, RECOVERY_POINT)]
        ends += self.true_names
        ends += [offset + 1 for offset in [max(self.present, default=-1)]]
        return max(ends)

    @cached_property
    def true_names(self) -> list[int]:
        """The base offsets by the segments' names, but for names that a segment's own batches contradict."""
        names = self.directory.logs
        last = {
            name: max((batch.last_offset for batch in self.batches[name]), default=None) for name in names
        }
        return [base_of(name) for name in names if last[name] is None or last[name] >= base_of(name)]

    @cached_property
    def is_ordered(self) -> bool:
        """Whether offsets grow from batch to batch and from segment to segment."""
        last = -1
        for batches in self.batches.values():
            for batch in batches:
                if batch.base_offset <= last:
                    return False
                last = batch.last_offset
        return True

    @cached_property
    def has_transactions(self) -> bool:
        """Whether a batch of a transaction is, or was, in it."""
        sound = self.directory.sound
        all_batches = [*self.batches.values(), *(cached_batches(sound.files[name]) for name in sound.logs)]
        return any(batch.is_transactional for batches in all_batches for batch in batches)

    @cached_property
    def sound_last_stable(self) -> int:
        """The last stable offset of the partition before anything happened to it."""
        sound = self.directory.sound
        return _transactions([batch for name in sound.logs for batch in cached_batches(sound.files[name])])[1]

    @cached_property
    def committed(self) -> set[int]:
        """The positions in `data_rows` of records that a consumer of committed ones is given."""
        ended, last_stable = _transactions([batch for batches in self.batches.values() for batch in batches])
        return {
            at
            for at, (_name, batch, row) in enumerate(self.data_rows)
            if row.offset < last_stable and (not batch.is_transactional or ended.get(id(batch)) == 1)
        }


def _transactions(batches: list[Found]) -> tuple[dict[int, int], int]:
    """How the transaction of each batch ended (0: aborted, 1: committed), and the last stable offset."""
    pending: dict[int, list[Found]] = {}
    ended: dict[int, int] = {}
    for batch in batches:
        kind = batch.control_type
        if kind in (0, 1):
            ended |= {id(one): kind for one in pending.pop(batch.producer_id, [])}
        elif batch.is_transactional and not batch.is_control:
            pending.setdefault(batch.producer_id, []).append(batch)
    return ended, min((one[0].base_offset for one in pending.values()), default=1 << 63)


def _shows_cleaner(batches: list[Found]) -> bool:
    """Whether offsets are missing inside a batch, or between two that touch and behind which none falls back.

    The cleaner keeps batches in order.
    """
    if any(len(one.rows) < one.last_offset - one.base_offset + 1 for one in batches):
        return True
    return any(
        one.position == before.end
        and one.base_offset > before.last_offset + 1
        and (behind is None or behind.base_offset > one.last_offset)
        for before, one, behind in zip(batches, batches[1:], [*batches[2:], None], strict=False)
    )


def _offsets(batches: Iterator[Found]) -> set[int]:
    return {
        offset
        for batch in batches
        for offset in (
            range(batch.base_offset, batch.last_offset + 1)
            if batch.last_offset - batch.base_offset < 100_000
            else (row.offset for row in batch.rows)
        )
    }


def truth_of(case: Case) -> Truth:
    """The truth of a case."""
    return Truth(case.directory)


__all__ = ["Region", "Truth", "end_of", "truth_of"]
