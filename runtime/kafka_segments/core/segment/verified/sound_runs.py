"""Runs of sound batches in a segment: what can be copied from it in one piece, and what not.

Strategy: every checksum is verified, and records are read (`verifying`), for a right checksum does not show
that a consumer can read them. Runs (`runs`) that follow each other in the file and in their offsets are
joined; a gap, another leader epoch, or a header that contradicts its records begins another one. The last
batch before offsets fall is a run of its own, for it may be the wrong one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.core.io.storage import Source
from kafka_segments.core.native.engine import Compiled, Interpreted, is_loaded
from kafka_segments.core.segment.verified import run_folding as of
from kafka_segments.core.segment.verified.producer_table import ProducerTable
from kafka_segments.core.segment.verified.run_folding import run_folder
from kafka_segments.core.segment.verified.verified_entries import VerifiedTable
from kafka_segments.core.segment.verified.verifying import iter_verified
from kafka_segments.errors import DecompressionError, MissingExtraError

__all__ = ["RefusedEntry", "RunFolder", "SoundRun", "iter_sound_runs", "joined"]

_MAX_READ = 16 << 20
"""Bytes of an entry whose records are read: brokers take 1 MiB by default, and memory is bounded."""
_MAX_DECOMPRESSED = 64 << 20
_NO_PRODUCERS = memoryview(array("q", (0,)))
_FEW = 512  # entries that are folded before machine code is loaded


@dataclass(slots=True)
class SoundRun:
    """Consecutive sound entries.

    Attributes:
        position: where the first one begins, in bytes.
        end_position: where the last one ends.
        first: the first offset.
        last: the last offset, by the headers, at least `first`.
        num_batches: how many they are.
        newest: greatest timestamp of their headers, in milliseconds; -1 for none.
        num_lacking: offsets of entries that have no record, as after the log cleaner.
        epoch: their leader epoch; -1 for none.
        magic: the format of the first one; as what follows, not of others that were joined.
        flags: what has to be looked at; see `run_folding`.
        num_data_records: those that were read; else those of the headers, if their bytes can hold them.
        table: that they are of; valid until the next event of a segment. None if the run is of one header.
        row: the first of them in the table.
    """

    position: int
    end_position: int
    first: int
    last: int
    num_batches: int
    newest: int
    num_lacking: int = 0
    epoch: int = -1
    magic: int = field(default=2, repr=False)
    flags: int = field(default=0, repr=False)
    num_data_records: int = field(default=0, repr=False)
    table: VerifiedTable | None = field(default=None, init=False, compare=False, repr=False)
    row: int = field(default=0, init=False, compare=False, repr=False)

    @property
    def is_cleaned(self) -> bool:
        """Whether offsets are missing inside a batch."""
        return self.num_lacking > 0

    @property
    def is_doubted(self) -> bool:
        """Whether it is a batch whose header contradicts its records: too many, or with other offsets."""
        return self.magic >= 2 and self.flags & (of.MANY | of.DISORDERED) != 0

    def at(self, table: VerifiedTable, row: int) -> SoundRun:
        """Set where it begins; return it."""
        self.table, self.row = table, row
        return self

    def value(self, name: str) -> int:
        """Return a column of the first entry's header."""
        assert self.table is not None
        return self.table.entries.value(self.row, name)

    def fact(self, which: int) -> int:
        """Return a fact about the first entry's records; see `verified_entries`."""
        assert self.table is not None
        return self.table.fact(self.row, which)

    def has(self, name: str) -> bool:
        """Return whether the first entry is a batch with an attribute, such as `is_control`."""
        return self.magic >= 2 and self.value(name) != 0

    def batches(self) -> Iterator[SoundRun]:
        """Yield each batch as a run, by its place and its offsets."""
        assert self.table is not None
        entries = self.table.entries
        for row in range(self.row, self.row + self.num_batches):
            place = entries.value(row, "position"), entries.value(row, "end_position")
            offsets = entries.value(row, "base_offset"), entries.last_offset(row)
            yield SoundRun(*place, *offsets, 1, self.newest, epoch=self.epoch).at(self.table, row)

    def follows(self, other: SoundRun) -> bool:
        """Return whether this run continues another one, in the file and in its offsets."""
        is_next = (self.position, self.first) == (other.end_position, other.last + 1)
        return is_next and self.epoch == other.epoch and not (self.is_doubted or other.is_doubted)

    def join(self, other: SoundRun) -> None:
        """Add the run that follows this one."""
        self.end_position, self.last = other.end_position, other.last
        self.num_batches += other.num_batches
        self.newest = max(self.newest, other.newest)
        self.num_lacking += other.num_lacking


class RunFolder:
    """Folder of tables into runs.

    Args:
        producers: states of producers, which are followed; None if they are not.
        max_size: bytes of the largest entry that need not be looked at; None for any.

    Attributes:
        num_missing: offsets that were missing so far, for the states of producers.
        has_open: whether any of these has an open transaction.
        previous: the last offset of the entry before; None if there is none in its segment.
    """

    def __init__(self, producers: ProducerTable | None = None, max_size: int | None = None) -> None:
        self._producers, self.num_missing, self.has_open = producers, 0, False
        self._state = memoryview(array("q", bytes(8 * of.NUM_STATE)))
        self._state[of.MAX_SIZE] = MAX_LONG if max_size is None else max_size
        self.previous: int | None = None
        self._num_folded, self._can_compile = 0, True
        self._function: Interpreted | Compiled = Interpreted(run_folder)
        self._followed = _NO_PRODUCERS
        self._use(self._function)

    def runs(self, table: VerifiedTable) -> Iterator[SoundRun]:
        """Yield the runs of the next table of a segment; each is checked before the next one is asked for."""
        self._compile(len(table))
        state, entries = self._state, table.entries
        state[of.ROW], state[of.NUM_ROWS], state[of.LEN_FACTS] = 0, len(table), table.len_facts
        self._function.set("table", entries.memory)
        self._function.set("facts", table.memory)
        if table.before is None and table.facts is None:
            state[of.BEFORE] = entries.last_offset(0) - 1
        else:
            state[of.BEFORE] = table.before or 0
        while state[of.ROW] < len(table):
            state[of.PREVIOUS] = MIN_LONG if self.previous is None else self.previous
            self._follow_producers()
            first_row = self._function()
            self.previous = state[of.PREVIOUS]
            place = entries.value(first_row, "position"), entries.value(state[of.ROW] - 1, "end_position")
            yield SoundRun(*place, *state[of.FIRST :].tolist()).at(table, first_row)

    def _follow_producers(self) -> None:
        if self._producers is not None:
            self._state[of.NUM_SLOTS] = self._producers.num_slots
            self._state[of.NUM_MISSING], self._state[of.HAS_OPEN] = self.num_missing, self.has_open
            if self._followed is not self._producers.memory:
                self._followed = self._producers.memory
                self._function.set("producers", self._followed)

    def _compile(self, num_rows: int) -> None:
        """Take machine code once it pays off to load it, if there is any."""
        self._num_folded += num_rows
        if self._can_compile and (self._num_folded > _FEW or is_loaded(run_folder)):
            self._can_compile = False
            with suppress(MissingExtraError):
                self._use(Compiled(run_folder))

    def _use(self, function: Interpreted | Compiled) -> None:
        self._function, self._followed = function, _NO_PRODUCERS
        function.set("state", self._state)
        function.set("producers", _NO_PRODUCERS)


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """An entry with a right checksum that no log can have: by its offsets, or since it cannot be read."""

    position: int
    end_position: int
    first: int
    last: int | None
    reason: str


Found = SoundRun | RefusedEntry | Damage | Padding


def iter_sound_runs(source: Source) -> Iterator[Found]:
    """Yield runs, in file order, with refused entries, damage and padding in their places.

    Raises:
        StoreError: a store stopped serving the segment.
    """
    return joined(_pieces(source))


def joined(pieces: Iterable[Found]) -> Iterator[Found]:
    """Yield runs that continue each other as one, and what is between them."""
    before: SoundRun | None = None  # what is before `last` and continues in it
    last: SoundRun | None = None
    for found in pieces:
        piece = found if isinstance(found, SoundRun) else None
        if before is not None and last is not None and not (piece and piece.first <= last.last):
            before.join(last)
            before, last = None, before
        if piece and last is not None and before is None and piece.follows(last):
            before, last = last, piece
            continue
        yield from (one for one in (before, last) if one is not None)
        before, last = None, piece
        if piece is None:
            yield found
    if before is not None and last is not None and before.is_cleaned >= last.is_cleaned:
        before.join(last)
        before, last = None, before
    yield from (one for one in (before, last) if one is not None)


def _pieces(source: Source) -> Iterator[Found]:
    """Yield runs that are not joined yet."""
    folder = RunFolder()
    held: SoundRun | None = None  # the last of a table: damage of its records may follow
    for event in iter_verified(source, max_decompressed=_MAX_DECOMPRESSED, max_read=_MAX_READ):
        if isinstance(event, Damage) and held is not None and event.position == held.position:
            error = event.error
            if isinstance(error, DecompressionError) and error.is_bound:
                continue
            reason = f"its records cannot be read, though its checksum is right: {error.detail}"
            yield RefusedEntry(held.position, held.end_position, held.first, held.last, reason)
            held = None
            continue
        if held is not None:
            yield _sound(held)
            held = None
        if isinstance(event, VerifiedTable):
            for run in folder.runs(event):
                if held is not None:
                    yield _sound(held)
                held = run
        else:
            yield event
    if held is not None:
        yield _sound(held)


def _sound(run: SoundRun) -> SoundRun | RefusedEntry:
    """Return a run that can be copied, or why it cannot."""
    if run.flags & of.INVALID:
        reason = f"its offsets, from {run.first} on, are not valid in a log"
        return RefusedEntry(run.position, run.end_position, run.first, None, reason)
    return run
