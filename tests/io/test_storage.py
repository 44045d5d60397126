"""Sources: files, standard input, bytes, streams, maps; what cannot be read, and no more, is an error."""

from __future__ import annotations

import errno
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python import run_python

from kafka_segments.core.io.storage import BLOCK_SIZE, SourceLike, Window, open_source
from kafka_segments.errors import OptionError, ReadError

DATA = bytes(range(256)) * 64  # four blocks


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.log"
    path.write_bytes(DATA)
    return path


def break_blocks(monkeypatch: pytest.MonkeyPatch, *bad: int) -> list[tuple[int, int]]:
    """Let reads fail wherever they touch one of these blocks; returns the calls as they come."""
    true_pread: Callable[[int, int, int], bytes] = os.pread
    true_preadv: Callable[..., int] = os.preadv
    calls = []

    def touch(position: int, size: int) -> None:
        calls.append((position, size))
        blocks = range(position // BLOCK_SIZE, (position + size - 1) // BLOCK_SIZE + 1)
        if any(block in bad for block in blocks):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def pread(descriptor: int, size: int, position: int) -> bytes:
        touch(position, size)
        return true_pread(descriptor, size, position)

    def preadv(descriptor: int, views: list[memoryview], position: int, *flags: int) -> int:
        touch(position, sum(map(len, views)))
        return true_preadv(descriptor, views, position, *flags)

    monkeypatch.setattr(os, "pread", pread)
    monkeypatch.setattr(os, "preadv", preadv)
    return calls


def test_a_file_is_read_at_any_place(file: Path) -> None:
    source = open_source(file)
    assert (source.name, source.size) == (str(file), len(DATA))
    assert source.read(0, len(DATA)) == DATA
    assert source.read(5000, 3) == DATA[5000:5003]
    assert source.read(len(DATA), 0) == b""
    source.close()
    source.close()


def test_every_kind_of_source_gives_the_same_bytes(file: Path) -> None:
    with file.open("rb") as stream, file.open("rb", buffering=0) as raw:
        likes: list[SourceLike] = [file, str(file), DATA, bytearray(DATA), memoryview(DATA), io.BytesIO(DATA)]
        for source in map(open_source, [*likes, stream, raw]):
            assert source.size == len(DATA)
            assert bytes(source.read(100, 5000)) == DATA[100:5100]
            source.close()
        assert stream.read(1) == DATA[:1]


def test_a_map_is_made_on_request_only(file: Path) -> None:
    source = open_source(file, mmap=True)
    assert bytes(source.read(100, 5000)) == DATA[100:5100]
    source.close()
    empty = file.with_name("empty.log")
    empty.touch()
    assert open_source(empty, mmap=True).size == 0


def test_a_stream_in_the_middle_is_read_from_its_start() -> None:
    stream = io.BytesIO(DATA)
    stream.seek(9)
    assert open_source(stream).read(0, 2) == DATA[:2]


def test_a_pipe_is_copied(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    with open(reader, "rb") as stream:
        source = open_source(stream)
    assert source.read(1, 2) == b"bc"
    source.close()


@pytest.mark.parametrize("how", ["pipe", "file", "file, partly read"])
def test_standard_input(how: str, file: Path) -> None:
    code = (
        "from kafka_segments.core.io.storage import open_source\n"
        "source = open_source('-')\n"
        "print(source.name, source.size, bytes(source.read(2, 2)))"
    )
    with file.open("rb", buffering=0) as stream:
        if how == "file, partly read":
            stream.seek(2)
        given: dict[str, Any] = {"input": DATA} if how == "pipe" else {"stdin": stream}
        out = run_python("-c", code, text=False, **given).stdout
    start = 2 if how == "file, partly read" else 0
    assert out.decode() == f"- {len(DATA) - start} {DATA[start + 2 : start + 4]!r}\n"


def test_a_missing_path(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file or directory; check the path") as caught:
        open_source(tmp_path / "absent.log")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.path == str(tmp_path / "absent.log")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"Is a directory; give the \.log files in it") as caught:
        open_source(tmp_path)
    assert caught.value.errno == errno.EISDIR


def test_no_permission(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:  # the tests may run as root, to whom nothing is forbidden
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ReadError, match="Permission denied; run as a user who may read it") as caught:
        open_source(file)
    assert caught.value.errno == errno.EACCES


def test_what_is_no_source() -> None:
    with pytest.raises(OptionError, match="cannot open this int"):
        open_source(3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="null"):
        open_source("a\0b")


def test_a_bad_block_is_found_and_nothing_around_it_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_blocks(monkeypatch, 2)
    source = open_source(file)
    with pytest.raises(ReadError) as caught:
        source.read(10, len(DATA) - 10)
    assert caught.value.position == 2 * BLOCK_SIZE
    assert caught.value.errno == errno.EIO
    assert "[Errno 5] EIO" in caught.value.detail
    assert source.read(10, 2 * BLOCK_SIZE - 10) == DATA[10 : 2 * BLOCK_SIZE]
    assert source.read(3 * BLOCK_SIZE, BLOCK_SIZE) == DATA[3 * BLOCK_SIZE :]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.errno, copy.position, copy.path) == (errno.EIO, 2 * BLOCK_SIZE, str(file))


def test_a_read_inside_a_bad_block_fails_where_it_begins(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_blocks(monkeypatch, 1)
    with pytest.raises(ReadError) as caught:
        open_source(file).read(BLOCK_SIZE + 7, 3)
    assert caught.value.position == BLOCK_SIZE + 7


def test_an_error_that_goes_away_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_pread = os.pread
    failures = iter([True])

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if next(failures, False):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return true_pread(descriptor, size, position)

    monkeypatch.setattr(os, "pread", pread)
    assert open_source(file).read(1, 9000) == DATA[1:9001]


def test_short_and_interrupted_reads_go_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_pread = os.pread
    turns = iter(range(1_000_000))

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if next(turns) % 3 == 0:
            raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        return true_pread(descriptor, min(size, 1000), position)

    monkeypatch.setattr(os, "pread", pread)
    assert open_source(file).read(0, len(DATA)) == DATA


def test_a_file_that_shrinks(file: Path) -> None:
    source = open_source(file)
    os.truncate(file, 5000)
    assert source.read(0, 5000) == DATA[:5000]
    with pytest.raises(ReadError, match="shrank") as caught:
        source.read(0, len(DATA))
    assert caught.value.position == 5000


def test_streams_fail_as_files_do() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.ESTALE, "Stale file handle")

    with pytest.raises(ReadError, match="Stale") as caught:
        open_source(Broken(DATA)).read(3, 4)
    assert (caught.value.errno, caught.value.position) == (errno.ESTALE, 3)


def test_a_window_makes_one_call_of_many_reads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = break_blocks(monkeypatch)
    window = Window(open_source(file), 1000)
    for position in range(0, 900, 9):
        assert window.read(position, 9) == DATA[position : position + 9]
    assert window.read(100, 5000) == DATA[100:5100]
    assert window.read(0, 3) == DATA[:3]
    assert calls == [(0, 1000), (100, 5000), (0, 1000)]


def test_a_window_does_not_fail_for_a_block_that_nobody_asked_for(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_blocks(monkeypatch, 1)
    window = Window(open_source(file), 1 << 20)
    assert window.read(4000, 96) == DATA[4000:4096]
    assert window.read(4001, 95) == DATA[4001:4096]
    with pytest.raises(ReadError):
        window.read(4000, 97)
    assert window.read(8192, 100) == DATA[8192:8292]


def test_a_source_that_is_open_already_stays_the_callers(file: Path) -> None:
    own = open_source(file)
    lent = open_source(own)
    assert (lent.name, lent.size, lent.descriptor) == (str(file), len(DATA), own.descriptor)
    assert lent.read(100, 50) == DATA[100:150]
    assert bytes(lent.window(5, 7, memoryview(bytearray(7)))) == DATA[5:12]
    lent.close()
    assert own.read(0, 3) == DATA[:3]
    own.close()
