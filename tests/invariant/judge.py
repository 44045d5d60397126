"""The invariant: what a verb said of a directory, held against what is true of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.invariant.answers import Answer, Named
from tests.invariant.lawful import record_rule_for, rule_for
from tests.invariant.truth import Region, Truth
from tests.made.log_directory import base_of
from tests.made.sound_batches import Found, Row

WITHOUT_ROWS = ("aborted", "source_damage", "report", "verify")
"""Verbs that deliver no records: they only name."""
NAMING_PLACES = ("find", "verify")
"""Verbs that name all bytes that are no sound batch, also those where no offset is missing."""


@dataclass
class Verdict:
    """What is wrong with an answer, and which rules made something lawful."""

    faults: list[str] = field(default_factory=list)
    lawful: Counter[str] = field(default_factory=Counter)


def judge(truth: Truth, verb: str, answer: Answer) -> Verdict:
    """Hold an answer against the truth."""
    names = Names(truth, answer.named)
    judging = _Judging(truth, verb, answer, names)
    if verb not in WITHOUT_ROWS:
        judging.records()
    judging.offsets()
    if verb in NAMING_PLACES:
        judging.places()
    verdict = judging.verdict
    if answer.status == 0 and judging.is_wanting:
        verdict.faults.append(f"status 0, but {judging.is_wanting}")
    told = [one for one in answer.named if not _costs_nothing(truth, one)]
    if answer.status == 0 and told and verb != "plan":
        verdict.faults.append(f"status 0, but told: {told[0].text[:300]}")
    return verdict


def _costs_nothing(truth: Truth, named: Named) -> bool:
    """Whether a broker is writing what is told of, it is a record that stands twice, or it was deleted."""
    is_deleted = "its records are deleted: the log starts at offset" in named.text
    if is_deleted and named.path is not None and base_of(Path(named.path).name) < truth.log_start:
        return True
    return (
        truth.directory.is_live and "the last batch is incomplete" in named.text
    ) or "or are duplicates" in named.text


class _Judging:
    """One answer; `is_wanting` says, if anything, what had to be named."""

    def __init__(self, truth: Truth, verb: str, answer: Answer, names: Names) -> None:
        self.verdict = Verdict()
        self.is_wanting = ""
        self._truth, self._verb, self._answer, self._names = truth, verb, answer, names

    def records(self) -> None:
        """Sound records are delivered, or named."""
        truth, verb = self._truth, self._verb
        delivered = _planned(truth, self._answer) if verb == "plan" else self._answer.rows
        unnamed: set[int] = set()
        for at, (name, batch, row) in enumerate(truth.data_rows):
            if row in delivered:
                continue
            rule = record_rule_for(truth, verb, at)
            if rule is not None:
                self.verdict.lawful[rule.name] += 1
                continue
            self.is_wanting = f"the sound record {row.offset} of {name} was not delivered"
            if not self._names.has_offset(row.offset) and not self._names.has_place(name, batch):
                unnamed.add(row.offset)
        if unnamed:
            which = _spans(sorted(unnamed))
            self.verdict.faults.append(f"sound records neither delivered nor named: {which}")

    def offsets(self) -> None:
        """Offsets that are nowhere are named."""
        unnamed = []
        for offset in self._truth.nowhere:
            if offset in self._answer.written:
                continue
            rule = rule_for(self._truth, self._verb, offset)
            if rule is not None:
                self.verdict.lawful[rule.name] += 1
                continue
            self.is_wanting = self.is_wanting or f"offset {offset} is nowhere"
            if not self._names.has_offset(offset):
                unnamed.append(offset)
        if unnamed:
            self.verdict.faults.append(f"offsets that are nowhere and were not named: {_spans(unnamed)}")

    def places(self) -> None:
        """Bytes that are no sound batch are named, but for what a broker may be about to write."""
        truth = self._truth
        newest = truth.directory.logs[-1] if truth.directory.logs else ""
        for one in truth.regions:
            is_tail = one.name == newest and not any(
                batch.position > one.position and batch.base_offset >= one.first
                for batch in truth.batches[newest]
            )
            is_deleted = one.last is not None and one.last < truth.log_start
            # To a verb that prints files zeros at the end of one are padding, and the gap after it is named.
            is_padding = one.is_zeros and (is_tail or (one.is_at_end and self._verb == "find"))
            if is_deleted or is_padding or (is_tail and truth.directory.is_live):
                continue
            if not self._names.has_place(one.name, one):
                place = f"{one.name}, {one.position} to {one.end}"
                self.verdict.faults.append(f"damaged bytes that were not named: {place}")


class Names:
    """What was named, as offsets and as places in files."""

    def __init__(self, truth: Truth, named: list[Named]) -> None:
        self._named = named
        self._ranges: list[tuple[int, int | None]] = []
        bases = sorted({base_of(name) for name in truth.directory.logs})
        following = dict(pairwise([*bases, 1 << 63]))
        for one in named:
            own = None
            name = None if one.path is None else Path(one.path).name
            if name in truth.directory.files and name is not None and name.endswith(".log"):
                own = _by_content(truth, name, (base_of(name), following[base_of(name)] - 1))
            if one.first is not None or one.last is not None:
                first = one.first if one.first is not None else own[0] if own else 0
                # Without an end: up to the next segment, or to the end of the log.
                last = one.last if one.last is not None else own[1] if own else None
                self._ranges.append((first, last))
            elif own is not None:
                self._ranges.append(own)

    def has_offset(self, offset: int) -> bool:
        """Whether an offset is in a range that was named."""
        if any(one.is_all for one in self._named):
            return True
        return any(first <= offset and (last is None or offset <= last) for first, last in self._ranges)

    def has_place(self, name: str, place: Found | Region) -> bool:
        """Whether a batch or damage stands in bytes that were named."""
        for one in self._named:
            if one.path is None or Path(one.path).name != name:
                continue
            if one.position is None or one.end_position is None:
                if one.first is None and one.last is None:
                    return True
                continue
            if one.position < place.end and place.position < one.end_position:
                return True
        return False


def _by_content(truth: Truth, name: str, own: tuple[int, int]) -> tuple[int, int]:
    """The offsets that a file may have held: by its name, and around its batches if those are others.

    Its ends tell: one batch between them whose base offset was changed says nothing of the file.
    """
    batches = truth.batches.get(name)
    if not batches:
        return own
    ends = batches[0], batches[-1]
    first, last = min(one.base_offset for one in ends), max(one.last_offset for one in ends)
    if own[0] <= first and last <= own[1]:
        return own
    before = max((offset for offset in truth.present if offset < first), default=-1) + 1
    behind = min((offset for offset in truth.present if offset > last), default=1 << 63) - 1
    return min(own[0], before), max(own[1], behind)


def _planned(truth: Truth, answer: Answer) -> set[Row]:
    """The records whose offsets a plan has: positions in it are hints, and readers look for offsets."""
    return {
        row
        for _name, _batch, row in truth.data_rows
        for _path, start, end in answer.ranges
        if start <= row.offset and (end is None or row.offset < end)
    }


def _spans(offsets: list[int]) -> str:
    spans: list[list[int]] = []
    for offset in offsets:
        if spans and spans[-1][1] == offset - 1:
            spans[-1][1] = offset
        else:
            spans.append([offset, offset])
    return ", ".join(f"{first}-{last}" for first, last in spans[:6]) + (" ..." if len(spans) > 6 else "")
