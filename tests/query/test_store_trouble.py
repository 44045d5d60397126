"""A store that stops answering, at whatever moment: its error, or the same rows; never others."""

from __future__ import annotations

import errno
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.log.memory import MemoryPlaces
from tests.query import logs
from tests.query.logs import RECORDED, Entry
from tests.query.splits import rows

from kafka_segments.core.io.filesystem import FileEntry as Listed
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import (
    CorruptIndexError,
    KafkaFormatError,
    ReadError,
    StoreError,
    raise_unless_file_at_fault,
)
from kafka_segments.log import segment_extents
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Condition, Limits, Query, at_offsets, at_timestamp
from kafka_segments.query.read.split_reader import Reading, read_split

WAYS: dict[str, tuple[type[KafkaFormatError], str, int]] = {
    "expired": (StoreError, "the token has expired", errno.EACCES),
    "silent": (StoreError, "did not answer completely", errno.ETIMEDOUT),
    "not allowed": (ReadError, "is it readable for this user?", errno.EACCES),
}
RANGE = at_offsets({("t", 0): 11}), at_offsets({("t", 0): 97})
QUERIES = {
    "everything": Query(),
    "cut": Query(limits=Limits(max_partition_bytes=700)),
    "counted": Query(limits=Limits(max_records=20)),
    "a range": Query(start=RANGE[0], end=RANGE[1]),
    "beyond the end": Query(end=at_offsets({("t", 0): 10_000}), fail_on_data_loss=False),
    "times": Query(start=at_timestamp(40), end=at_timestamp(90)),
    "conditions": Query(conditions=(Condition("timestamp", 40, 90),), max_timestamp_skew_ms=10),
    "committed": Query(isolation="read_committed", limits=Limits(max_records=20)),
}


class Failing(MemoryPlaces):
    """Files far away. The request number `at` fails, and, if it `lasts`, all behind it; -1 fails never.

    Attributes:
        num_asked: requests so far.
    """

    def __init__(self, files: dict[str, bytes], way: str = "expired", at: int = -1, *, lasts: bool) -> None:
        super().__init__(files)
        self.num_asked = 0
        self._way, self._at, self._lasts = way, at, lasts

    def ask(self, path: str, *, is_read: bool = False) -> None:
        kind, text, code = WAYS[self._way]
        if is_read and kind is ReadError:
            return  # who may open a file may read it
        at, self.num_asked = self.num_asked, self.num_asked + 1
        if at == self._at or (self._lasts and at > self._at >= 0):
            raise kind(text, errno=code, path=path)

    def entries(self, directory: str) -> list[Listed]:
        self.ask(directory)
        return super().entries(directory)

    def entry(self, path: str) -> Listed | None:
        self.ask(path)
        return super().entry(path)

    def open(self, path: str, end: int | None = None) -> Any:
        self.ask(path)
        return Far(super().open(path), self)


class Far:
    """A source of which each read is a request."""

    descriptor = -1
    is_memory = False

    def __init__(self, source: Source, places: Failing) -> None:
        self._source, self._places = source, places
        self.name, self.size, self.close = source.name, source.size, source.close
        self.identity = f"{source.size}:0"

    def read(self, position: int, size: int) -> bytes | memoryview:
        self._places.ask(self.name, is_read=True)
        return self._source.read(position, size)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        self._places.ask(self.name, is_read=True)
        return self._source.window(position, size, buffer)


@cache
def files(kind: str) -> dict[str, bytes]:
    """Two copies of a partition: one has damage, and a shorter log."""
    with TemporaryDirectory() as folder:
        if kind == "transactions":
            path = RECORDED / "kafka-4.3" / "clean" / "transactions-0"
        else:
            entries = [Entry("create2", (at, at + at % 7)) for at in range(60)]
            path = logs.write(Path(folder), entries, segment_bytes=3000, interval=100)
        found = {f"{path.name}/{file.name}": file.read_bytes() for file in sorted(path.iterdir())}
    found["log-start-offset-checkpoint"] = b"0\n1\n" + f"{path.name[:-2]} 0 2\n".encode()
    segments = [name for name in found if name.endswith(".log")]
    other = {name: data for name, data in found.items() if not name.startswith(segments[-1][:-4])}
    damaged = bytearray(found[segments[0]])
    damaged[200] ^= 1
    return {f"m:/a/{name}": data for name, data in (found | {segments[0]: bytes(damaged)}).items()} | {
        f"m:/b/{name}": data for name, data in other.items()
    }


def read(query: Query, planning: Places, reading: Places) -> list[Any]:
    segment_extents._kept.clear()  # what was found the last time would not be asked for again
    made = plan(resolve(planning, discover(planning, ["m:/a", "m:/b"])), query, planning)
    found: list[Any] = []
    for task in made.tasks:
        for split in task:
            told = Findings()
            how = Reading(("offset", "timestamp", "value"), is_best=True)
            found += rows(list(read_split(split, reading, how, told)))
            assert not told.of(Kind.DAMAGE) and not told.of(Kind.LOST)
    return found


# In every run each query meets one of the two errors of stores; in make test-long both.
TROUBLES = [
    pytest.param(
        name,
        way,
        id=f"{name}-{way}",
        marks=pytest.mark.long(short=False) if way == ("expired", "silent")[number % 2] else (),
    )
    for number, name in enumerate(QUERIES)
    for way in WAYS
]


@pytest.mark.parametrize(("name", "way"), TROUBLES)
def test_its_error_or_the_same_rows(name: str, way: str) -> None:
    query = QUERIES[name]
    stored = files("transactions" if name == "committed" else "times")
    whole = Failing(stored, way, lasts=False)
    expected = read(query, whole, MemoryPlaces(stored) if way == "not allowed" else whole)
    assert expected
    num_errors = 0
    for lasts in (False, True):
        for at in range(whole.num_asked):
            places = Failing(stored, way, at, lasts=lasts)
            try:
                found = read(query, places, MemoryPlaces(stored) if way == "not allowed" else places)
            except KafkaFormatError as error:
                assert WAYS[way][1] in str(error), error
                num_errors += 1
            else:
                assert found == expected
    assert num_errors > 1.9 * whole.num_asked


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.EMFILE])
def test_what_says_nothing_of_a_file_is_not_passed_over(code: int) -> None:
    error = ReadError("cannot be loaded", errno=code)
    with pytest.raises(ReadError) as caught:
        raise_unless_file_at_fault(error)
    assert caught.value is error
    with pytest.raises(StoreError):
        raise_unless_file_at_fault(StoreError("gone", errno=errno.ENOENT))


def test_what_a_file_is_like_is_passed_over() -> None:
    for error in (
        CorruptIndexError("wrong"),
        ReadError("it is gone", errno=errno.ENOENT),
        ReadError("a bad sector", errno=errno.EIO, position=4096),
    ):
        raise_unless_file_at_fault(error)
