"""Kafka's own classes on the files of partitions' directories: see java/Beside.java."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.jvm import QUIET, compile_java, fetch_jars, java_command

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Recovered:
    """What a broker makes of a partition's records, and what a consumer of committed ones is given.

    Attributes:
        aborted: producer id, first offset, last offset, last stable offset of each.
        open: producer id and first offset of each.
        last_stable_offset: or the end of the log.
        committed: offsets.
    """

    aborted: list[tuple[int, ...]]
    open: list[tuple[int, ...]]
    last_stable_offset: int
    committed: list[int]


def ask(paths: Sequence[Path]) -> list[str]:
    """What Kafka says of files and directories."""
    jars = fetch_jars(HERE / "pom.xml")
    classes = compile_java(sorted((HERE / "java").glob("*.java")), jars)
    command, environment = java_command([classes, jars], *QUIET, "Beside")
    lines = "".join(f"{path}\n" for path in paths)
    result = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    answers = result.stdout.splitlines()
    assert len(answers) == len(paths), result.stderr
    return answers


def recover(folders: Sequence[Path], scratch: Path) -> list[Recovered | str]:
    """What Kafka makes of partitions, of which it gets the segments alone; an error as a text."""
    copies = []
    for number, folder in enumerate(folders):
        copy = scratch / f"{number}-{folder.name}"
        copy.mkdir(parents=True)
        for log in folder.glob("*.log"):
            shutil.copyfile(log, copy / log.name)
        copies.append(copy)
    return [_recovered(answer) for answer in ask(copies)]


def _recovered(answer: str) -> Recovered | str:
    if answer.startswith("error "):
        return answer
    aborted, still_open, last_stable_offset, committed = answer.split(";")
    return Recovered(
        rows(aborted),
        rows(still_open),
        int(last_stable_offset),
        [int(word) for word in committed.split(",") if word],
    )


def rows(answer: str) -> list[tuple[int, ...]]:
    """Lists of numbers."""
    return [tuple(int(word) for word in row.split()) for row in answer.split(",") if row]
