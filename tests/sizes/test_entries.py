"""Entries of `sizes`: all once, records within bounds; what is damaged or takes too much is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.made.samples import RECORDED
from tests.made.segments import some_segment

from kafka_segments import encode_records
from kafka_segments.cli.main import main
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import open_source
from kafka_segments.sizes.entry_pieces import EntryPiece, PieceReader
from kafka_segments.sizes.stretches import EntryFinder

MIB = 1 << 20


def zeros(num_batches: int, size: int, compression: str = "zstd") -> bytes:
    """Batches of one value of zeros each."""
    return b"".join(
        encode_records([{"offset": offset, "value": bytes(size)}], compression=compression)
        for offset in range(num_batches)
    )


def read(data: bytes, max_together: int = 4 * MIB) -> tuple[list[EntryPiece], list[Damage]]:
    """The pieces of a run that begins at position 1000, and what is left out."""
    found = list(PieceReader(max_together).pieces("log", data, 1000))
    return [one for one in found if isinstance(one, EntryPiece)], [
        one for one in found if isinstance(one, Damage)
    ]


def test_a_run_is_divided_until_its_pieces_are_small() -> None:
    data = zeros(23, MIB)
    pieces, left_out = read(data)
    assert all(piece.len_records <= 4 * MIB for piece in pieces) and len(pieces) >= 6 and not left_out
    assert [one for piece in pieces for one in piece.records.columns["offset"].to_pylist()] == list(range(23))
    assert np.concatenate([piece.sizes for piece in pieces]).sum() == len(data)


def test_an_entry_that_is_too_large_is_left_out_and_the_rest_is_read() -> None:
    large = encode_records([{"offset": 1, "value": bytes(65 * MIB)}], max_message_bytes=None)
    before, after = zeros(1, 100), encode_records([{"offset": 2, "value": b"after"}])
    pieces, (left_out,) = read(before + large + after)
    start = 1000 + len(before)
    assert (left_out.path, left_out.position, left_out.end_position) == ("log", start, start + len(large))
    assert sum(piece.records.num_rows for piece in pieces) == 2


def test_a_small_file_of_much_content_is_left_out_at_some_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A KiB of zstd a batch is 30 MiB of zeros: 300 MiB of them in ten would be encoded in each form."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(zeros(10, 30 * MIB))
    assert path.stat().st_size < 30_000
    assert main(["sizes", str(path), "--magic", "2", "--compression", "zstd"]) == 1
    said = capsys.readouterr()
    assert said.err.count("left out: its records take more than") == 8
    assert "2 records" not in said.err and "magic 2, zstd" in said.out


def test_a_large_entry_is_a_run_by_itself() -> None:
    small = encode_records([{"value": b"small"}])
    large = encode_records([{"value": bytes(2 * MIB)}], max_message_bytes=None)
    data = small + large + small + small
    ends = len(small), len(small + large), len(data)
    finder = EntryFinder(open_source(data), len(data))
    assert list(finder.runs(0, len(data))) == [(0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]


def test_what_kafka_refuses_is_left_out_and_counted() -> None:
    path = RECORDED / "kafka-4.3/clean/negative-aiokafka-0/00000000000000000000.log"
    ((piece,), left_out) = read(path.read_bytes())
    assert (piece.num_refused, len(piece.table), left_out) == (2, 2, [])


def test_damaged_entries_are_left_out_and_their_neighbours_read() -> None:
    source = bytearray(some_segment(40))
    ((whole,), _none) = read(bytes(source))
    start, end = (whole.table.value(7, name) for name in ("position", "end_position"))
    source[end - 1] ^= 0xFF
    ((piece,), (damage,)) = read(bytes(source))
    assert (damage.position, damage.end_position) == (1000 + start, 1000 + end)
    others = [row for row in range(len(whole.table)) if row != 7]
    assert piece.table.column("position").tolist() == whole.table.column("position")[others].tolist()
    assert piece.num_records.tolist() == whole.num_records[others].tolist()
