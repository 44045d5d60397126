"""Environments with other Sparks than `.venv` has, and the Spark tests in them: `make test-spark-versions`.

`spark_versions.py [VERSION...] [-- ARGUMENT...]` runs `tests/spark` under each version (4.0, 4.1, 4.2), with
further arguments for pytest; the status is 1 where one failed. An environment is `.cache/spark/VERSION`,
made from `locks/spark-VERSION.txt` by hash on first use: a minute or two and 1 GB each. The project itself is
on the path, not installed. That of 4.0.0 is for Spark's own `kafka` source, whose jars are complete for it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment, java  # noqa: E402  the root is no package

FOLDER = ROOT / ".cache" / "spark"
VERSIONS = ("4.0", "4.1", "4.2")
CONNECTOR = "4.0.0"
STAMP = "kafka-segments.txt"
SUITE = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "spark", "tests/spark")


def lock_of(version: str) -> Path:
    """The hashed requirements of an environment."""
    return ROOT / "locks" / f"spark-{version}.txt"


def is_there(version: str) -> bool:
    """Whether an environment is made, and as its lock says."""
    stamp = FOLDER / version / STAMP
    return stamp.exists() and stamp.read_text(encoding="utf-8") == wanted_stamp(version)


def wanted_stamp(version: str) -> str:
    """What an environment is made from, as one word."""
    return environment.digest(ROOT / "locks" / "build.txt", lock_of(version))


def python_of(version: str) -> Path:
    """The interpreter of a version's environment, which is made first if it is not as its lock says.

    Raises:
        environment.SetupError: it could not be made; the message says why.
    """
    folder = FOLDER / version
    python = folder / "bin" / "python"
    with alone(FOLDER / f"{version}.lock"):
        if python.exists() and is_there(version):
            return python
        environment.say(
            f"making {folder.relative_to(ROOT)} from locks/{lock_of(version).name} (a minute or two)"
        )
        made = subprocess.run([environment.find_python(), "-m", "venv", "--clear", str(folder)], check=False)
        if made.returncode != 0:
            raise environment.SetupError(f"could not create the virtual environment {folder}")
        for lock in (ROOT / "locks" / "build.txt", lock_of(version)):
            environment.pip_install("--require-hashes", "-r", str(lock), python=python)
        (folder / STAMP).write_text(wanted_stamp(version), encoding="utf-8")
    return python


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes out while an environment is looked at or made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def variables(python: Path) -> dict[str, str]:
    """The environment variables that Spark needs to run with an interpreter, and to find our packages.

    Raises:
        environment.SetupError: there is no Java for it.
    """
    found = java.find()
    if found is None:
        raise environment.SetupError(java.BY_HAND.splitlines()[0])
    kept = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "VIRTUAL_ENV")}
    return kept | {
        "JAVA_HOME": str(java.spark_home(found)),
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "generated", ".")),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def run_suite(version: str, arguments: Sequence[str]) -> tuple[int, float]:
    """Run the Spark tests under a version; status and seconds."""
    python = python_of(version)
    started = time.monotonic()
    command = [str(python), *SUITE, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=variables(python), stdin=subprocess.DEVNULL, check=False)
    return done.returncode, time.monotonic() - started


def main(arguments: list[str]) -> int:
    """Run the suite under each version, and say at the end how each did."""
    versions, further = arguments, []
    if "--" in arguments:
        place = arguments.index("--")
        versions, further = arguments[:place], arguments[place + 1 :]
    unknown = sorted(set(versions) - {*VERSIONS, CONNECTOR})
    if unknown:
        raise SystemExit(
            f"spark_versions: no such version: {', '.join(unknown)} (there are {', '.join(VERSIONS)})"
        )
    results = {}
    for version in versions or VERSIONS:
        environment.say(f"== Spark {version}")
        try:
            results[version] = run_suite(version, further)
        except environment.SetupError as problem:
            raise SystemExit(f"spark_versions: {problem}") from None
    for version, (status, seconds) in results.items():
        environment.say(
            f"Spark {version}: {'passed' if status == 0 else f'FAILED ({status})'} in {seconds:.0f} s"
        )
    return 1 if any(status for status, _ in results.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
