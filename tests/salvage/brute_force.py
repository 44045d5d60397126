"""Kafka's classes find every batch with a right checksum: see java/BruteForce.java."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.oracle import jvm

HERE = Path(__file__).resolve().parent
ORACLE = jvm.ROOT / "tests" / "oracle" / "pom.xml"


def found_in(paths: Sequence[Path]) -> list[list[tuple[int, int]]]:
    """Position and size of each batch in each file."""
    jars = jvm.fetch_jars(ORACLE)
    classes = jvm.compile_java([HERE / "java" / "BruteForce.java"], jars)
    command, environment = jvm.java_command([classes, jars], *jvm.QUIET, "BruteForce")
    lines = "".join(f"{path}\n" for path in paths)
    done = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, check=True, timeout=600
    )
    return [
        [(int(position), int(size)) for position, _, size in (pair.partition(":") for pair in line.split())]
        for line in done.stdout.splitlines()
    ]
