"""The walk over a segment: what it says of entries is in the file, at each depth, compiled or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests import ways
from tests.made.build import batch, record

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk


@pytest.mark.parametrize("way", [ways.compiled, ways.interpreted])
@pytest.mark.parametrize("depth", [{}, {"whole": True}, {"check_crc": True}])
@pytest.mark.parametrize("in_memory", [True, False])
def test_payloads_are_those_of_the_file(
    way: Any, depth: dict[str, bool], in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
    monkeypatch.setattr(scanner, "_LEN_WINDOW", 3000)
    monkeypatch.setattr(scanner, "LEN_RUN_WINDOW", 1500)
    monkeypatch.setattr(scanner, "_FAR", 300)
    sizes = [number % 7 * 100 for number in range(200)]
    data = b"".join(batch(at, [record(0, b"k", b"v" * size)]) for at, size in enumerate(sizes))
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    source, found = open_source(data if in_memory else path), []
    with way():
        walk = Walk(source, **depth)
        for piece in walk.pieces():
            assert isinstance(piece, EntryTable)
            for row in range(len(piece)):
                start, end = piece.value(row, "payload"), piece.value(row, "end_payload")
                assert bytes(walk.payload(piece, row)) == data[start:end]
                found.append(piece.value(row, "base_offset"))
    source.close()
    assert found == list(range(200))


def test_damage_before_a_sound_part_does_not_cost_a_large_window_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damaged = bytearray(batch(1, [record(0, b"k", b"v" * 20)]))
    damaged[-1] ^= 1
    data = (batch(0) + damaged) * 200 + batch(2, [record(0, b"k", b"v" * 1_000_000)]) * 8
    sizes: list[int] = []
    load = scanner.HeaderScan._load

    def watched(self: scanner.HeaderScan, position: int, size: int) -> None:
        sizes.append(size)
        load(self, position, size)

    monkeypatch.setattr(scanner.HeaderScan, "_load", watched)
    assert sum(1 for _ in Walk(open_source(bytes(data)), check_crc=True).pieces()) > 400
    assert sum(sizes) < 32 << 20
