"""Hidden work directory of a destination, and removal of those that killed runs left.

Strategy: the directory lies beside the destination, on the same disk, so that one rename publishes. A lock on
a file in it says that its owner lives. What a killed run (SIGKILL, power cut) left is removed by the next one
in the same place: it locks each such directory, and one that it could lock has no owner. A run
may be killed before it has made the file, so the next one makes it. A run whose directory is swept before it
could lock it makes another one.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
from types import TracebackType

from kafka_segments.errors import OutputError
from kafka_segments.spark.report import PartitionReport

__all__ = ["REPORT", "WorkDirectory", "data_path"]

REPORT = "report.jsonl"
_LOCK = "lock"
_NAME = re.compile(r"\..*\.ingest-[0-9a-f]{32}", re.DOTALL)
_MOST_NAME_BYTES = 200  # of the destination's name, so that the whole stays below 255


class WorkDirectory:
    """The hidden sibling in which a destination is made; a context manager that removes it in the end.

    Args:
        destination: a path without links.

    Attributes:
        path: of the directory.
        swept: directories of runs that were killed, which it has removed.

    Raises:
        OutputError: nothing can be written beside the destination.
    """

    def __init__(self, destination: str) -> None:
        parent, name = os.path.split(destination)
        try:
            os.makedirs(parent, exist_ok=True)
            self.swept = _sweep(parent)
            self.path, self._lock = _create(parent, name)
        except OSError as error:
            raise OutputError(
                f"cannot write beside it: {error.strerror or error}", path=destination
            ) from error

    def __enter__(self) -> WorkDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def reports(self) -> list[PartitionReport]:
        """What `publish` left here for the one who asked for the job."""
        with open(os.path.join(self.path, REPORT), encoding="utf-8") as lines:
            return [PartitionReport.from_json(line) for line in lines]


def data_path(work: str) -> str:
    """Where in a work directory the tasks write."""
    return os.path.join(work, "data")


def _create(parent: str, name: str) -> tuple[str, int]:
    """A new directory, and its lock."""
    short = os.fsdecode(os.fsencode(name)[:_MOST_NAME_BYTES])
    while True:
        path = os.path.join(parent, f".{short}.ingest-{uuid.uuid4().hex}")
        os.mkdir(path)
        try:
            lock = _hold(path)
            if lock is not None:
                os.mkdir(data_path(path))
                return path, lock
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def _hold(path: str) -> int | None:
    """Lock a directory; return None if another process has locked or removed it."""
    name = os.path.join(path, _LOCK)
    try:
        lock = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.stat(name), os.fstat(lock)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _sweep(parent: str) -> list[str]:
    """Remove what killed runs left, whatever their destination was called; returns what was removed."""
    swept = []
    for entry in os.scandir(parent):
        if not _NAME.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        try:
            lock = _hold(entry.path)
        except OSError:
            continue  # another user's
        if lock is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(lock)
            if not os.path.lexists(entry.path):
                swept.append(entry.path)
    return swept
