"""Compiled decoders are kept, found again, shared between processes, and never taken from a bad place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_segments.native import cache

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import numpy as np
from kafka_segments.native.engine import load_decoder
from tests.native import kernels
decoder = load_decoder(kernels.bits, unused=False)
table = decoder.new_table()
bitmap, numbers = np.full(8, 255, np.uint8), np.array([3], np.int64)
table.set("bitmap", bitmap.ctypes.data, 8)
table.set("numbers", numbers.ctypes.data, 1)
decoder(table)
print(bitmap[0], "numba" in sys.modules)
"""


def start(environment: dict[str, str]) -> subprocess.Popen[str]:
    paths = os.pathsep.join(map(str, (ROOT / "runtime", ROOT / "generated", ROOT)))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(environment: dict[str, str]) -> tuple[str, str]:
    process = start(environment)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def objects(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.o"))


def test_the_second_process_needs_no_numba(tmp_path):
    here = {"KAFKA_SEGMENTS_CACHE_DIR": str(tmp_path / "kept")}
    out, err = run(here)
    assert out == "247 True"
    assert err.count("\n") == 1 and "compiling decoders" in err and "kept" in err
    assert run(here) == ("247 False", "")


def test_several_processes_compile_once(tmp_path):
    here = {"KAFKA_SEGMENTS_CACHE_DIR": str(tmp_path)}
    processes = [start(here) for _ in range(4)]
    results = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(out.strip() for out, _ in results) == ["247 False"] * 3 + ["247 True"]
    assert sum("compiling" in err for _, err in results) == 1
    assert len(objects(tmp_path)) == 1


@pytest.mark.parametrize(
    "edit", [lambda data: data[:-1], lambda data: data[:40] + b"\0" + data[41:], lambda _: b""]
)
def test_a_damaged_file_is_compiled_anew(tmp_path, edit):
    here = {"KAFKA_SEGMENTS_CACHE_DIR": str(tmp_path)}
    run(here)
    (kept,) = objects(tmp_path)
    good = kept.read_bytes()
    kept.write_bytes(edit(good))
    assert run(here)[0] == "247 True"
    assert kept.read_bytes() == good


def test_a_read_only_installation_and_home(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    if os.access(home, os.W_OK):
        home = Path("/proc/nowhere")  # for root every folder can be written
    here = {"HOME": str(home), "XDG_CACHE_HOME": "", "KAFKA_SEGMENTS_CACHE_DIR": "", "TMPDIR": str(temporary)}
    assert run(here)[0] == "247 True"
    assert run(here) == ("247 False", "")
    assert len(objects(temporary / f"kafka-segments-{os.getuid()}")) == 1


def test_nowhere_to_keep_anything(tmp_path):
    here = {
        "HOME": "/proc/nowhere",
        "XDG_CACHE_HOME": "",
        "KAFKA_SEGMENTS_CACHE_DIR": "/proc/nowhere",
        "TMPDIR": str(tmp_path),
    }
    (tmp_path / f"kafka-segments-{os.getuid()}").write_text("in the way")
    out, err = run(here)
    assert out == "247 True"
    assert "for want of a directory" in err


def test_a_directory_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    other = tmp_path / "other"
    monkeypatch.setenv("KAFKA_SEGMENTS_CACHE_DIR", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(other))
    cache.directory.cache_clear()
    try:
        assert cache.directory() == other / "kafka-segments"
        link = tmp_path / "link"
        link.symlink_to(other)
        monkeypatch.setenv("KAFKA_SEGMENTS_CACHE_DIR", str(link))
        cache.directory.cache_clear()
        assert cache.directory() == other / "kafka-segments"
    finally:
        cache.directory.cache_clear()
