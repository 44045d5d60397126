"""What copies show of the partition that they were: which have a batch, what names an offset."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tests.copies.cases import Truth, aborted_in, epochs_in
from tests.made.damage_of_batches import EPOCHS
from tests.made.log_directory import CLEANER, HIGH_WATERMARK, LOG_START, RECOVERY_POINT, Directory, base_of
from tests.made.sound_batches import Entry, entries_in

_INDEX_ENTRY = struct.Struct(">ii")


@dataclass
class Evidence:
    """The copies of a case, as somebody sees them who knows the truth."""

    truth: Truth
    copies: list[Directory]
    is_never_cleaned: bool = False
    """Whether a copy has a cleaner-offset-checkpoint that does not name the partition."""

    @cached_property
    def entries(self) -> list[list[Entry]]:
        """The entries of each copy with right checksums."""
        return [[one for name in copy.logs for one in entries_in(copy.files[name])] for copy in self.copies]

    @cached_property
    def _holders(self) -> dict[bytes, set[int]]:
        found: dict[bytes, set[int]] = {}
        for at, entries in enumerate(self.entries):
            for one in entries:
                found.setdefault(one.data, set()).add(at)
        return found

    def holders(self, one: Entry) -> set[int]:
        """The copies that have a batch, byte for byte, at its offset."""
        return self._holders.get(one.data, set())

    def rivals(self, one: Entry) -> list[Entry]:
        """The true batches with offsets of a batch that some copy still has."""
        return [
            true
            for true in self.truth.entries
            if true.base <= one.last and one.base <= true.last and self.holders(true)
        ]

    def held_words(self, one: Entry) -> str:
        """Who has a batch, and who has the truth in its place, for people."""
        rivals = (f"{true.base}-{true.last} in {_names(self.holders(true))}" for true in self.rivals(one))
        return f"which is in {_names(self.holders(one))}, the truth: {'; '.join(rivals) or 'in no copy'}"

    def is_cleaned(self, offset: int) -> bool:
        """Whether the log cleaner may have removed an offset.

        Where no copy has its checkpoint, but batches have its traces, nothing says how far it was.
        """
        noted = [copy.noted[CLEANER] for copy in self.copies if CLEANER in copy.noted]
        dirty = self.truth.sound.first_dirty
        return (dirty is not None and dirty not in noted) or offset < max([*noted, dirty or 0])

    def is_loss(self, start: int, end: int) -> bool:
        """Whether a hole between batches cannot be of the cleaner."""
        is_indexed = any(start <= last < end for last in self.indexed)
        is_deleted = end <= max(self.noted_starts, default=0)
        return not (is_deleted or self.is_cleaned(start)) and (self.is_never_cleaned or is_indexed)

    @cached_property
    def knows_start(self) -> bool:
        """Whether each copy has the log start offset noted, as it is."""
        return all(copy.noted.get(LOG_START) == self.truth.start for copy in self.copies)

    @cached_property
    def lacks_front(self) -> bool:
        """Whether the first offsets of the log are in no batch, and no copy has the cleaner's checkpoint.

        A broker writes it when the cleaner has been in a log: without it that looks like a loss.
        """
        is_noted = any(CLEANER in copy.noted for copy in self.copies)
        return not is_noted and any(one.base > self.truth.start for one in self.truth.entries[:1])

    def num_joins(self, one: Entry) -> int:
        """How many ends of a batch, at its offsets, join another one or the name of a segment."""
        found = [other for entries in self.entries for other in entries]
        begins, ends = {other.base for other in found}, {other.last + 1 for other in found}
        return (one.base in ends.union(self.names)) + (one.last + 1 in begins.union(self.names))

    @cached_property
    def noted_starts(self) -> list[int]:
        """What is noted as log start offsets."""
        return [copy.noted[LOG_START] for copy in self.copies if LOG_START in copy.noted]

    @cached_property
    def ends(self) -> list[int]:
        """Offsets up to which something says that there was a log."""
        noted = [copy.noted.get(name, 0) for copy in self.copies for name in (HIGH_WATERMARK, RECOVERY_POINT)]
        return [*noted, *self.names, *(last + 1 for last in self.indexed)]

    @cached_property
    def names(self) -> list[int]:
        """Base offsets by the names of segments."""
        return [base_of(name) for copy in self.copies for name in copy.logs]

    @cached_property
    def true_names(self) -> list[int]:
        """Those that the partition's own segments had."""
        return [base for base in self.names if f"{base:020d}.log" in self.truth.sound.files]

    def ends_noted(self, one: Entry) -> list[int]:
        """The recovery points of copies that have a batch and were shut down cleanly: there the log ends."""
        copies = (self.copies[at] for at in self.holders(one))
        return [
            copy.noted[RECOVERY_POINT] for copy in copies if copy.is_clean and RECOVERY_POINT in copy.noted
        ]

    @cached_property
    def has_true_epochs(self) -> bool:
        """Whether a copy has the leader epochs as they were."""
        true = self.truth.sound.files[EPOCHS]
        return any(copy.files.get(EPOCHS) == true for copy in self.copies)

    @cached_property
    def are_epochs_false(self) -> bool:
        """Whether a copy has other leader epochs in its checkpoint or its batches."""
        noted = self.truth.sound.files[EPOCHS]
        batches = [one for entries in self.entries for one in entries]
        pairs = ((one, self.truth.by_content.get(one.content)) for one in batches)
        return any(copy.files.get(EPOCHS, noted) != noted for copy in self.copies) or any(
            true and true[0].epoch != one.epoch for one, true in pairs
        )

    @cached_property
    def starts(self) -> list[int]:
        """Offsets from which on something says that there was a log."""
        files = [copy.files[EPOCHS] for copy in self.copies if EPOCHS in copy.files]
        epochs = [start for data in files for _epoch, start in epochs_in(data)]
        return [*self.names, *self.noted_starts, *epochs]

    @cached_property
    def indexed(self) -> set[int]:
        """Last offsets of true batches that an `.index` of some copy still names."""
        return {offset for copy in self.copies for offset in self._indexed_in(copy)} & {
            one.last for one in self.truth.entries
        }

    def _indexed_in(self, copy: Directory) -> Iterator[int]:
        for name, data in copy.files.items():
            if name.endswith(".index"):
                whole = data[: len(data) // _INDEX_ENTRY.size * _INDEX_ENTRY.size]
                yield from (base_of(name) + relative for relative, _ in _INDEX_ENTRY.iter_unpack(whole))

    @cached_property
    def aborted_at(self) -> set[int]:
        """The offsets of ABORT markers that a `.txnindex` of some copy still names."""
        return {
            one[2]
            for copy in self.copies
            for name, data in copy.files.items()
            if name.endswith(".txnindex")
            for one in aborted_in(data)
            if one in self.truth.aborted
        }


def _names(copies: set[int]) -> str:
    return "+".join(f"r{at}" for at in sorted(copies)) or "no copy"
