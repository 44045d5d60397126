"""Files of this machine by path and by address, what a listing says of them, and what fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError, ReadError


@pytest.fixture(params=[True, False])
def places(request: pytest.FixtureRequest) -> Places:
    return Places(keep_cache=request.param)


def test_entries_are_what_is_there(tmp_path: Path, places: Places) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    (tmp_path / "a").mkdir()
    found = places.entries(str(tmp_path))
    assert [(entry.name, entry.is_directory, entry.size) for entry in found] == [
        ("a", True, 0),
        ("b", False, 5),
    ]
    assert found[1] == places.entry(str(tmp_path / "b"))
    assert found[1].modified_ns == (tmp_path / "b").stat().st_mtime_ns
    assert places.entries(f"file:{tmp_path}")[1].identity == found[1].identity
    assert places.entries(f"file://{tmp_path}")[1].path == str(tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"12345"])
def test_the_identity_is_that_of_the_open_file(tmp_path: Path, places: Places, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    listed = places.entry(str(path))
    assert listed is not None
    source = places.open(str(path))
    (tmp_path / "y").write_bytes(b"another")
    os.replace(tmp_path / "y", path)
    assert source.identity == listed.identity
    assert source.read(0, len(content)) == content  # the open file is the old one
    assert places.open(str(path)).identity != listed.identity
    source.close()
    source.close()


def test_what_is_not_there(tmp_path: Path, places: Places) -> None:
    missing = str(tmp_path / "none")
    assert places.entry(missing) is None
    for ask in (places.entries, places.open):
        with pytest.raises(ReadError) as caught:
            ask(missing)
        assert (caught.value.errno, caught.value.path) == (errno.ENOENT, missing)
    with pytest.raises(ReadError):
        places.open(str(tmp_path))


def test_a_file_that_shrinks_is_told_where_it_ends(tmp_path: Path, places: Places) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 100_000)
    source = places.open(str(path))
    os.truncate(path, 5_000)
    with pytest.raises(ReadError, match="shrank"):
        source.window(0, 100_000, memoryview(bytearray(100_000)))
    source.close()


def test_a_name_with_a_colon_is_a_path(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("topic:1").write_bytes(b"x")
    assert places.open("topic:1").read(0, 1) == b"x"
    with pytest.raises(OptionError, match="no file system"):
        places.open("topic:/1")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path, places: Places) -> None:
    pipe = tmp_path / f"{0:020}.log"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/null"):
        with pytest.raises(ReadError, match="instead of a file"):
            places.open(path)
