"""The search by machine code finds what the search by expression finds, wherever entries begin and end."""

from __future__ import annotations

import io
from random import Random

import pytest
from tests.made.adversaries import ADVERSARIES, EMPTY_RECORD, batch, message, record

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan import resync
from kafka_segments.core.segment.scan.resync import Resync
from kafka_segments.errors import ReadError

pytest.importorskip("numba")
searching = pytest.importorskip("kafka_segments.core.segment.scan.compiled_search")


@pytest.fixture
def small_windows(monkeypatch):
    """Windows and steps so small that a few hundred KiB have many of each."""
    monkeypatch.setattr(searching, "_LEN_WINDOW", 64 << 10)
    monkeypatch.setattr(searching, "_LEN_STEP", 16 << 10)


def by_expression(source, position: int, sound_offset: int | None, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(resync, "_LEN_NEAR", 1 << 60)
        patch.setattr(resync, "_LEN_SLOW", 1 << 60)
        return Resync(source).next_entry(position, sound_offset)


def by_machine_code(source, position: int, sound_offset: int | None, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(resync, "_LEN_NEAR", 0)
        patch.setattr(resync, "_LEN_SLOW", 0)
        return Resync(source).next_entry(position, sound_offset)


def haystack(seed: int) -> bytes:
    """Bytes that look like entries here and there, with a few true ones at any place and of any size."""
    dice = Random(seed)
    out = bytearray()
    kinds = (
        "00 01",
        "random bytes",
        "zeros",
        "bytes of 0, 1 and 2",
        "entries that overlap",
        "wrong checksums, magic 2",
    )
    for _ in range(dice.randrange(1, 6)):
        out += ADVERSARIES[dice.choice(kinds)](dice.randrange(64, 4000))
        value = dice.randbytes(dice.choice((0, 1, 30, 400, 511, 512, 513, 5000, 70_000, 140_000)))
        sound = (
            batch(record(value), 1, offset=dice.randrange(1, 1 << 40)),
            batch(EMPTY_RECORD, 1, offset=dice.randrange(1, 1 << 40)),
            message(value, magic=dice.randrange(2), offset=dice.randrange(1, 1 << 40)),
        )
        out += dice.choice(sound)[: dice.choice((1 << 30, 1 << 30, 1 << 30, 40))]
    return bytes(out)


@pytest.mark.parametrize("seed", range(40))
def test_same_entry_is_found(seed, tmp_path, small_windows, monkeypatch):
    data = haystack(seed)
    path = tmp_path / "file"
    path.write_bytes(data)
    sources = [open_source(data), open_source(path), open_source(io.BytesIO(data))]
    sound_offset = Random(seed).choice((None, 0, 1 << 39, (1 << 63) - 1))
    position = 1
    for _ in range(5):
        expected = by_expression(sources[0], position, sound_offset, monkeypatch)
        for source in sources:
            found = by_machine_code(source, position, sound_offset, monkeypatch)
            assert (found and found.position) == (expected and expected.position)
        if expected is None:
            return
        position = expected.position + 1


@pytest.mark.parametrize("len_value", [*range(420, 600, 7), 3000, 4096 * 3, 100_000])
@pytest.mark.parametrize("magic", [0, 2])
def test_entries_around_grid_lines_are_found(len_value, magic, monkeypatch):
    """Lengths from within a cell of the grid to many, each at all distances from the line before it."""
    value = Random(len_value).randbytes(len_value)
    entry = message(value, offset=5) if magic == 0 else batch(record(value), 1, offset=5)
    for distance in range(0, 515, 37):
        source = open_source(b"\x07" * (1024 + distance) + entry + b"\x07" * 50)
        found = by_machine_code(source, 1, None, monkeypatch)
        assert found is not None
        assert found.position == 1024 + distance


class Unreadable:
    """A source with blocks that cannot be read."""

    name, descriptor, is_memory = "unreadable", -1, False

    def __init__(self, data: bytes, blocks: set[int]) -> None:
        self._data, self._blocks, self.size = data, blocks, len(data)

    def read(self, position: int, size: int) -> bytes:
        for block in range(position // 4096, -(-(position + size) // 4096)):
            if block in self._blocks:
                raise ReadError("bad", position=max(position, block * 4096), path=self.name)
        return self._data[position : position + size]

    def window(self, position: int, size: int, _buffer: memoryview) -> bytes:
        return self.read(position, size)


@pytest.mark.parametrize("seed", range(30))
def test_blocks_that_cannot_be_read_are_stepped_over(seed, small_windows, monkeypatch):
    dice = Random(seed)
    data = haystack(seed + 1000)
    blocks = {dice.randrange(len(data) // 4096 + 1) for _ in range(dice.randrange(1, 5))}
    source = Unreadable(data, blocks)
    position = 1
    for _ in range(5):
        expected = by_expression(source, position, None, monkeypatch)
        found = by_machine_code(source, position, None, monkeypatch)
        assert (found and found.position) == (expected and expected.position)
        if expected is None:
            return
        position = expected.position + 1
