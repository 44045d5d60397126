"""Whatever numba is told, and where it or llvmlite cannot be loaded: no process dies, and rows are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.forms import pick

# In one process: `sound` compiles.
pytestmark = pytest.mark.xdist_group("numba")

ROOT = Path(__file__).resolve().parents[2]
CLEAN = ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3" / "clean"
SEGMENT = CLEAN / "shapes-0" / "00000000000000000000.log"
READ = """
import sys
import kafka_segments
with kafka_segments.open_segment(sys.argv[1]) as segment:
    print(sum(batch.num_rows for batch in segment.read_batches(columns=["offset"])))
"""
CHECKSUMS = """
from tests.native import test_intrinsics
test_intrinsics.test_the_check_value_of_the_catalogues()
test_intrinsics.test_checksums_are_those_of_the_packages(True)
test_intrinsics.test_checksums_are_those_of_the_packages(False)
print("right")
"""
DUMP = """
import sys
from kafka_segments.core.segment.records import batch_records as records
from kafka_segments.cli import main
records._MANY = 0
sys.exit(main.main(["dump", "--format", "jsonl", sys.argv[1]]))
"""


def run(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (folder, ROOT / "runtime", ROOT / "generated", ROOT)))
    settings = {"PYTHONPATH": paths, "KAFKA_SEGMENTS_CACHE_DIR": str(folder / "kept")}
    return subprocess.run(
        [sys.executable, "-c", program, str(SEGMENT)],
        env={**os.environ, **settings, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


SETTINGS = [
    {"NUMBA_DISABLE_JIT": "1"},
    {"NUMBA_CPU_NAME": "generic"},
    {"NUMBA_BOUNDSCHECK": "1"},
    {"NUMBA_OPT": "0"},
    {"NUMBA_CPU_FEATURES": ""},
    {"NUMBA_ENABLE_AVX": "0"},
    {"NUMBA_DEBUGINFO": "1"},
    {"NUMBA_OPT": "max"},
]


@pytest.mark.long
@pytest.mark.parametrize("setting", pick(SETTINGS[:1], SETTINGS), ids=str)
def test_checksums_are_right_whatever_numba_is_told(tmp_path, setting):
    done = run(CHECKSUMS, tmp_path, **setting)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    again = run(CHECKSUMS, tmp_path, **setting)
    assert (again.returncode, again.stdout, again.stderr) == (0, "right\n", "")


@pytest.mark.long(short=False)
@pytest.mark.parametrize("setting", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=str)
def test_rows_come_whatever_numba_is_told(tmp_path, setting):
    done = run(READ, tmp_path, **setting)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_a_settings_file(tmp_path):
    """numba reads it from the working directory: another one there is another key."""
    (tmp_path / ".numba_config.yaml").write_text("cpu_name: generic\ncpu_features: ''\n")
    done = run(CHECKSUMS, tmp_path)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


BROKEN = {
    "llvmlite": 'raise OSError("Could not find/load shared object file")',
    "numba": 'raise ImportError("Numba needs NumPy 2.2 or less")',
}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path):
    """A folder with a package that is installed, and cannot be loaded."""
    package = tmp_path / request.param
    package.mkdir()
    (package / "__init__.py").write_text(BROKEN[request.param] + "\n")
    return request.param, tmp_path


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """What is dumped where all packages can be loaded."""
    return run(DUMP, tmp_path_factory.mktemp("sound"))


def test_dump_goes_the_slow_way_and_says_so(broken, sound):
    name, folder = broken
    done = run(DUMP, folder)
    assert done.returncode == 0, done.stderr
    assert "records are decoded one by one, which is slow" in done.stderr
    assert f"{name}, which cannot be loaded here" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == sound.stdout != ""


def test_steps_of_transactions_go_the_slow_way(broken):
    _, folder = broken
    program = "import sys\nfrom kafka_segments.cli import main\nsys.exit(main.main(['aborted', sys.argv[1]]))"
    done = run(program.replace("sys.argv[1]", repr(str(CLEAN / "transactions-0"))), folder)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr and done.stdout


def test_reading_into_arrow_says_what_is_broken(broken):
    name, folder = broken
    done = run(READ, folder)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("kafka_segments.errors.MissingExtraError: reading into Arrow needs " + name)
    assert "pip install --force-reinstall 'kafka-segments[arrow,jit]'" in last
