"""A warm worker: zip files are read again only when they have changed, and then they are."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
import zipfile
import zipimport
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_segments.spark import worker


def write(path: Path, **modules: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in modules.items():
            archive.writestr(f"{name}.py", text)
    os.utime(path, ns=(0, sum(map(len, modules)) * 10**9))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A zip file on the path, from which something has been imported."""
    path = tmp_path / "of_a_job.zip"
    write(path, first_of_job="value = 1")
    monkeypatch.syspath_prepend(str(path))
    assert importlib.import_module("first_of_job").value == 1
    yield path
    for name in ("first_of_job", "second_of_job"):
        sys.modules.pop(name, None)
    sys.path_importer_cache.pop(str(path), None)


def test_an_archive_is_read_again_when_it_has_changed_and_only_then(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_is_settled", False)
    monkeypatch.setattr(worker.gc, "freeze", lambda: None)  # type: ignore[attr-defined]
    worker.tune_worker()
    finder = sys.path_importer_cache[str(archive)]
    assert isinstance(finder, zipimport.zipimporter)
    asked: list[str] = []
    own = zipimport.zipimporter.invalidate_caches

    def noted(self: zipimport.zipimporter) -> None:
        asked.append(self.archive)
        own(self)

    fresh = zipimport.zipimporter(str(archive))
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", noted)
    worker._read_when_changed(fresh)
    monkeypatch.setitem(sys.path_importer_cache, str(archive), fresh)
    importlib.invalidate_caches()
    assert str(archive) not in asked
    assert importlib.util.find_spec("second_of_job") is None

    write(archive, first_of_job="value = 1", second_of_job="value = 2")
    importlib.invalidate_caches()
    assert asked.count(str(archive)) == 1
    assert importlib.import_module("second_of_job").value == 2
    importlib.invalidate_caches()
    assert asked.count(str(archive)) == 1

    archive.unlink()
    importlib.invalidate_caches()
    assert asked.count(str(archive)) == 2, "what is not there is asked for as ever"


def test_a_worker_settles_down_once(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(worker, "_is_settled", False)
    monkeypatch.setattr(worker.gc, "freeze", lambda: frozen.append(1))  # type: ignore[attr-defined]
    worker.tune_worker()
    worker.tune_worker()
    assert frozen == [1]
    finder = sys.path_importer_cache[str(archive)]
    assert "invalidate_caches" in vars(finder)


ROOT = Path(__file__).resolve().parents[2]
THREADS = """
import sys, threading
from tests import addresses
from kafka_segments.spark import worker
if sys.argv[1] != "unlimited":
    addresses.bound(4 << 30)
if sys.argv[1] != "as it is":
    worker.settle_down()
threading.stack_size(1 << 20)
go_on, before = threading.Event(), addresses.taken()
barrier = threading.Barrier(5)
def work():
    held = bytearray(2000)
    barrier.wait()
    go_on.wait()
for _ in range(4):
    threading.Thread(target=work).start()
barrier.wait()
print(addresses.taken() - before >> 20)
go_on.set()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries reserve nothing for threads")
def test_threads_take_few_addresses_where_these_are_limited() -> None:
    def mebibytes(how: str) -> int:
        command = [sys.executable, "-c", THREADS, how]
        return int(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)

    assert mebibytes("as it is") >= 4 * 64
    assert mebibytes("unlimited") >= 4 * 64, "nobody else's memory is touched"
    assert mebibytes("limited") < 64
