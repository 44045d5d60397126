"""Confirmation of what something contradicts, by the rest of its copy and by other copies.

The rule stands in `segment.evidence`. Here its second half is decided: whether a neighbour confirms. Within a
copy, batches with other offsets than their file has are confirmed where they fill exactly what the rest
lacks: files were swapped then, or batches. In other copies, the same content at another offset shows which
of two places is wrong: a checksum covers all of a batch but its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kafka_segments.core.segment.evidence import FEW
from kafka_segments.salvage.batches import BatchHead, batches_in
from kafka_segments.salvage.ledger import Ledger, SoundStretch, doubted
from kafka_segments.salvage.source_files import SourceFiles

__all__ = ["OtherPlaces", "confirm_doubted"]

_MOST_HEADS = 64
"""Batches of another copy that are looked at for one."""


def confirm_doubted(ledger: Ledger, files: SourceFiles, num_copies: int) -> None:
    """Give the doubted stretches that the rest of their copy confirms to it, and put the others aside."""
    for copy in range(num_copies):
        bases = {one.segment.base_offset for one in files if one.copy == copy}
        for chain in _chains(ledger.stretches(doubted(copy))):
            is_confirmed = _is_confirmed(OtherPlaces(ledger, files, num_copies), copy, chain, bases)
            for stretch in chain:
                if not is_confirmed and stretch.expected is not None and stretch.num_batches <= FEW:
                    file = files[stretch.file]  # something was at the offset that it has not
                    file.refused_end = max(file.refused_end, stretch.expected + 1)
                if is_confirmed:
                    ledger.add_stretch(stretch._replace(copy=copy, doubt=""))
                else:
                    ledger.cover(stretch)


def _chains(stretches: Iterator[SoundStretch]) -> Iterator[list[SoundStretch]]:
    """Yield stretches that continue each other, by their offsets or in a file, together."""
    chain: list[SoundStretch] = []
    for stretch in stretches:
        place = stretch.expected if chain and chain[-1].file == stretch.file else stretch.first
        if chain and chain[-1].last + 1 not in (stretch.first, place):
            yield chain
            chain = []
        chain.append(stretch)
    if chain:
        yield chain


def _is_confirmed(places: OtherPlaces, copy: int, chain: list[SoundStretch], bases: set[int]) -> bool:
    """Return whether a chain joins what is around its offsets, or begins with the batch that is there."""
    first, last = chain[0].first, chain[-1].last
    before, after = places.ledger.around(copy, last, last)
    if before is not None and before.last >= first:
        return before.last < last and places.is_at(copy, chain[0])
    joins_before = before is not None and before.last + 1 == first
    joins_after = last + 1 in bases or (after is not None and after.first == last + 1)
    end_of_file = places.files[chain[-1].file].segment.end_offset
    own_base = places.files[chain[0].file].segment.base_offset
    is_few = sum(one.num_batches for one in chain) <= FEW
    is_begun = first in bases and not (is_few and first == own_base)
    if is_begun or last + 1 == end_of_file or (joins_before and joins_after):
        return True
    is_alone = before is after is None and first < own_base  # in a file with a wrong name
    return not is_few and (joins_before or joins_after or is_alone)


@dataclass
class OtherPlaces:
    """The places where copies have the same batch.

    Args:
        ledger: has the stretches of all copies.
        files: the source files.
        num_copies: numbers of copies in the ledger.
    """

    ledger: Ledger
    files: SourceFiles
    num_copies: int

    def doubt(self, stretch: SoundStretch) -> str:
        """Return why a stretch that does not continue the batch before it is in the wrong place, or nothing.

        Raises:
            ReadError: a file cannot be read any more.
        """
        own = self._head(stretch)
        start = stretch.first if stretch.expected is None else min(stretch.expected, stretch.first)
        if own.magic < 2 or stretch.expected == stretch.first:
            return ""
        votes = Counter({stretch.first: 1})
        where = {}
        for copy in range(self.num_copies):
            found = None if copy == stretch.copy else self._same(copy, own, start)
            if found is not None:
                offset, path, is_joined = found
                votes[offset] += 2 if is_joined or offset == stretch.expected else 1
                where[offset] = path
        offset, count = votes.most_common(1)[0]
        if count <= votes[stretch.first] or self._has(stretch.copy, offset):
            return ""
        return (
            f"its offsets, {stretch.first} to {stretch.last}, are wrong: the same batch is at offset "
            f"{offset} in {where[offset]}"
        )

    def is_at(self, copy: int, stretch: SoundStretch) -> bool:
        """Return whether a copy has the first batch of a stretch at the same offset."""
        found = self._same(copy, self._head(stretch), stretch.first)
        return found is not None and found[0] == stretch.first

    def _head(self, stretch: SoundStretch) -> BatchHead:
        return next(self._heads(stretch))

    def _heads(self, stretch: SoundStretch) -> Iterator[BatchHead]:
        return batches_in(self.files.source(stretch.file), stretch)

    def _same(self, copy: int, wanted: BatchHead, start: int) -> tuple[int, str, bool] | None:
        """Return where a copy has a batch from an offset on, and whether it joins what is before it there."""
        for stretch in self.ledger.around(copy, start, start):
            if stretch is None:
                continue
            heads = (one for one in self._heads(stretch) if one.last >= start)
            for number, one in enumerate(islice(heads, _MOST_HEADS)):
                if (one.crc, one.size) == (wanted.crc, wanted.size):
                    is_joined = number > 0 or one.first == stretch.expected or one.first != stretch.first
                    return one.first, self.files[stretch.file].path, is_joined
        return None

    def _has(self, copy: int, offset: int) -> bool:
        """Return whether a copy has an offset."""
        before, _after = self.ledger.around(copy, offset, offset)
        return before is not None and before.last >= offset
