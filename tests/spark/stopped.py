"""Run by test_stopped: `ingest` with an executor that stops in a file and goes on after the commit.

Arguments: the source, the destination, a directory for marks, options of `ingest`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kafka_segments.cli.main import main
from kafka_segments.ingest import job
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.task import Output, WriteTask
from kafka_segments.spark import task_engine
from kafka_segments.spark.task_engine import open_session

MASTER = "local-cluster[2,1,1024]"
MARKS = "KAFKA_SEGMENTS_MARKS"
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class StoppingTask(WriteTask):
    """As `WriteTask`, but the first attempt of all stops its executor and itself when a file is begun."""

    def run(self) -> Output:
        marks = Path(os.environ[MARKS])
        try:
            (marks / "first").touch(exist_ok=False)
        except FileExistsError:
            return WriteTask.run(self)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its daemon sends it on leaving
        real = ParquetFile.write

        def write(file: ParquetFile, batch: Any) -> None:
            real(file, batch)
            ParquetFile.write = real  # type: ignore[method-assign]
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            (marks / "pids").write_text(f"{executor} {os.getpid()}")
            os.kill(executor, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)

        ParquetFile.write = write  # type: ignore[method-assign]
        output = WriteTask.run(self)
        (marks / "straggler").write_text("\n".join(file.path for file in output.files))
        return output


def go_on(marks: Path) -> None:
    """Let the stopped attempt go on, wait until it has written its files, and end its executor."""
    executor, worker = map(int, (marks / "pids").read_text().split())
    os.kill(worker, signal.SIGCONT)
    end = time.monotonic() + _SECONDS
    while not (marks / "straggler").exists() and time.monotonic() < end:
        time.sleep(0.1)
    for pid in (worker, executor):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run(source: str, destination: str, marks: Path, options: list[str]) -> int:
    os.environ[MARKS] = str(marks)
    timeouts = {"spark.network.timeout": "15s", "spark.executor.heartbeatInterval": "2s"}
    for name, value in {**timeouts, f"spark.executorEnv.{MARKS}": str(marks)}.items():
        SparkSession.builder.config(name, value)
    with open_session(MASTER) as spark:

        @contextmanager
        def shared(_master: str) -> Iterator[SparkSession]:
            yield spark

        task_engine.open_session = shared  # type: ignore[assignment]
        job.WriteTask = StoppingTask  # type: ignore[misc]
        status = main(["ingest", *options, source, destination, "--master", MASTER])
        (marks / "status").write_text(str(status))
        go_on(marks)
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:]))
