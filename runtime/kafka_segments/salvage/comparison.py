"""What other copies say of batches of the result: what they have in their places, and what was aborted.

Replicas hold the same bytes, so most stretches that were passed over are in the result already and need not
be kept. What differs is kept in the quarantine. A batch of the result in whose place most copies have another
is outvoted: the choice is built again without it.

Transactions that a `.txnindex` names as aborted and whose markers no copy has are left out, too: without them
consumers take their records for committed. The log cleaner keeps a marker as long as there are records of its
transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import AbortedTxn, read_transaction_index
from kafka_segments.errors import NotingFaults
from kafka_segments.log.opening import open_file
from kafka_segments.salvage.batches import BatchHead, batches_in, stretches_in
from kafka_segments.salvage.ledger import COVERED, Fate, Ledger, ResultPiece, SoundStretch, Status
from kafka_segments.salvage.source_files import SourceFile, SourceFiles

__all__ = ["Outvoted", "compare_covered", "without_markers"]

_STEP = 1 << 20
_MAX_VOTES = 10_000  # batches that are voted on


Outvoted = tuple[int, int, int]
"""A batch in whose place most copies have another: number of its file, first and last offset."""


_Taken = tuple[ResultPiece, BatchHead]
"""A batch of the result, and the piece that it is copied with."""

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
            ledger.add_fate(stretch.fate(Status.SAME, "", piece.segment, piece.to_position))
        else:
            for fate in _fates_of(ledger, files, stretch, votes):
                ledger.add_fate(fate)
    return {
        (piece.file, head.first, head.last)
        for (piece, head), others in votes.items()
        if max(map(len, others.values())) * 2 > num_copies
    }


def _is_alike(files: SourceFiles, stretch: SoundStretch, piece: ResultPiece) -> bool:
    """Return whether a stretch is a piece of the result, byte for byte, as where copies have no damage."""
    sizes = stretch.size, piece.end_position - piece.position
    if (stretch.first, stretch.last, sizes[0]) != (piece.first, piece.last, sizes[1]):
        return False
    one, other = files.source(stretch.file), files.source(piece.file)
    return _is_equal(one, stretch.position, other, piece.position, stretch.size)


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
    source, copy = files.source(stretch.file), files[stretch.file].copy
    for one in stretches_in(source, stretch):
        below = None  # the last batch of the result that ends below this one
        while taken is not None and taken[1].last < one.last:
            below, taken = taken, next(taken_batches, None)
        if taken is not None and (taken[1].last, taken[1].size) == (one.last, one.size):
            piece, head = taken
            if _is_equal(source, one.position, files.source(piece.file), head.position, one.size):
                to_position = piece.to_position + head.position - piece.position
                yield one.fate(Status.SAME, "", piece.segment, to_position)
                continue
        rival = below if taken is None or taken[1].first > one.last else taken
        is_other = rival is not None and files[rival[0].file].copy != copy
        is_counted = is_other and not stretch.doubt and len(votes) < _MAX_VOTES
        if rival is not None and rival[1].last >= one.first and is_counted:
            digest = hashlib.sha256(source.read(one.position, one.size)).digest()
            votes.setdefault(rival, {}).setdefault(digest, set()).add(copy)
        yield one.fate(Status.QUARANTINED, stretch.doubt or "the result has other batches at its offsets")


def _taken_from(ledger: Ledger, files: SourceFiles, offset: int) -> Iterator[_Taken]:
    for piece in ledger.pieces(offset):
        yield from ((piece, head) for head in batches_in(files.source(piece.file), piece))


def without_markers(ledger: Ledger, files: SourceFiles, num_copies: int) -> dict[Outvoted, str]:
    """Return the batches of transactions that a `.txnindex` names, and whose markers no copy has; and why.

    Raises:
        ReadError: a file cannot be read any more.
    """
    found: dict[Outvoted, str] = {}
    for file in files:
        for one in _aborted_in(file, files):
            arounds = [ledger.around(copy, one.last_offset, one.last_offset)[0] for copy in range(num_copies)]
            if any(before is not None and before.last >= one.last_offset for before in arounds):
                continue
            why = (
                f"its transaction was aborted (.txnindex), and its marker at offset {one.last_offset} is lost"
            )
            batches = [each for copy in range(num_copies) for each in _batches_of(one, ledger, files, copy)]
            found |= dict.fromkeys(batches, why)
            if batches:
                file.losses.append((one.last_offset, one.last_offset))
    return found


def _aborted_in(file: SourceFile, files: SourceFiles) -> Iterator[AbortedTxn]:
    """Yield what the transaction index of a file says of markers that should be in it."""
    beside = file.segment.beside.get("txnindex")
    if beside is None or (file.whole_reason and not file.is_unopened):
        return
    last = -1 if file.last_offset is None else file.last_offset
    end = max(last + 1, file.refused_end, file.segment.end_offset or 0)
    with NotingFaults():
        entries = read_transaction_index(open_file(files.places, beside))
        yield from (one for one in entries if file.segment.base_offset <= one.last_offset < end)


def _batches_of(one: AbortedTxn, ledger: Ledger, files: SourceFiles, copy: int) -> Iterator[Outvoted]:
    for stretch in ledger.stretches(copy):
        if stretch.last < one.first_offset or stretch.first > one.last_offset:
            continue
        for head in batches_in(files.source(stretch.file), stretch):
            if one.first_offset <= head.first <= one.last_offset and head.producer_id == one.producer_id:
                yield stretch.file, head.first, head.last
