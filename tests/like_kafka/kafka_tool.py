"""DumpLogSegments of Kafka 4.3.1 and `dump --like-kafka`, run many times each in one process."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.oracle import jvm
from tests.recording import server

from kafka_segments.cli.main import main

HERE = Path(__file__).resolve().parent
POM = Path(server.__file__).parent / "brokers" / "k4" / "pom.xml"


@dataclass(frozen=True)
class Ran:
    """What one run printed, and its exit status."""

    status: int
    out: bytes
    err: str


def kafka(runs: Sequence[Sequence[str]], cwd: Path) -> list[Ran]:
    """Kafka's tool for each of some lists of arguments, all in one JVM; files are relative to `cwd`."""
    jars = jvm.fetch_jars(POM)
    classes = jvm.compile_java([HERE / "java" / "Dumps.java"], jars)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs_file = folder / "runs"
        runs_file.write_text("".join("\t".join(run) + "\n" for run in runs), encoding="utf-8")
        options = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-Dlog4j2.level=OFF")
        command, environment = jvm.java_command([classes, jars], *options, "Dumps", str(runs_file), scratch)
        result = subprocess.run(
            command, env=environment | {"LC_ALL": "C.UTF-8"}, cwd=cwd, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return [
            Ran(
                int((folder / f"{number}.status").read_text()),
                (folder / f"{number}.out").read_bytes(),
                (folder / f"{number}.err").read_text(encoding="utf-8"),
            )
            for number in range(len(runs))
        ]


def ours(arguments: Sequence[str], cwd: Path) -> Ran:
    """`kafka-segments dump --like-kafka` with some arguments, in a folder."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["dump", "--like-kafka", *arguments])
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Ran(status, out.buffer.getvalue(), err.getvalue())
