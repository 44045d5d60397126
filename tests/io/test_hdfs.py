"""HDFS through `pyarrow`: here it is a directory, as there is no name node."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafka_segments import open_segment
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import ReadError, StoreError

fs = pytest.importorskip("pyarrow.fs")
CLEAN = Path(__file__).resolve().parents[1] / "vectors/recorded/kafka-4.3/clean"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    (tmp_path / "logs").symlink_to(CLEAN)
    directory = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(fs, "HadoopFileSystem", lambda **_arguments: directory)
    return Places({"dfs.some.password": "shapes"})


def test_what_is_there_is_listed_and_read(places: Places) -> None:
    local = Places()
    for name in ("", "/shapes-0", "/shapes-0/"):
        found, expected = places.entries(f"hdfs://node/logs{name}"), local.entries(f"{CLEAN}{name}")
        assert [(one.name, one.is_directory, one.size) for one in found] == [
            (one.name, one.is_directory, one.size) for one in expected
        ]
    path = f"hdfs://node/logs/shapes-0/{0:020}.log"
    listed, source = places.entry(path), places.open(path)
    assert listed is not None and (listed.path, listed.identity) == (source.name, source.identity)
    with open_segment(source) as segment, open_segment(CLEAN / "shapes-0" / f"{0:020}.log") as own:
        assert segment.read_batches().read_all() == own.read_batches().read_all()
    source.close()


def test_what_is_not_there(places: Places) -> None:
    missing = "hdfs://node/logs/none"
    assert places.entry(missing) is None
    for ask in (places.entries, places.open):
        with pytest.raises(ReadError, match="does not exist") as caught:
            ask(missing)
        assert (caught.value.path, caught.value.errno) == (missing, errno.ENOENT)
    with pytest.raises(ReadError, match="this is a directory"):
        places.open("hdfs://node/logs/")


def test_a_file_that_shrinks_is_no_damage(places: Places, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100_000))
    source = places.open("hdfs://node/file")
    os.truncate(tmp_path / "file", 10)
    with pytest.raises(StoreError, match="overwritten") as caught:
        source.read(0, 100_000)
    assert caught.value.path == "hdfs://node/file"


def test_other_errors_are_those_of_the_store(places: Places) -> None:
    with pytest.raises(StoreError, match="the store failed") as caught:
        places.entries(f"hdfs://node/logs/shapes-0/{0:020}.log")
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "***-0" in caught.value.detail
