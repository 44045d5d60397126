"""Environments with other Sparks than `.venv` has, and the Spark tests in them: `make test-spark-versions`.

`spark_versions.py [VERSION...] [-- ARGUMENT...]` runs `tests/spark` under each version (4.0, 4.1, 4.2), with
further arguments for pytest, and says at the end how many passed; the status is 1 where one failed. An
environment is `.cache/spark/VERSION`, made from `locks/spark-VERSION.txt` by hash on first use: a minute or
two and 1 GB each. The project itself is on the path, not installed. That of 4.0.0 is for Spark's own `kafka`
source, whose jars are complete for it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment, extras, java  # noqa: E402  the root is no package

FOLDER = ROOT / ".cache" / "spark"
VERSIONS = ("4.0", "4.1", "4.2")
CONNECTOR = "4.0.0"
LOWEST = "lowest"
"""The environment of tools/lowest.py: Spark 4.0.0, and the lowest versions of all other dependencies."""
STAMP = "kafka-segments.txt"
SUITE = ("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests/spark")


class Result(NamedTuple):
    """How the tests did under one version; nothing is counted where pytest did not come to its end."""

    status: int
    seconds: float
    counts: str

    def line(self, version: str) -> str:
        """The words for it at the end."""
        word = "passed" if self.status == 0 else f"FAILED ({self.status})"
        return f"Spark {version}: {word} in {self.seconds:.0f} s: {self.counts}"


def lock_of(version: str) -> Path:
    """The hashed requirements of an environment."""
    return ROOT / "locks" / (f"{LOWEST}.txt" if version == LOWEST else f"spark-{version}.txt")


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
        chosen = extras.interpreter((3, 11)) if version == LOWEST else environment.find_python()
        if chosen is None:
            raise environment.SetupError("there is no Python 3.11 on the PATH, the lowest that is supported")
        made = subprocess.run([chosen, "-m", "venv", "--clear", str(folder)], check=False)
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
    # Without bytecode every worker compiles our modules, as it would not where they are installed.
    dropped = ("SPARK_HOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {
        "JAVA_HOME": str(java.spark_home(found)),
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "generated", ".")),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def run_suite(version: str, arguments: Sequence[str]) -> Result:
    """Run the Spark tests under a version."""
    python = python_of(version)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        report = Path(work) / "report.xml"
        command = [str(python), *SUITE, f"--junit-xml={report}", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=variables(python), stdin=subprocess.DEVNULL, check=False)
        return Result(done.returncode, time.monotonic() - started, counts_of(report))


def counts_of(report: Path) -> str:
    """How many tests passed, failed, could not be run, were skipped, from pytest's report in JUnit's XML."""
    suite = ElementTree.parse(report).find("testsuite") if report.exists() else None
    if suite is None:
        return "pytest told nothing"
    tests, *others = (int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped"))
    counts = zip((tests - sum(others), *others), ("passed", "failed", "errors", "skipped"), strict=True)
    return ", ".join(f"{count} {name}" for count, name in counts if count or name == "passed")


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
    for version, result in results.items():
        environment.say(result.line(version))
    return 1 if any(result.status for result in results.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
