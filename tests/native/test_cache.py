"""Compiled decoders are kept, found again, shared between processes, and never taken from a bad place."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafka_segments.core.native import cache

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import numpy as np
from kafka_segments.core.native.engine import load_decoder
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
    assert err.count("\n") == 1 and "compiling decoders" in err and "kept" in err and "make wheels" in err
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
    assert "in every process" in err
    assert "KAFKA_SEGMENTS_CACHE_DIR='/proc/nowhere' is not used" in err


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """Two folders: the one that is asked for, and the one behind it."""
    cache.say.cache_clear()
    first, second = tmp_path / "chosen", tmp_path / "behind"
    monkeypatch.setenv("KAFKA_SEGMENTS_CACHE_DIR", str(first))
    monkeypatch.setenv("XDG_CACHE_HOME", str(second))
    yield first, second / "kafka-segments"
    cache.say.cache_clear()


def path_used() -> Path | None:
    with cache.opened() as folder:
        return folder and folder.path


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707])
def test_a_folder_that_others_can_write_is_told_and_not_used(chosen, capfd, mode):
    first, second = chosen
    first.mkdir()
    first.chmod(mode)
    assert path_used() == path_used() == second
    said = capfd.readouterr().err
    assert said.count("\n") == 1, "told once"
    assert f"KAFKA_SEGMENTS_CACHE_DIR='{first}' is not used" in said
    assert f"mode {mode:04o}" in said and "chmod go-w" in said
    first.chmod(0o700)
    assert path_used() == first
    assert capfd.readouterr().err == ""


def test_a_default_folder_that_others_can_write_is_told_too(chosen, capfd, monkeypatch, tmp_path):
    _, second = chosen
    monkeypatch.delenv("KAFKA_SEGMENTS_CACHE_DIR")
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    second.mkdir(parents=True)
    second.chmod(0o770)
    assert path_used() == tmp_path / f"kafka-segments-{os.geteuid()}"
    assert f"{second} is not used" in capfd.readouterr().err


def test_a_link_is_told_and_not_used(chosen, capfd, tmp_path):
    first, second = chosen
    (tmp_path / "elsewhere").mkdir()
    first.symlink_to(tmp_path / "elsewhere")
    assert path_used() == second
    assert "it is a symbolic link" in capfd.readouterr().err


def test_names_that_are_none(chosen, capfd, monkeypatch):
    _, second = chosen
    monkeypatch.setenv("KAFKA_SEGMENTS_CACHE_DIR", "/proc/nowhere")
    assert path_used() == second
    assert "KAFKA_SEGMENTS_CACHE_DIR='/proc/nowhere' is not used" in capfd.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_others_is_told_and_not_used(chosen, capfd):
    first, second = chosen
    first.mkdir(mode=0o700)
    os.chown(first, 12345, -1)
    assert path_used() == second
    assert "belongs to another user (uid 12345)" in capfd.readouterr().err
    os.chown(first, 0, -1)
    with cache.opened() as folder:
        folder.write("key", b"code")
        assert folder.read("key") == b"code"
        os.chown(first / "key.o", 12345, -1)
        assert folder.read("key") is None
    assert "key.o is not used as machine code: it belongs to another user" in capfd.readouterr().err


def test_a_folder_that_is_swapped_after_it_was_judged(chosen, tmp_path):
    """Whoever can rename the folder puts another one under its name: what was opened stays in use."""
    first, _ = chosen
    with cache.opened() as folder:
        folder.write("key", b"ours")
        content = (first / "key.o").read_bytes()
        first.rename(tmp_path / "moved")
        first.mkdir()
        (first / "key.o").write_bytes(content.replace(b"ours", b"evil"))
        (first / "other.o").write_bytes(content)
        assert folder.read("key") == b"ours"
        assert folder.read("other") is None
        folder.write("new", b"ours")
        with folder.lock("new"):
            pass
    assert sorted(path.name for path in first.iterdir()) == ["key.o", "other.o"]
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["key.o", "new.lock", "new.o"]


def test_a_file_that_others_can_write_or_a_link_is_not_used(chosen, capfd, tmp_path):
    first, _ = chosen
    with cache.opened() as folder:
        for key in ("shared", "linked", "fifo"):
            folder.write(key, b"code")
        (first / "shared.o").chmod(0o620)
        (first / "linked.o").rename(tmp_path / "linked.o")
        (first / "linked.o").symlink_to(tmp_path / "linked.o")
        (first / "fifo.o").unlink()
        os.mkfifo(first / "fifo.o")
        assert [folder.read(key) for key in ("shared", "linked", "fifo")] == [None] * 3
        assert "shared.o is not used as machine code: others can write" in capfd.readouterr().err
        folder.write("shared", b"code")  # replaced, not written to
        assert folder.read("shared") == b"code"


def test_a_full_disk_leaves_nothing(chosen, monkeypatch):
    first, _ = chosen

    def replace(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", replace)
    with cache.opened() as folder:
        folder.write("key", b"code")
        assert folder.read("key") is None
    assert list(first.iterdir()) == []


def test_no_home_and_no_temporary_folder(monkeypatch):
    def no_home(_self):
        raise RuntimeError("Could not determine home directory.")

    def no_temporary():
        raise FileNotFoundError(2, "No usable temporary directory found")

    for name in ("KAFKA_SEGMENTS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "expanduser", no_home)
    monkeypatch.setattr(cache.tempfile, "gettempdir", no_temporary)
    assert path_used() is None


def test_a_lock_that_is_held_is_waited_for_with_a_word_and_an_end(chosen, capfd, monkeypatch):
    first, _ = chosen
    monkeypatch.setattr(cache, "_SILENT_WAIT", 0.1)
    monkeypatch.setattr(cache, "_LONGEST_WAIT", 0.3)
    with cache.opened() as folder, folder.lock("key"):
        began = time.monotonic()
        with folder.lock("key"):
            waited = time.monotonic() - began
        with folder.lock("another"):
            pass
    assert waited >= 0.3
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "waiting for another process" in lines[0] and "not waiting any longer" in lines[1]
    assert all(str(first / "key.lock") in line for line in lines)


def test_a_closed_standard_error(chosen, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    cache.say("nobody hears this")
