"""One Spark session for all of these tests, and one of a Connect server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_segments.spark.task_engine import SparkEngine

ROOT = Path(__file__).resolve().parents[2]
MASTER = "KAFKA_SEGMENTS_TEST_MASTER"
"""Names another master than local[2], or the address of a server of Spark Connect."""
NO_FILTERS = "Spark 4.0 hands no filters to a Python data source, and has no classes for them"
PYTHONPATH = os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "generated", "."))

# Read when grpc is first used. With it on, a child that a client of Connect forks, as the one that becomes a
# JVM, starts gRPC's threads again, whose files are closed by then: one in a hundred aborts (grpc/grpc#43055).
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"


@pytest.fixture(scope="session")
def workers_path() -> None:
    """Let Spark's Python workers find the packages without an installation."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PYTHONPATH, os.environ.get("PYTHONPATH")]))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def spark(workers_path: None) -> Iterator[SparkSession]:
    """A session with two tasks at a time; rows are compared in UTC."""
    from kafka_segments.spark.task_engine import open_session

    master = os.environ.get(MASTER, "local[2]")
    with remote_session(master) if master.startswith("sc://") else open_session(master) as session:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine of `ingest` use the session of these tests."""
    from kafka_segments.spark import task_engine

    @contextmanager
    def shared(_master: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(task_engine, "open_session", shared)


@pytest.fixture
def engine(shared_session: None) -> SparkEngine:
    """The engine of `ingest`, with the session of these tests."""
    from kafka_segments.spark.task_engine import SparkEngine

    return SparkEngine()


@contextmanager
def remote_session(address: str) -> Iterator[SparkSession]:
    """A client's session of a Connect server."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    # SparkSession.builder.remote refuses where a session of the other kind is in the process.
    session = ConnectSession.builder.remote(address).create()
    try:
        yield session  # type: ignore[misc]
    finally:
        session.stop()


@pytest.fixture(scope="session")
def connect_address(workers_path: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server that is a process of its own."""
    from tests.spark import connect_server

    with connect_server.serving(tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture(scope="session")
def connect(connect_address: str) -> Iterator[SparkSession]:
    """A session of the Connect server."""
    with remote_session(connect_address) as session:
        yield session
