"""Which recorded files a test reads in every run: a third of them. The others are read in `make test-long`.

A file is read in every run if an entry of it, or its end, is the first of its sort in its recording. A magic,
a codec and flags make a sort of entry; ends are whole, cut, preallocated. Of the others every fourth is read.
Of files with the same bytes the first alone counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
_EVERY = 4
_LEN_OVERHEAD = 12
_AT_MAGIC, _AT_ATTRIBUTES, _AT_ATTRIBUTES_2 = 16, 17, 21
_MESSAGE_BITS, _BATCH_BITS = 0x0F, 0x7F


def _sorts(data: bytes) -> Iterator[object]:
    """What entries there are, by magic and attributes, and how the file ends."""
    at = 0
    while at + _AT_ATTRIBUTES_2 + 2 <= len(data):
        size = struct.unpack_from(">i", data, at + 8)[0]
        if size <= 0:
            yield "zeros"
            return
        magic = data[at + _AT_MAGIC]
        yield (
            (magic, struct.unpack_from(">h", data, at + _AT_ATTRIBUTES_2)[0] & _BATCH_BITS)
            if magic == 2
            else (magic, data[at + _AT_ATTRIBUTES] & _MESSAGE_BITS)
        )
        at += _LEN_OVERHEAD + size
    yield ("empty" if not data else "whole" if at == len(data) else "cut", at > 100_000)


@cache
def in_every_run() -> frozenset[str]:
    """The names of files below the recordings that are read in every run."""
    seen: set[object] = set()
    contents: set[bytes] = set()
    found: list[str] = []
    others = 0
    files = (
        path for path in RECORDED.rglob("*") if path.suffix in (".log", ".checkpoint") and path.is_file()
    )
    for path in sorted(files):
        data = path.read_bytes()
        recording = path.relative_to(RECORDED).parts[:2]
        news = {(recording, path.suffix), *((recording, one) for one in _sorts(data))} - seen
        is_copy = data in contents
        seen |= news
        contents.add(data)
        others += not news and not is_copy
        if news or (not is_copy and others % _EVERY == 0):
            found.append(path.relative_to(RECORDED).as_posix())
    return frozenset(found)


def sampled(values: Iterable[Path] | Iterable[str]) -> list[ParameterSet]:
    """Parameters of a test: recorded files, or partitions with any such file, by path or by name."""
    found = []
    for value in values:
        name = value.relative_to(RECORDED).as_posix() if isinstance(value, Path) else value
        is_there = name in in_every_run() or any(one.startswith(f"{name}/") for one in in_every_run())
        found.append(pytest.param(value, id=name, marks=() if is_there else pytest.mark.long(short=False)))
    return found
