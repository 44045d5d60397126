"""Under valgrind: machine code and kept batches touch only heap blocks; unset bytes decide nothing."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python import environment
from tools import machine_code

from kafka_segments.core.native import library

ROOT = Path(__file__).resolve().parents[2]
FEW = r"log_segment\.scanner\.11$|record\.decoder\.(0000000|111011.)$|expander|fused_loop|expansion_loop"
LIFETIMES = "tests/segment/test_lifetimes.py::test_keep_all_close_compare"
FUSED = "tests/segment/test_fused_scan.py::test_an_arrow_batch_may_be_full_anywhere"
BEYOND = """
import numpy as np
from tests.columns import driver
from tests.made.build import batch, record
from kafka_segments_generated.columns import kafka_log_segment
whole = batch(0, [record(0, b"key", bytes(100))])
short = np.frombuffer(bytes(bytearray(whole[:-8])), np.uint8)
driver.scan(kafka_log_segment, np.lib.stride_tricks.as_strided(short, (len(whole),)), compiled=True)
"""

pytest.importorskip("ziglang", reason="its LLD links libraries")
pytestmark = [
    pytest.mark.long(short=False),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of what the tests need, for a level that valgrind has."""
    machine = platform.machine()
    target = f"{machine}-{library.level_of(machine)}".replace("v4", "v3")
    return machine_code.build(tmp_path_factory.mktemp("library"), target, FEW)


def found(code: Path, *words: str) -> list[str]:
    """Run Python; what valgrind says of the library and of pyarrow, not of the loader and of Python alone."""
    log = code.with_suffix(".log")
    heap = {"PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system", library.VARIABLE: str(code)}
    command = ["valgrind", "-q", "--num-callers=30", f"--log-file={log}", sys.executable, *words]
    subprocess.run(command, cwd=ROOT, env=environment(**heap), check=True)
    return [one for one in log.read_text().split("== \n") if code.name in one or "/pyarrow/" in one]


def test_a_read_beyond_the_callers_bytes_is_found(code: Path) -> None:
    assert any("Invalid read" in one for one in found(code, "-c", BEYOND))


def test_nothing_is_found(code: Path) -> None:
    assert found(code, "-m", "pytest", "-n", "0", "-p", "tests.native.heap_arenas", LIFETIMES, FUSED) == []
