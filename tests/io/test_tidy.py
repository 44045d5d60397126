"""Local files are read without leaving pages in the cache that were not there, and without losing any."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.io.pagecache import drop, pages_of, warm
from tests.python import run_python

from kafka_segments.core.io import local_files
from kafka_segments.core.io.file_source import FileSource
from kafka_segments.core.io.filesystem import PlacedSource, lend_file
from kafka_segments.core.io.filesystems import Places

PAGE = 4096
ROOT = Path(__file__).resolve().parents[2]
SIZE = 24 << 20
WINDOW = 4 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the page cache is Linux's")


def patiently(test: Callable[..., None]) -> Callable[..., None]:
    """Try up to three times: pages that the kernel is just reading or writing cannot be given up."""

    @functools.wraps(test)
    def attempts(*arguments: Any, **named: Any) -> None:
        for _ in range(2):
            with contextlib.suppress(AssertionError):
                return test(*arguments, **named)
        return test(*arguments, **named)

    return attempts


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("tidy") / "00000000000000000000.log"
    path.write_bytes(os.urandom(1 << 20) * (SIZE >> 20))
    drop(path)
    if any(pages_of(path)):
        pytest.skip("this file system keeps its pages, whatever it is asked (tmpfs?)")
    yield path


def tidied(source: Any) -> int | None:
    """Flags of reads by which pages are dropped; None if they stay."""
    assert isinstance(source, FileSource)
    return source._flags


def read_through(source: PlacedSource, end: int = SIZE) -> None:
    """As a scan does it: a look, then windows that begin a little before the last one's end."""
    buffer = memoryview(bytearray(WINDOW))
    source.window(0, 64 << 10, buffer)
    position = 60_000
    while position < end:
        size = min(WINDOW, end - position)
        assert len(source.window(position, size, buffer)) == size
        position += size if position + size >= end else size - 5_000


def read_half(source: PlacedSource) -> None:
    read_through(source, SIZE // 2)


def jump(source: PlacedSource) -> None:
    for position in (20 << 20, 3, 7 << 20, SIZE - 10, 6 << 20, 100):
        assert len(source.read(position, 10)) == 10


def read_lent(source: PlacedSource) -> None:
    """As compiled code does it, which reads windows of the descriptor, as far as the source was asked."""
    data, len_part = b"", 8 << 20
    for position in range(0, SIZE, len_part):
        descriptor = lend_file(source, position, len_part)
        for at in range(position, position + len_part, 256 << 10):
            data += os.pread(descriptor, 256 << 10, at)
    assert data == Path(source.name).read_bytes()


def read_past(source: PlacedSource) -> None:
    descriptor = lend_file(source, 0, SIZE)
    for position in range(0, SIZE, 1 << 20):
        os.pread(descriptor, 61, position)


BEFORE = {
    "nothing": (0, 0),
    "the first half": (0, SIZE // 2),
    "the second half": (SIZE // 2, SIZE),
    "five pages": (5 << 20, 5 * PAGE + (5 << 20)),
    "all": (0, SIZE),
}
WAYS = [("owner", way) for way in (read_through, read_half, jump, read_lent, read_past)]
WAYS += [("another user", read_through)]  # what is read ahead for him stays, and nothing is lent


@pytest.fixture
def places(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Places:
    if request.param == "another user":
        monkeypatch.setattr(local_files, "_may_know", lambda descriptor, status: False)
        if tidied(Places().open(__file__)) is None:
            pytest.skip("needs Linux 6.14, and a file system that knows RWF_DONTCACHE")
    return Places()


BY_ALL = pytest.mark.parametrize("places", ["owner", "another user"], indirect=True)


@pytest.mark.parametrize("cached", BEFORE)
@pytest.mark.parametrize(("places", "way"), WAYS, indirect=["places"])
@patiently
def test_the_cache_stays_as_it_was(
    file: Path, places: Places, cached: str, way: Callable[[PlacedSource], None]
) -> None:
    warm(file, *BEFORE[cached])
    before = pages_of(file)
    assert (sum(before) == 0, sum(before) == SIZE // PAGE) == (cached == "nothing", cached == "all")
    source = places.open(str(file))
    way(source)
    source.close()
    source.close()
    assert pages_of(file) == before


@patiently
def test_a_source_that_nobody_closed_leaves_nothing(file: Path) -> None:
    drop(file)
    source = Places().open(str(file))
    read_through(source, SIZE // 2)
    del source
    assert sum(pages_of(file)) == 0


@patiently
def test_pages_behind_the_reader_are_given_up_while_it_reads(file: Path) -> None:
    drop(file)
    source = Places().open(str(file))
    read_through(source, SIZE - WINDOW)
    pages = pages_of(file)
    assert not any(pages[: (SIZE - 4 * WINDOW) // PAGE])
    source.close()


@patiently
def test_another_users_file_is_not_lent(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_files, "_tidy_flags", lambda descriptor, status: local_files._DONTCACHE)
    source = Places().open(str(file))
    assert lend_file(source, 0, SIZE) == -1
    source.close()


@patiently
def test_on_request_the_cache_is_kept(file: Path) -> None:
    drop(file)
    source = Places(keep_cache=True).open(str(file))
    assert tidied(source) is None
    read_through(source)
    source.close()
    assert sum(pages_of(file)) == SIZE // PAGE


def test_only_a_regular_file_of_that_size_is_read_whole(tmp_path: Path, file: Path) -> None:
    places, view = Places(), memoryview(bytearray(10))
    small = tmp_path / "small"
    os.mkfifo(tmp_path / "pipe")
    for size in (9, 11):
        small.write_bytes(bytes(size))
        assert not places.read_whole(str(small), view)
    for other in (
        tmp_path,
        tmp_path / "pipe",
        tmp_path / "absent",
        Path("/dev/zero"),
    ):
        assert not places.read_whole(str(other), view)
    small.write_bytes(file.read_bytes()[:10])
    assert places.read_whole(str(small), view) and view == small.read_bytes()
    assert Places(keep_cache=True).read_whole(str(small), view)


@BY_ALL
def test_the_bytes_are_the_files(file: Path, places: Places) -> None:
    data = file.read_bytes()
    source = places.open(str(file))
    assert (source.size, source.name) == (SIZE, str(file))
    for position, size in ((0, 10), (4095, 2), (SIZE - 1, 1), (1 << 20, WINDOW), (77, 0)):
        assert source.read(position, size) == data[position : position + size]
        window = source.window(position, size, memoryview(bytearray(size)))
        assert window == data[position : position + size]
    source.close()


def test_a_read_that_fails_is_left_to_the_plain_source(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_asked: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    source = Places().open(str(file))
    assert tidied(source) is not None
    monkeypatch.setattr(local_files.os, "preadv", failing)  # type: ignore[attr-defined]
    read_through(source)
    source.close()
    assert Places().read_whole(str(file), memoryview(bytearray(SIZE)))
    monkeypatch.setattr(os, "pread", failing)
    assert not Places().read_whole(str(file), memoryview(bytearray(SIZE)))


STARVED = """
import sys
from tests import addresses
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.filesystem import lend_file
source = Places().open(sys.argv[1])
buffer, got = memoryview(bytearray(1 << 20)), 0
addresses.bound(int(sys.argv[2]) << 20)
while got < source.size:
    view = source.window(got, min(len(buffer), source.size - got), buffer)
    sys.stdout.buffer.write(view)
    got += len(view)
"""


@pytest.mark.parametrize("mebibytes", [2, 7, 40])
def test_where_addresses_are_limited_all_bytes_come(file: Path, mebibytes: int) -> None:
    drop(file)
    done = run_python("-c", STARVED, file, mebibytes, cwd=ROOT, text=False)
    assert done.stdout == file.read_bytes()


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, SIZE), (0, 3 << 20), (SIZE - PAGE, SIZE)])
def test_counting_and_listing_say_the_same(
    file: Path, start: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(file, start, end)
    counted = pages_of(file)
    monkeypatch.setattr(local_files, "_num_cached", lambda *_arguments: -1)
    assert pages_of(file) == counted
    assert sum(counted) == (end - start) // PAGE


def test_where_nothing_is_known_files_are_read_as_ever(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_files, "_may_know", lambda descriptor, status: False)
    monkeypatch.setattr(local_files, "_DONTCACHE", 1 << 30)  # no kernel knows it
    source = Places().open(str(file))
    assert tidied(source) is None
    assert source.read(0, 3) == file.read_bytes()[:3]
    source.close()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "darwin")
    source = Places().open(str(file))
    assert tidied(source) is None
    source.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@patiently
def test_as_a_user_who_may_only_read(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        shutil.copy(file, copy)
        os.chmod(folder, 0o755)
        os.chmod(copy, 0o644)
        drop(copy)
        os.seteuid(65534)
        try:
            source = Places().open(str(copy))
            flags = tidied(source)
            read_through(source)
            source.close()
        finally:
            os.seteuid(0)
        assert flags in (None, local_files._DONTCACHE)  # never by what mincore says
        assert flags is None or sum(pages_of(copy)) == 0
