"""Kafka's own reading of segment files: `python tests/oracle/run.py [--out DIR] FILE...`.

Prints the batch and record lines of the JSON Lines contract for every FILE, or with `--out DIR` writes those
of FILE to DIR/FILE.jsonl. Exit status 1 where Kafka threw: its messages are on standard error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Run as a script: the project root holds `tests`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.oracle import jvm

HERE = Path(__file__).resolve().parent


def oracle(
    files: Sequence[str], *, out: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the Java program over files, all in one JVM.

    Args:
        files: paths as they shall stand in the lines, relative to `cwd`.
        out: folder for one file of lines per input; None gathers all lines in the result's `stdout`.
        cwd: where relative paths begin; None is the current folder.
    """
    jars = jvm.fetch_jars(HERE / "pom.xml")
    classes = jvm.compile_java(sorted((HERE / "java").glob("*.java")), jars)
    options = [] if out is None else ["--out", str(out.resolve())]
    command, environment = jvm.java_command([classes, jars], *jvm.QUIET, "Oracle", *options, *files)
    return subprocess.run(
        command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
    )


def main(arguments: list[str]) -> int:
    """The command line."""
    if missing := jvm.missing_tools():
        print(missing, file=sys.stderr)
        return 2
    out = None
    if arguments[:1] == ["--out"]:
        out, arguments = Path(arguments[1]), arguments[2:]
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    result = oracle(arguments, out=out)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
