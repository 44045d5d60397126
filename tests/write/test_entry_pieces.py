"""Pieces of `sizes`: all entries once, records within bounds, and what takes too much is left out by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_segments import encode_records
from kafka_segments.cli.main import main
from kafka_segments.core.io.storage import open_source
from kafka_segments.write.entry_records import read_entry_records, read_small_entries
from kafka_segments.write.sizes.entry_pieces import EntryPieces, LeftOut
from kafka_segments.write.sizes.stretches import read_stretch

MIB = 1 << 20


def zeros(num_batches: int, size: int, compression: str = "zstd") -> bytes:
    """Batches of one value of zeros each."""
    return b"".join(
        encode_records([{"offset": offset, "value": bytes(size)}], compression=compression)
        for offset in range(num_batches)
    )


def test_records_that_take_more_than_they_may_are_not_read() -> None:
    data = zeros(8, MIB)
    assert read_small_entries(data, max_content=7 * MIB) is None
    found = read_small_entries(data, max_content=9 * MIB)
    assert found is not None and found.records.num_rows == 8


def test_a_run_is_divided_until_its_pieces_are_small() -> None:
    data = zeros(23, MIB)
    found = list(EntryPieces(4 * MIB).pieces(memoryview(data), 1000))
    offsets, positions = [], []
    for piece in found:
        assert not isinstance(piece, LeftOut)
        position, entries = piece
        assert entries.records.nbytes <= 4 * MIB
        offsets += entries.records.column("offset").to_pylist()
        positions += [position - 1000 + int(one) for one in entries.table.column("position")]
    assert offsets == list(range(23)) and len(found) >= 6
    assert positions == read_entry_records(data).table.column("position").tolist()


def test_an_entry_that_is_too_large_is_left_out_and_the_rest_is_read() -> None:
    large = encode_records([{"offset": 1, "value": bytes(65 * MIB)}], max_message_bytes=None)
    before, after = zeros(1, 100), encode_records([{"offset": 2, "value": b"after"}])
    found = list(EntryPieces(4 * MIB).pieces(memoryview(before + large + after)))
    (left,) = [one for one in found if isinstance(one, LeftOut)]
    assert (left.position, left.end_position) == (len(before), len(before) + len(large))
    assert sum(one[1].records.num_rows for one in found if not isinstance(one, LeftOut)) == 2


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
    large = encode_records([{"value": bytes(5 * MIB)}], max_message_bytes=None)
    data = small + large + small + small
    stretch = read_stretch(open_source(data), [(0, len(data))], len(data))
    ends = len(small), len(small + large), len(data)
    assert stretch.runs == [(0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]
    assert stretch.num_entries == 4
