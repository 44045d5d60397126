"""Comparison of stretches that were passed over with what is in the result for their offsets.

Replicas hold the same bytes, so most of these are in the result already and need not be kept. What differs is
kept in the quarantine. A batch of the result in whose place most copies have another is outvoted: the choice
is built again without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from kafka_segments.core.io.storage import Source
from kafka_segments.salvage.ledger import COVERED, Fate, Ledger, ResultPiece, SoundStretch, Status
from kafka_segments.salvage.source_files import SourceFiles
from kafka_segments.salvage.survey import heads_in

__all__ = ["Outvoted", "compare_covered"]

_STEP = 1 << 20
_MAX_VOTES = 10_000  # batches that are voted on


Outvoted = tuple[int, int, int]
"""A batch in whose place most copies have another: number of its file, first and last offset."""


class _Taken(NamedTuple):
    """A batch of the result, where it was copied from."""

    piece: ResultPiece
    position: int
    size: int
    first: int
    last: int


_Votes = dict[_Taken, dict[bytes, set[int]]]
"""Of batches of the result: what other copies have in their place, and which copies that are."""


def compare_covered(ledger: Ledger, files: SourceFiles, num_copies: int) -> set[Outvoted]:
    """Add the fates of all stretches that were passed over; return which batches of the result are outvoted.

    Raises:
        ReadError: a file has changed since it was surveyed, or cannot be read any more.
    """
    votes: _Votes = {}
    for stretch in ledger.stretches(COVERED):
        piece = next(ledger.pieces(stretch.first), None)
        if piece is not None and _is_alike(files, stretch, piece):
            place = stretch.file, stretch.position, stretch.end_position
            ledger.add_fate(
                Fate(*place, Status.SAME, "", stretch.first, stretch.last, piece.segment, piece.to_position)
            )
        else:
            for fate in _fates_of(ledger, files, stretch, votes):
                ledger.add_fate(fate)
    return {
        (taken.piece.file, taken.first, taken.last)
        for taken, others in votes.items()
        if max(map(len, others.values())) * 2 > num_copies
    }


def _is_alike(files: SourceFiles, stretch: SoundStretch, piece: ResultPiece) -> bool:
    """Return whether a stretch is a piece of the result, byte for byte, as where copies have no damage."""
    size = stretch.end_position - stretch.position
    if (stretch.first, stretch.last) != (piece.first, piece.last):
        return False
    if size != piece.end_position - piece.position:
        return False
    one, other = files.source(stretch.file), files.source(piece.file)
    return _is_equal(one, stretch.position, other, piece.position, size)


def _is_equal(one: Source, position: int, other: Source, other_position: int, size: int) -> bool:
    for at in range(0, size, _STEP):
        step = min(_STEP, size - at)
        if one.read(position + at, step) != other.read(other_position + at, step):
            return False
    return True


def _fates_of(ledger: Ledger, files: SourceFiles, stretch: SoundStretch, votes: _Votes) -> Iterator[Fate]:
    """Compare batch by batch; note what differs."""
    taken_batches = _taken_from(ledger, files, stretch.first)
    taken = next(taken_batches, None)
    source = files.source(stretch.file)
    first = stretch.first
    for head in heads_in(source, stretch.position, stretch.end_position):
        below = None  # the last batch of the result that ends below this one
        while taken is not None and taken.last < head.last_offset:
            below, taken = taken, next(taken_batches, None)
        size = head.end_position - head.position
        offsets = first if head.first_offset is None else head.first_offset, head.last_offset
        first = head.last_offset + 1
        place = stretch.file, head.position, head.end_position
        if taken is not None and (taken.last, taken.size) == (head.last_offset, size):
            other = files.source(taken.piece.file)
            if _is_equal(source, head.position, other, taken.position, size):
                to_position = taken.piece.to_position + taken.position - taken.piece.position
                yield Fate(*place, Status.SAME, "", *offsets, taken.piece.segment, to_position)
                continue
        rival = below if taken is None or taken.first > head.last_offset else taken
        is_other = rival is not None and files[rival.piece.file].copy != files[stretch.file].copy
        is_counted = is_other and not stretch.doubt and len(votes) < _MAX_VOTES
        if rival is not None and rival.last >= offsets[0] and is_counted:
            digest = hashlib.sha256(source.read(head.position, size)).digest()
            votes.setdefault(rival, {}).setdefault(digest, set()).add(files[stretch.file].copy)
        reason = stretch.doubt or "the result has other batches at its offsets"
        yield Fate(*place, Status.QUARANTINED, reason, *offsets)


def _taken_from(ledger: Ledger, files: SourceFiles, offset: int) -> Iterator[_Taken]:
    for piece in ledger.pieces(offset):
        source, first = files.source(piece.file), piece.first
        for head in heads_in(source, piece.position, piece.end_position):
            first = first if head.first_offset is None else head.first_offset
            yield _Taken(piece, head.position, head.end_position - head.position, first, head.last_offset)
            first = head.last_offset + 1
