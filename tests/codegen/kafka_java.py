"""Kafka's own classes, for what the schemas say: how they read varints, and vectors that they write."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.oracle import jvm

JAVA = Path(__file__).with_name("java")
VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def read_varints(cases: Iterable[bytes]) -> list[tuple[str, str, str]]:
    """What ``ByteUtils`` reads from each case: varint, varlong, unsigned varint; see ReadVarints.java."""
    lines = _run("ReadVarints", input="".join(f"{case.hex()}\n" for case in cases)).splitlines()
    return [(signed, long, unsigned) for signed, long, unsigned in map(str.split, lines)]


def make_vectors(folder: Path) -> None:
    """Write the computed vectors below a folder; see MakeVectors.java."""
    _run("MakeVectors", str(folder))


def _run(name: str, *arguments: str, input: str = "") -> str:  # noqa: A002
    jars = jvm.fetch_jars(Path(jvm.__file__).with_name("pom.xml"))
    classes = jvm.compile_java([JAVA / f"{name}.java"], jars)
    command, environment = jvm.java_command([classes, jars], name, *arguments)
    done = subprocess.run(
        command, env=environment, input=input, stdout=subprocess.PIPE, check=True, encoding="utf-8"
    )
    return done.stdout


if __name__ == "__main__":
    make_vectors(VECTORS)
