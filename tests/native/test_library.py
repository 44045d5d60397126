"""The library that a wheel carries: built the same each time, chosen by CPU, refused if it does not fit."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.native import kernels
from tools import machine_code
from tools.compiled_functions import functions, sources

from kafka_segments.core.native import library

ROOT = Path(__file__).resolve().parents[2]
SEGMENT = ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3" / "clean" / "codec-none-0"
FEW = r"log_segment\.scanner\.11$|kafka_record\.decoder\.1110110$|expander|fused_loop|expansion_loop"
"""What reading a segment of magic 2 needs."""
READ = """
import sys
import kafka_segments
print(kafka_segments.read_table(sys.argv[1]).num_rows, "numba" in sys.modules, "llvmlite" in sys.modules)
"""

pytest.importorskip("ziglang", reason="its LLD links libraries")

pytestmark = [
    pytest.mark.xdist_group("numba"),
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() not in library.LEVELS, reason="a library is for Linux"
    ),
]


def run(path: Path | str, kept: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (ROOT / "runtime", ROOT / "generated")))
    return subprocess.run(
        [sys.executable, "-c", READ, str(SEGMENT / "00000000000000000000.log")],
        env={
            **os.environ,
            "PYTHONPATH": paths,
            library.VARIABLE: str(path),
            "KAFKA_SEGMENTS_CACHE_DIR": str(kept),
        },
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of a few functions for this CPU."""
    machine = platform.machine()
    target = f"{machine}-{library.level_of(machine)}"
    return machine_code.build(tmp_path_factory.mktemp("library"), target, FEW)


def test_a_library_reads_without_numba_and_keeps_nothing(few, tmp_path):
    done = run(few, tmp_path / "kept")
    assert (done.returncode, done.stdout) == (0, "129 False False\n"), done.stderr
    assert done.stderr == ""
    assert not (tmp_path / "kept").exists()


def test_what_is_not_in_the_library_is_compiled(few, tmp_path, monkeypatch):
    monkeypatch.setenv(library.VARIABLE, str(few))
    library._loaded.cache_clear()
    try:
        assert library.address_of(kernels.bits, {"unused": False}) is None
        assert library.has_crc32c() in (True, False)
    finally:
        monkeypatch.undo()
        library._loaded.cache_clear()


@pytest.mark.long(short=False)
def test_the_variable_asks_for_compiling(tmp_path):
    done = run("jit", tmp_path / "kept")
    assert done.stdout == "129 True True\n"
    assert list((tmp_path / "kept").glob("*.o"))


def test_other_sources_are_refused_by_name(few, tmp_path):
    digest = library.digest(sources())
    data = few.read_bytes()
    assert data.count(digest.encode()) == 1
    other = tmp_path / "other.so"
    other.write_bytes(data.replace(digest.encode(), digest[::-1].encode()))
    sealed = hashlib.sha256(other.read_bytes()).hexdigest()
    library.digest_file(other).write_text(sealed)
    done = run(other, tmp_path / "kept")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "MachineCodeError" in last and str(other) in last and "made from sources other" in last
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("content", [b"", b"\x7fELF", None])
def test_what_is_no_library_is_refused(few, tmp_path, content):
    path = tmp_path / "bad.so"
    path.write_bytes(few.read_bytes()[:-1000] if content is None else content)
    library.digest_file(path).write_bytes(library.digest_file(few).read_bytes())
    done = run(path, tmp_path / "kept")
    assert done.returncode == 1
    assert "MachineCodeError" in done.stderr.splitlines()[-1] and "digest" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "kept").exists()


def test_a_library_that_is_missing_is_refused(tmp_path):
    done = run(tmp_path / "none.so", tmp_path / "kept")
    assert done.returncode == 1 and "MachineCodeError" in done.stderr.splitlines()[-1]


@pytest.mark.long(short=False)
def test_the_same_sources_give_the_same_bytes(tmp_path):
    made = [
        machine_code.build(tmp_path / name, target, "window_loop|index_loop").read_bytes()
        for target in ("x86_64-v3", "aarch64-v8")
        for name in ("one", "two")
    ]
    assert made[0] == made[1] != made[2] == made[3]


def test_each_function_has_a_symbol_of_its_own():
    symbols = [library.symbol_of(*function) for function in functions()]
    assert len(set(symbols)) == len(symbols) > 100


@pytest.mark.skipif(not os.environ.get(library.VARIABLE), reason="for make test-library")
def test_every_function_is_in_the_library():
    assert [one for one in functions() if library.address_of(*one) is None] == []


X86 = "fpu sse sse2"
V3 = f"{X86} avx avx2 bmi1 bmi2 f16c fma abm movbe popcnt sse4_2 pclmulqdq"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl vpclmulqdq"


@pytest.mark.parametrize(
    ("flags", "level"),
    [(X86, "v1"), (V3, "v3"), (V4, "v4"), (V4.replace("avx2", ""), "v1"), (V4.replace("avx512f", ""), "v3")],
)
def test_the_level_is_the_best_that_the_cpu_has(monkeypatch, flags, level):
    monkeypatch.setattr(library, "_features", lambda: frozenset(flags.split()))
    assert library.level_of("x86_64") == level
    assert library.level_of("aarch64") == "v8"
