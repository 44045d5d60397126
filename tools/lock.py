"""Compile the hashed requirements in `locks/` from `pyproject.toml`. Run by `make lock`.

One resolution for every platform and Python from 3.11 up (`--universal`). `dev.txt` is compiled under
the pins of `run.txt`, so that it is a superset and `make run` after `make test` installs nothing.
No file names an address: a reader's own package index serves the same hashes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"

ALL = ["pyproject.toml", "--extra", "all"]
# name -> what goes in. The build backends come first: they build pyspark's sdist and the editable install.
TARGETS: dict[str, list[str]] = {
    "build": ["--group", "build"],
    "core": ["pyproject.toml", "-c", "locks/build.txt"],
    "run": [*ALL, "-c", "locks/build.txt", "-c", "locks/core.txt"],
    "dev": [*ALL, "--group", "dev", "-c", "locks/build.txt", "-c", "locks/run.txt"],
    "java": ["--group", "java"],
}
# One for each environment of tools/spark_versions.py: the pins of run but for pyspark's.
OTHER_PINS = "build/lock-pins.txt"
for _spark in ("spark-4.0.0", "spark-4.0", "spark-4.1", "spark-4.2"):
    TARGETS[_spark] = [*ALL, "--group", _spark, "-c", "locks/build.txt", "-c", OTHER_PINS]
# The lowest versions of what pyproject.toml names for use; of tests' tools those of dev.
TOOL_PINS = "build/lock-tools.txt"
TARGETS["lowest"] = [*ALL, "--group", "lowest", "--resolution=lowest-direct", "-c", TOOL_PINS]
FLAGS = [
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-strip-extras",
    "--custom-compile-command=make lock",
    "--quiet",
]


def clean_environment() -> dict[str, str]:
    """The environment without pip's and uv's settings: find-links, constraints, indexes of this machine.

    An index that stands in for PyPI (`PIP_INDEX_URL`) is kept: it may be the only one reachable.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    if "PIP_INDEX_URL" in os.environ:
        env["UV_DEFAULT_INDEX"] = os.environ["PIP_INDEX_URL"]
    return env


def pins_of(lock: str) -> list[str]:
    """The pins of a lock, without their hashes."""
    lines = (LOCKS / f"{lock}.txt").read_text().splitlines()
    return [line.removesuffix(" \\") for line in lines if re.match(r"[\w.-]+==", line)]


def write_pins(lock: str) -> None:
    """Write a lock's constraints: the pins of `run` without Spark's, or those of `dev` that `run` lacks."""
    run = pins_of("run")
    pins = {
        OTHER_PINS: [pin for pin in run if not pin.startswith(("pyspark==", "py4j=="))],
        TOOL_PINS: [pin for pin in pins_of("dev") if pin not in run],
    }
    for name in pins.keys() & TARGETS[lock]:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text("\n".join(pins[name]) + "\n")


def main() -> int:
    """Compile every lock; upgrade the pins with `--upgrade`, else keep those that still fit."""
    upgrade = ["--upgrade"] if "--upgrade" in sys.argv[1:] else []
    LOCKS.mkdir(exist_ok=True)
    for name, what in TARGETS.items():
        write_pins(name)
        compiler = [sys.executable, "-m", "uv", "pip", "compile"]
        command = [*compiler, *what, *FLAGS, *upgrade, "-o", f"locks/{name}.txt"]
        subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, stdout=subprocess.DEVNULL)
        pins = sum("==" in line for line in (LOCKS / f"{name}.txt").read_text().splitlines())
        print(f"locks/{name}.txt: {pins} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
