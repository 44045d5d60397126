"""Engine that runs tasks on Spark, locally or on a cluster, and the session that it has for them.

Strategy: one row a task, and one result of each that the driver collects: Spark repeats what fails, and gives
the result of one attempt. Rows of tables never go through Spark: tasks write files, and return their names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from kafka_segments import errors
from kafka_segments.core.io.jobs import Progress, RunnableTask
from kafka_segments.errors import KafkaFormatError, MissingExtraError, OutputError

__all__ = ["SparkEngine", "open_session"]

_POLL_SECONDS = 0.2
_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOGGING_OPTION = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
# No row passes through a JVM: it plans, starts Python workers, ends. To compile little saves seconds.
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SUBMITTED = (
    "PYSPARK_GATEWAY_PORT"  # spark-submit and hosts of notebooks give it to the Python that they start
)
_JAVA_REMEDY = (
    "install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; Fedora: dnf install "
    "java-21-openjdk-headless; macOS: brew install openjdk@21) and, if it is not on the PATH, set JAVA_HOME"
)

R = TypeVar("R")


class SparkEngine:
    """Runs tasks on Spark, which is started for them and stopped after them if it does not run yet.

    Args:
        master: see `open_session`. Executors on other machines must see the same files.

    Attributes:
        start_seconds: what the start of Spark took.
    """

    def __init__(self, master: str | None = None) -> None:
        self.start_seconds = 0.0
        self._master = master

    def run(self, tasks: Sequence[RunnableTask[R]], show: Progress | None = None) -> list[R]:
        """Run all tasks; return their results in order.

        Args:
            tasks: values that can be pickled.
            show: is called now and then.

        Raises:
            KafkaFormatError: what a task raised.
            MissingExtraError: no Java, or Spark does not start.
        """
        job = _Job(tasks, self._master, show)
        results = job.run()
        self.start_seconds = job.start_seconds
        return results


class _Job:
    """One run of tasks on Spark.

    All talk with the JVM is in threads of its own. An interrupt then finds the caller's thread at rest, and
    is not taken by Spark, which does so where it is started in the main thread. A JVM whose parent leaves
    while it starts would stay for ever: so it is let start, then stopped.
    """

    def __init__(self, tasks: Sequence[RunnableTask[Any]], master: str | None, show: Progress | None) -> None:
        self.start_seconds = 0.0
        self._tasks, self._master, self._show = tasks, master, show
        self._context: SparkContext | None = None
        self._num_done: Accumulator[int] | None = None
        self._num_bytes = sum(task.num_bytes for task in tasks)
        self._group = f"kafka-segments-{uuid.uuid4().hex}"
        self._is_cancelled = threading.Event()

    def run(self) -> list[Any]:
        """Do the job; an interrupt cancels it and is raised when Spark is down."""
        with ThreadPoolExecutor(2) as pool:
            job = pool.submit(self._start_and_collect)
            pool.submit(self._watch, job)
            try:
                wait([job])
            except BaseException:
                self._is_cancelled.set()
                raise
            return job.result()

    def _start_and_collect(self) -> list[Any]:
        started = time.monotonic()
        with open_session(self._master) as session:
            self.start_seconds = time.monotonic() - started
            if self._is_cancelled.is_set():
                return []
            try:
                return self._collect(session)
            except Exception as error:
                raise _our_error(error) from error

    def _collect(self, session: SparkSession) -> list[Any]:
        context = session.sparkContext
        context.setJobGroup(self._group, "kafka-segments ingest")
        # Spark adds what a task counts once, whatever number of attempts it has.
        self._num_done = context.accumulator(0)
        self._context = context
        run = partial(_run_all, self._num_done)
        return context.parallelize(self._tasks, len(self._tasks)).mapPartitions(run).collect()

    def _watch(self, job: Future[list[Any]]) -> None:
        """Show how far the job is; cancel it, again and again in case it is only about to begin."""
        while wait([job], timeout=_POLL_SECONDS).not_done:
            if self._context is None or self._num_done is None:
                continue
            with suppress(Exception):  # Spark is going down; the job itself says why
                if self._is_cancelled.is_set():
                    # A cancelled job makes Spark log errors, which are of no use to the user.
                    self._context.setLogLevel("OFF")
                    self._context.cancelJobGroup(self._group)
                elif self._show is not None:
                    self._show(self._num_done.value, self._num_bytes)
        if self._show is not None and job.exception() is None and self._tasks:
            self._show(self._num_bytes, self._num_bytes)


def _run_all(num_done: Accumulator[int], tasks: Iterable[RunnableTask[Any]]) -> Iterable[Any]:
    for task in tasks:
        yield task.run()
        num_done.add(task.num_bytes)


_RAISED = re.compile(r"^(?:pyspark\.\S+: )?kafka_segments\.errors\.(\w+): (.*)$", re.MULTILINE)
_CAUSE = re.compile(r"^(?:Caused by: )?((?:[A-Za-z_$][\w$]*\.)*\w*(?:Error|Exception)\b.*)$", re.MULTILINE)


def _our_error(error: Exception) -> KafkaFormatError:
    """The error of ours that a worker raised: what Spark hands on is the text of its traceback."""
    raised = _RAISED.findall(str(error))
    if not raised:
        lines = str(error).splitlines()[:3]
        causes = [cause for cause in _CAUSE.findall(str(error)) if cause not in lines]
        return OutputError(f"Spark's job failed: {' / '.join([*lines, *causes[-1:]])}")
    name, detail = raised[-1]
    kind = getattr(errors, name)
    own: KafkaFormatError = kind(detail)
    return own


@contextmanager
def open_session(master: str | None) -> Iterator[SparkSession]:
    """Start Spark and stop it at the end, or use the one that runs.

    A new one is quiet and without a web page; on this machine it listens on loopback only. Where Spark was
    there before (spark-submit, a notebook), its own settings count, and it is left running.

    Args:
        master: where: `local[*]`, `local-cluster[...]`, `spark://...`; None is that of spark-submit or of the
            session that there is, else `local[*]`.

    Raises:
        MissingExtraError: there is no Java, or Spark does not start with the one there is, or where it is to.
    """
    if master is None and _SUBMITTED in os.environ:
        yield _submitted()
        return
    master = master or "local[*]"
    session = _start(master, _find_java())
    try:
        yield session
    finally:
        session.stop()


def _submitted() -> SparkSession:
    try:
        return SparkSession.builder.appName("kafka-segments ingest").getOrCreate()
    except Exception as error:
        raise MissingExtraError(
            f"the Spark that started this process has no session: {_first_line(error)}",
            extra="spark",
        ) from error


def _start(master: str, java: str) -> SparkSession:
    # The workers must be this Python: `python3` on the PATH may be another, without our packages. Only a
    # cluster may have it elsewhere, and then its user has said where.
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.appName("kafka-segments ingest")
        .master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", " ".join([_LOGGING_OPTION, *_SHORT_LIVED]))
    )
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = (
            builder.config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.executor.extraJavaOptions", " ".join(_SHORT_LIVED))
        )
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise MissingExtraError(
            f"Spark does not start with {java} ({_version_of(java)}), where it needs 17 or newer, or with "
            f"the master {master}: {_first_line(error)}",
            extra="spark",
        ) from error


def _find_java() -> str:
    """The Java that Spark will take: that of JAVA_HOME, else the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise MissingExtraError(
            "Spark needs Java 17 or newer, which was not found: JAVA_HOME is not set, and no java is on "
            f"the PATH; {_JAVA_REMEDY}",
            extra="spark",
        )
    if not os.access(java, os.X_OK):
        raise MissingExtraError(
            f"Spark needs Java 17 or newer, but JAVA_HOME ({home}) has none; {_JAVA_REMEDY}", extra="spark"
        )
    return java


def _version_of(java: str) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return _first_line(error)
    return _first_line(done.stderr or done.stdout)


def _first_line(words: object) -> str:
    return next(iter(str(words).strip().splitlines()), "says nothing")
