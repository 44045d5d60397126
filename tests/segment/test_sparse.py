"""Zeros at the end of a file are found where they are, in holes and beside them, and holes are not read."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random

import pytest

from kafka_segments import Padding, open_segment
from kafka_segments.core.io.storage import Source, Window, open_source
from kafka_segments.core.segment.scan.entry_check import Probe, hole_before

_BLOCK = 64 << 10


def has_holes(folder: Path) -> bool:
    path = folder / "hole"
    with path.open("wb") as file:
        file.truncate(_BLOCK)
        try:
            os.lseek(file.fileno(), 0, os.SEEK_DATA)
        except OSError as error:
            return error.errno == errno.ENXIO
    return False


def zeros_position(source: Source) -> int:
    return Probe(source, Window(source)).zeros_position


def write_pieces(path: Path, dice: Random) -> bytes:
    """Holes, zeros that are written, and other bytes, in any order, some with another byte at an edge."""
    written = bytearray()
    with path.open("wb") as file:
        for _ in range(dice.randrange(6)):
            size = dice.choice((1, 100, _BLOCK, 3 * _BLOCK))
            kind = dice.choice(("hole", "hole", "zeros", "bytes", "byte at the end"))
            piece = bytearray(dice.randbytes(size) if kind == "bytes" else bytes(size))
            if kind == "byte at the end":
                piece[-1] = 1
            if kind == "hole":
                file.seek(size, os.SEEK_CUR)
            else:
                file.write(piece)
            written += piece
        file.truncate(len(written))
    return bytes(written)


@pytest.mark.parametrize("seed", range(60))
def test_zeros_begin_where_the_bytes_say_so(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = write_pieces(path, Random(seed))
    source = open_source(path)
    assert source.read(0, len(data)) == data
    assert zeros_position(source) == len(data.rstrip(b"\0")) == zeros_position(open_source(data))
    assert os.lseek(source.descriptor, 0, os.SEEK_CUR) == 0
    source.close()


def test_a_hole_of_32_gib_is_not_read(tmp_path: Path) -> None:
    if not has_holes(tmp_path):
        pytest.skip("the file system has no holes")
    path = tmp_path / "00000000000000000000.log"
    with path.open("wb") as file:
        file.truncate(32 << 30)
    with open_segment(path) as segment:
        (event,) = segment.iter_events()
    assert event == Padding(str(path), 0, 32 << 30)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_a_file_system_that_tells_nothing_is_read(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"x")
        file.truncate(2 * _BLOCK)
    source = open_source(path)

    def lseek(_descriptor: int, _position: int, _whence: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "lseek", lseek)
    assert hole_before(source, source.size) == source.size
    assert zeros_position(source) == 1
    source.close()


def test_a_file_stays_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"x" * 10)
        file.truncate(3 * _BLOCK)
    source = open_source(path)
    os.lseek(source.descriptor, 7, os.SEEK_SET)
    hole_before(source, source.size)
    assert os.lseek(source.descriptor, 0, os.SEEK_CUR) == 7
