"""Target `entry_records`: entries in memory with the records of each, as `sizes` reads them."""

from __future__ import annotations

from random import Random

from tests.fuzz.checks import MAX_DECOMPRESSED, word

from kafka_segments.core.codecs.bounds import other_bound
from kafka_segments.core.formats.entries import Damage
from kafka_segments.sizes.entry_pieces import EntryPiece, PieceReader


def entry_records(dice: Random, data: bytes) -> str:
    """Each entry comes once, in order, with the records that it has alone."""
    with other_bound(MAX_DECOMPRESSED):
        found = list(PieceReader(dice.choice((0, 100, 1 << 20))).pieces("log", data, 0))
        ends = [0]
        for piece in found:
            if isinstance(piece, EntryPiece):
                _check(piece, data, ends)
    return word([one for one in found if isinstance(one, Damage)])


def _check(piece: EntryPiece, data: bytes, ends: list[int]) -> None:
    assert piece.num_records.sum() == piece.records.num_rows
    columns, first = piece.records.columns, 0
    for column in columns.values():
        column.validate(full=True)
    for row, count in enumerate(piece.num_records.tolist()):
        start, end = (piece.table.value(row, name) for name in ("position", "end_position"))
        assert ends[-1] <= start
        ends.append(end)
        (alone,) = PieceReader(1 << 20).pieces("log", data[start:end], 0)
        assert isinstance(alone, EntryPiece)
        assert alone.num_records.tolist() == [count]
        for name, column in alone.records.columns.items():
            assert column.equals(columns[name].slice(first, count))
        first += count
