"""Small partitions made by hand, and what is read of them."""

from __future__ import annotations

from pathlib import Path

from tests.made.build import batch, record
from tests.query.splits import read, split_of, stored

from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.model import Split


def run(first: int, count: int, size: int = 5, **fields) -> bytes:
    """Batches of some records, from an offset on."""
    return b"".join(one(offset, size, **fields) for offset in range(first, first + count * size, size))


def one(offset: int, size: int = 5, **fields) -> bytes:
    records = [record(at, b"k%d" % (offset + at), b"v%d" % (offset + at)) for at in range(size)]
    return batch(offset, records, count=size, last_offset_delta=size - 1, **fields)


def write(directory: Path, base_offset: int, data: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"{base_offset:020}.log"
    path.write_bytes(data)
    return path


def offsets(split: Split, **how) -> tuple[list[int], Findings]:
    found, told = read(split, ("offset",), **how)
    return [row[0] for row in found], told


def losses(told: Findings) -> list[tuple[int, int]]:
    return [(one.first_offset, one.last_offset) for one in told.of(Kind.LOST)]


def partition(tmp_path: Path) -> Path:
    """A partition: offsets 0 to 99 in a segment, 100 to 199 in the next, 200 to 249 in the newest."""
    directory = tmp_path / "topic-3"
    write(directory, 0, run(0, 20))
    write(directory, 100, run(100, 20))
    write(directory, 200, run(200, 10))
    return directory


def planned(log: Path, base: int, start: int, end: int | None, **others) -> Split:
    return split_of(stored(log / f"{base:020}.log"), start, end, **others)
