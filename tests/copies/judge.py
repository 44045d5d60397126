"""The judge of copies: what `salvage` made of them, held against the partition that they were."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from tests.copies import lawful
from tests.copies.cases import Case, Truth
from tests.copies.evidence import Evidence
from tests.copies.result import Result
from tests.made.sound_batches import OFS_EPOCH, OFS_MAGIC, Entry


@dataclass
class Verdict:
    """What is wrong with a result, and which rules made something lawful."""

    faults: list[str] = field(default_factory=list)
    lawful: Counter[str] = field(default_factory=Counter)


@dataclass
class Judging:
    """One result.

    Args:
        case: the copies.
        roots: where each copy was.
        result: what was made of them.
    """

    case: Case
    roots: list[Path]
    result: Result
    verdict: Verdict = field(default_factory=Verdict)
    wanting: str = ""

    def __post_init__(self) -> None:
        self.truth = Truth(self.case.sound)
        self.evidence = Evidence(self.truth, self.case.copies, self.case.is_never_cleaned)
        self.passed: list[Entry] = []

    @cached_property
    def served(self) -> dict[int, Entry]:
        """The batches of the result by base offset."""
        return {one.base: one for one in self.result.served}

    def run(self) -> Verdict:
        """Judge it."""
        if self.result.status not in (0, 1):
            self._fault(f"status {self.result.status}: {self.result.words[-300:]}")
            return self.verdict
        self._whole()
        self._foreign()
        self._lost()
        self._bounds()
        self._epochs()
        self._transactions()
        if self.wanting and self.result.status == 0:
            self._fault(f"status 0, but {self.wanting}")
        return self.verdict

    def _fault(self, words: str) -> None:
        self.verdict.faults.append(words)

    def _is_exempt(self, rules: tuple[lawful.Rule, ...], one: Entry) -> bool:
        """Whether a rule covers a batch; if it is one of `TOLD`, the status must be 1."""
        for rule in rules:
            if rule(self, one):
                self.verdict.lawful[rule.__name__] += 1
                if rule in lawful.TOLD:
                    self.wanting = self.wanting or f"{one.base}-{one.last}: {rule.__name__}"
                return True
        return False

    def _whole(self) -> None:
        """Copies that are as they were make the partition again, and nothing is said."""
        for name in self.result.garbage:
            self._fault(f"{name} of the result has bytes that are no batch")
        for before, one in pairwise(self.result.served):
            if one.base <= before.last:
                self._fault(f"{one.base} stands behind {before.last}")
            elif one.base > before.last + 1 and self.evidence.is_loss(before.last + 1, one.base):
                self.wanting = self.wanting or f"offsets {before.last + 1} to {one.base - 1} are missing"
        if any(self.case.done):
            return
        is_front_open = self.evidence.lacks_front and len(self.result.missing) == 1
        if self.result.status and not (is_front_open and self.result.missing[0][0] == self.truth.start):
            self._fault(f"all copies are as they were, but status 1: {self.result.words[-300:]}")
        if [one.data for one in self.result.served] != [one.data for one in self.truth.entries]:
            self._fault("all copies are as they were, but the result is another")

    def _foreign(self) -> None:
        """Batches that the partition did not have, or not there."""
        for one in self.result.served:
            true = self.truth.by_base.get(one.base)
            if true is not None and true.data == one.data:
                continue
            what = self._what(one, true)
            rules = lawful.OTHER_EPOCH if what == "other epoch" else lawful.FOREIGN
            if self._is_exempt(rules, one):
                self.passed.append(one)
            else:
                why = lawful.contradiction(self, one)
                held = self.evidence.held_words(one)
                self._fault(f"{what} served at {one.base}-{one.last}, {held}; {why}")

    def _what(self, one: Entry, true: Entry | None) -> str:
        if true is not None and one.content == true.content:
            rest = slice(0, OFS_EPOCH), slice(OFS_MAGIC, None)
            return "other epoch" if all(one.data[at] == true.data[at] for at in rest) else "other length"
        places = self.truth.by_content.get(one.content)
        if places:
            return f"batch of {places[0].base} misplaced"
        return "changed batch" if true is not None else "foreign batch"

    def _lost(self) -> None:
        """Batches of the partition that are not in the result."""
        for one in self.truth.entries:
            served = self.served.get(one.base)
            if served is not None and served.content == one.content:
                continue  # with another leader epoch it is judged by `_foreign`
            if self.evidence.holders(one):
                if not self._is_exempt(lawful.HELD, one):
                    self.wanting = self.wanting or f"the sound batch {one.base}-{one.last} is not in it"
                    self._fault(f"sound batch {one.base}-{one.last} is not in the result")
            elif not self._is_replaced(one) and not self._is_exempt(lawful.GONE, one):
                self.wanting = self.wanting or f"{one.base}-{one.last} is in no copy"
                is_said = served is not None or self._is_missing(one)
                if not is_said and not self._is_exempt((lawful.several_damages,), one):
                    self._fault(f"{one.base}-{one.last} is in no copy, which is not said")

    def _is_replaced(self, one: Entry) -> bool:
        """Whether batches that a rule lets pass have all its offsets."""
        return _have_all([(found.base, found.last) for found in self.passed], one)

    def _is_missing(self, one: Entry) -> bool:
        """Whether the manifest has all offsets of a batch, but for those that other batches have."""
        known = [*self.result.missing, *((found.base, found.last) for found in self.result.served)]
        return _have_all(known, one)

    def _bounds(self) -> None:
        """The log's start and end are the partition's, or those of what is left of it."""
        start, end = self.result.bounds
        highest = max([self.truth.end, *(one.last + 1 for one in self.result.served)])
        if end > highest and end not in self.evidence.names:
            self._fault(f"the log ends at {end}, the partition at {self.truth.end}")
        if start < self.truth.start and self.evidence.knows_start:
            self._fault(f"the log starts at {start}, the partition at {self.truth.start}")

    def _epochs(self) -> None:
        """The leader epochs of the result are those of its batches."""
        for one in self.truth.entries:
            served = self.served.get(one.base)
            if (
                served is None
                or served.data != one.data
                or one.last < max(self.result.bounds[0], self.truth.start)
            ):
                continue
            epochs = [epoch for epoch, start in self.result.epochs if start <= one.last]
            is_right = epochs[-1] == one.epoch if epochs else not self.evidence.has_true_epochs
            if not is_right and not self._is_exempt(lawful.EPOCH, one):
                self._fault(f"{one.base} has epoch {one.epoch}, but the checkpoint {self.result.epochs}")
                return

    def _transactions(self) -> None:
        """What was aborted stays aborted, what was committed committed."""
        for base, marker in self.truth.outcomes.items():
            one = self.served.get(base)
            if one is None or one.data != self.truth.by_base[base].data:
                continue
            is_aborted = any(
                producer == one.producer_id and first <= base <= last
                for producer, first, last in self.result.aborted
            )
            found = self.served.get(marker.base)
            is_marked = found is not None and found.data == marker.data
            if marker.control_type == 1 and is_aborted and is_marked:
                self._fault(f"{base}, committed at {marker.base}, is aborted in the result")
            is_known = is_marked or marker.last in self.evidence.aborted_at
            is_wrong = marker.control_type == 0 and is_known and not is_aborted and not self._is_open(one)
            if is_wrong and not self._is_exempt((lawful.several_damages,), one):
                self._fault(f"{base}, aborted at {marker.base}, is committed in the result")

    def _is_open(self, one: Entry) -> bool:
        """Whether no marker of the result ends the transaction of a batch: consumers wait."""
        return not any(
            found.control_type in (0, 1) and found.producer_id == one.producer_id and found.base > one.last
            for found in self.result.served
        )


def _have_all(ranges: list[tuple[int, int]], one: Entry) -> bool:
    """Whether ranges of offsets, first and last, have all of a batch."""
    offsets = range(one.base, one.last + 1)
    return all(any(first <= offset <= last for first, last in ranges) for offset in offsets)
