"""What copies show of the partition that they were: which have a batch, what names an offset."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tests.copies.cases import Truth, aborted_in, epochs_in
from tests.copies.entries import Entry, entries_in
from tests.copies.operations import EPOCHS
from tests.invariant.cases import CLEANER, HIGH_WATERMARK, LOG_START, RECOVERY_POINT
from tests.invariant.directory import Directory, base_of

_INDEX_ENTRY = struct.Struct(">ii")


@dataclass
class Evidence:
    """The copies of a case, as somebody sees them who knows the truth."""

    truth: Truth
    copies: list[Directory]

    @cached_property
    def entries(self) -> list[list[tuple[str, Entry]]]:
        """The entries of each copy with right checksums, with the names of their files."""
        return [
            [(name, one) for name in copy.logs for one in entries_in(copy.files[name])]
            for copy in self.copies
        ]

    @cached_property
    def _holders(self) -> dict[bytes, set[int]]:
        found: dict[bytes, set[int]] = {}
        for at, entries in enumerate(self.entries):
            for _name, one in entries:
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

    @cached_property
    def knows_start(self) -> bool:
        """Whether each copy has the log start offset noted, as it is."""
        return all(copy.noted.get(LOG_START) == self.truth.start for copy in self.copies)

    @cached_property
    def noted_starts(self) -> list[int]:
        """What is noted as log start offsets."""
        return [copy.noted[LOG_START] for copy in self.copies if LOG_START in copy.noted]

    @cached_property
    def ends(self) -> list[int]:
        """Offsets up to which something says that there was a log."""
        noted = [copy.noted.get(name, 0) for copy in self.copies for name in (HIGH_WATERMARK, RECOVERY_POINT)]
        return [*noted, *self.names]

    @cached_property
    def names(self) -> list[int]:
        """Base offsets by the names of segments."""
        return [base_of(name) for copy in self.copies for name in copy.logs]

    @cached_property
    def true_names(self) -> list[int]:
        """Those that the partition's own segments had."""
        return [base for base in self.names if f"{base:020d}.log" in self.truth.sound.files]

    @cached_property
    def is_end_noted(self) -> bool:
        """Whether a copy was shut down cleanly, and has its recovery point as it was."""
        return any(copy.is_clean and copy.noted.get(RECOVERY_POINT) == self.truth.end for copy in self.copies)

    @cached_property
    def has_true_epochs(self) -> bool:
        """Whether a copy has the leader epochs as they were."""
        true = self.truth.sound.files[EPOCHS]
        return any(copy.files.get(EPOCHS) == true for copy in self.copies)

    @cached_property
    def are_epochs_false(self) -> bool:
        """Whether a copy has other leader epochs in its checkpoint or its batches."""
        true = self.truth.sound.files[EPOCHS]
        if any(copy.files.get(EPOCHS, true) != true for copy in self.copies):
            return True
        return any(
            one.epoch != true.epoch
            for entries in self.entries
            for _name, one in entries
            for true in self.truth.by_content.get(one.content, ())[:1]
        )

    @cached_property
    def epoch_starts(self) -> list[int]:
        """Where the epochs of checkpoints start."""
        return [
            start
            for copy in self.copies
            if EPOCHS in copy.files
            for _, start in epochs_in(copy.files[EPOCHS])
        ]

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
