"""Reading past the page cache: the same bytes, no page brought in, and what fails is read the usual way."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.places.pagecache import drop, pages_of, warm

from kafka_segments.errors import ReadError, StoreError
from kafka_segments.io import direct_reads, page_cache, readahead
from kafka_segments.io.direct_reads import open_direct
from kafka_segments.io.filesystems import Places

ROOT = Path(__file__).resolve().parents[2]
SIZE = (9 << 20) + 12_345
DATA = random.Random(3).randbytes(SIZE)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="O_DIRECT and the page cache are Linux's")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("direct") / "00000000000000000000.log"
    path.write_bytes(DATA)
    drop(path)
    if any(pages_of(path)):
        pytest.skip("this file system keeps its pages, whatever it is asked (tmpfs?)")
    yield path


def opened(path: Path) -> readahead.AheadSource:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = open_direct(descriptor, str(path), path.stat().st_size, None)
    finally:
        os.close(descriptor)
    if found is None:
        pytest.skip("this file system knows no O_DIRECT")
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(
        st.tuples(st.integers(0, SIZE), st.sampled_from([0, 1, 61, 4096, 5000, 1 << 20, 5 << 20])), max_size=6
    )
)
def test_the_bytes_are_the_files_wherever_they_lie(file: Path, places: list[tuple[int, int]]) -> None:
    source = opened(file)
    buffer = memoryview(bytearray(5 << 20))
    for position, most in places:
        size = min(most, SIZE - position)
        assert source.window(position, size, buffer) == DATA[position : position + size]
    source.close()


def front_to_back(source: page_cache.TidySource | readahead.AheadSource, step: int = 1 << 20) -> None:
    buffer = memoryview(bytearray(step))
    for position in range(0, SIZE, step):
        size = min(step, SIZE - position)
        assert source.window(position, size, buffer) == DATA[position : position + size]


def test_nothing_is_brought_into_the_cache_not_even_for_a_while(file: Path) -> None:
    drop(file)
    source = Places().open(str(file))
    assert isinstance(source, page_cache.TidySource)
    front_to_back(source)
    assert source._direct is not None
    assert sum(pages_of(file)) == 0
    source.close()


def test_what_is_in_the_cache_is_read_from_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(file, 0, SIZE)
    monkeypatch.setattr(page_cache, "open_direct", lambda *arguments: pytest.fail("it was there"))
    source = Places().open(str(file))
    assert isinstance(source, page_cache.TidySource)
    front_to_back(source)
    source.close()


def test_half_a_file_in_the_cache_is_read_either_way(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(file, 0, 4 << 20)
    past: list[int] = []
    fetch = direct_reads._Blocks.fetch

    def noted(self: direct_reads._Blocks, position: int, view: memoryview) -> None:
        past.append(position)
        fetch(self, position, view)

    monkeypatch.setattr(direct_reads._Blocks, "fetch", noted)
    source = Places().open(str(file))
    assert isinstance(source, page_cache.TidySource)
    front_to_back(source)
    source.close()
    assert past and min(past) >= 4 << 20


@pytest.mark.parametrize("trouble", [errno.EINVAL, errno.EIO, "short"])
def test_what_fails_is_read_through_the_cache(
    file: Path, trouble: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    preadv = os.preadv

    def failing(descriptor: int, buffers: list[memoryview], position: int, *flags: int) -> int:
        if flags:  # somebody else's
            return preadv(descriptor, buffers, position, *flags)
        if isinstance(trouble, int):
            raise OSError(trouble, os.strerror(trouble))
        return preadv(descriptor, [buffers[0][:4096]], position)

    monkeypatch.setattr(direct_reads.os, "preadv", failing)  # type: ignore[attr-defined]
    drop(file)
    source = Places().open(str(file))
    assert isinstance(source, page_cache.TidySource)
    front_to_back(source)
    assert not source._may_go_direct
    source.close()


def test_a_file_that_shrinks_is_said_to(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(DATA)
    drop(path)
    source = Places().open(str(path))
    os.truncate(path, 1 << 20)
    with pytest.raises(ReadError, match="the file shrank while it was read"):
        source.read(2 << 20, 10)
    source.close()


def test_where_there_is_no_way_none_is_taken(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_reads, "_O_DIRECT", 0)
    drop(file)
    source = Places().open(str(file))
    assert isinstance(source, page_cache.TidySource)
    front_to_back(source)
    assert source._direct is None
    source.close()


STARVED = """
import sys
from tests import addresses
from kafka_segments.io.filesystems import Places
source = Places().open(sys.argv[1])
buffer, got = memoryview(bytearray(1 << 20)), 0
addresses.bound(int(sys.argv[2]) << 20)
while got < source.size:
    view = source.window(got, min(len(buffer), source.size - got), buffer)
    sys.stdout.buffer.write(view)
    got += len(view)
print(source._may_go_direct, file=sys.stderr)
"""


# Pieces take 4 MiB each, at most five; a thread 8 and more.
@pytest.mark.parametrize(
    ("mebibytes", "stays_direct"), [(2, "False"), (7, ""), (13, ""), (40, "True"), (200, "True")]
)
def test_where_addresses_are_limited_all_bytes_come(file: Path, mebibytes: int, stays_direct: str) -> None:
    opened(file).close()  # skips where O_DIRECT is not known
    drop(file)
    command = [sys.executable, "-c", STARVED, str(file), str(mebibytes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == DATA
    assert stays_direct in done.stderr.decode()


def test_nothing_stays_open_and_memory_is_used_again(file: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        source = opened(file)
        front_to_back(source)
        source.close()
    assert 1 <= len(readahead._spare[direct_reads._LEN_PIECE]) <= 5
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # one may still be reading ahead
    with pytest.raises(StoreError, match="closed"):
        source.read(0, 1)
