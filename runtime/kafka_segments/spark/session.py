"""A Spark session for one job: that of the process that runs, or a new one.

Strategy: a new one is quiet and without a web page; on this machine it listens on loopback only. Where Spark
was there before (spark-submit, a notebook), its own settings count, and it is left running.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_segments.errors import MissingExtraError

__all__ = ["open_session"]

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


@contextmanager
def open_session(master: str | None) -> Iterator[SparkSession]:
    """Start Spark and stop it at the end, or use the one that runs.

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
