"""Runs that are killed: `run_killed` starts this file, a command in a process that kills itself at a point.

Arguments of the process: the point, then those of the command. A point is named in `POINTS`, `STORE_POINTS`
or `OF_ICEBERG`, or is a number of seconds.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from tests.python import run_python

from kafka_segments.cli.main import main
from kafka_segments.core.io import stored_objects
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs import local_table_files, table_files
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.tables.table_base import ParquetTable

# What is run under nohup has its children ignore SIGHUP, and what a shell puts into the background SIGINT.
HEEDING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""The beginning of a program that signals end as they end one that a user has started."""


@contextmanager
def no_file_above(num_bytes: int) -> Iterator[None]:
    """Let the system refuse to write larger files, as a full disk does, down to what a buffer holds back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def run_killed(point: str, *words: object) -> int:
    """Run the command in a process that is killed; returns how it ended."""
    return run_python("-m", "tests.ingest.killed", point, *words, status=None, timeout=120).returncode


def die(*_arguments: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(function: Callable[..., Any], number: int = 1) -> Callable[..., Any]:
    """The function, which kills the process when it is called for the nth time."""
    left = [number]

    @wraps(function)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            die()
        return function(*arguments, **more)

    return wrapped


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which kills the process when it has returned."""

    @wraps(function)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        found = function(*arguments, **more)
        die()
        return found

    return wrapped


def _patch(owner: Any, name: str, wrap: Callable[..., Callable[..., Any]], *more: int) -> Callable[[], None]:
    return lambda: setattr(owner, name, wrap(getattr(owner, name), *more))


POINTS: dict[str, Callable[[], None]] = {
    "the first file is begun": _patch(ParquetFile, "write", before),
    "a file is half written": _patch(ParquetFile, "_finish", before, 2),
    "the tasks are done": _patch(LocalEngine, "run", after),
    "before the commit": _patch(RunLog, "create", before),
    "the commit is made": _patch(RunLog, "create", after),
    "the first file is published": _patch(local_table_files.os, "rename", before, 2),
    "some files are published": _patch(local_table_files.os, "rename", before, 3),
    "everything is published": _patch(ParquetTable, "publish", after),
    "in the sweep": _patch(local_table_files.shutil, "rmtree", before),
}

_Files, _Objects = table_files.StoredTableFiles, stored_objects.StoredObjects
STORE_POINTS: dict[str, Callable[[], None]] = {
    "a file is half written": POINTS["a file is half written"],
    "in an upload": _patch(stored_objects.ObjectOutput, "_send", before, 2),
    "an upload is about to end": _patch(stored_objects.ObjectOutput, "finish", before),
    "the tasks are done": POINTS["the tasks are done"],
    "before the commit": POINTS["before the commit"],
    "the commit is made": POINTS["the commit is made"],
    "the first file is copied": _patch(_Objects, "_copy", after),
    "some files are copied": _patch(_Objects, "_copy", before, 3),
    "all files are copied": _patch(_Objects, "copy_all", after),
    "all copies are removed": _patch(_Files, "publish", after),
    "in the sweep of the store": _patch(_Files, "remove_tree", before),
}
"""Those of a run into a store, some of which are also those of any run."""


def _iceberg(wrap: Callable[..., Callable[..., Any]]) -> None:
    from pyiceberg.table import Transaction

    _patch(Transaction, "commit_transaction", wrap)()


OF_ICEBERG: dict[str, Callable[[], None]] = {
    "before the Iceberg transaction": lambda: _iceberg(before),
    "after the Iceberg transaction": lambda: _iceberg(after),
}
"""For a table that is there already, whose creation is a transaction of its own."""


def kill_later(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        die()

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    point = sys.argv[1]
    points = POINTS | STORE_POINTS | OF_ICEBERG
    if point in points:
        points[point]()
    else:
        kill_later(float(point))
    sys.exit(main(sys.argv[2:]))
