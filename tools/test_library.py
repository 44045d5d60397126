"""Run tests of reading and writing against the library of this machine's wheel: `make test-library`.

Numba stays importable: some tests compile functions of their own. That every function of the project comes
from the library is a test itself (tests/native/test_library). Further arguments go to pytest.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.test import FAST  # noqa: E402
from tools.wheels import libraries  # noqa: E402

from kafka_segments.core.native.library import VARIABLE, file_name, level_of  # noqa: E402  the root is no package

FOLDERS = (
    "bounds",
    "codecs",
    "columns",
    "fuzz",
    "properties",
    "query",
    "search",
    "segment",
    "write",
)


def main() -> int:
    """Build the library, and run the tests with it."""
    machine = platform.machine()
    level = level_of(machine)
    path = libraries(machine, (level,)) / file_name(machine, level)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-m", FAST]
    command += ["tests/native/test_library.py", *(f"tests/{folder}" for folder in FOLDERS)]
    environment = {**os.environ, VARIABLE: str(path), "KAFKA_SEGMENTS_CHECK_BOUNDS": ""}
    return subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
