"""Run the fast tests with the lowest versions that pyproject.toml allows, on Python 3.11.

A part of `make test-long`. The environment is `.cache/spark/lowest`, made from `locks/lowest.txt` by hash on
first use; the project itself is on the path, not installed. Further arguments go to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment, spark_versions  # noqa: E402  the root is no package
from tools.test import FAST  # noqa: E402

LEFT_OUT = ("house", "codegen", "spark", "bench", "bench_spark")
"""Folders whose tests are of this tree, of the generator, of Spark, of other packages."""


def main() -> int:
    """Make the environment, and run the tests in it."""
    try:
        python = spark_versions.python_of(spark_versions.LOWEST)
    except environment.SetupError as problem:
        raise SystemExit(f"lowest: {problem}") from None
    folders = os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "generated", "."))
    dropped = ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", FAST]
    command += [f"--ignore=tests/{folder}" for folder in LEFT_OUT]
    done = subprocess.run(
        [*command, *sys.argv[1:]], cwd=ROOT, env=kept | {"PYTHONPATH": folders}, check=False
    )
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
