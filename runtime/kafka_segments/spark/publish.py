"""From files that tasks wrote to a directory that is complete or not there at all.

Strategy: everything is written into a hidden sibling of the destination, on the same disk. When all tasks
are done, files that no commit message names (of attempts that were repeated) are removed, everything is
fsynced, and one rename makes the destination. The sibling holds a lock while its owner lives; what a
killed run left behind is swept by the next one with the same destination.

A topic's name as a directory's: readers guess the type of `topic` from all values together, and would make
numbers of topics called 007 and 123 if there were no others. `topic=(text)`, which no topic can be called,
then holds a Parquet file without rows, and the guess is text. It is added where no name settles the
question.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Sequence
from types import TracebackType

from kafka_segments.errors import OptionError, OutputError
from kafka_segments.logdir import log_dir_root
from kafka_segments.outputs import sync_directory
from kafka_segments.spark.report import PartitionReport

__all__ = ["TEXT_MARKER", "WorkDirectory", "check_destination", "is_surely_text", "partition_path", "publish"]

TEXT_MARKER = "(text)"
_NULL_TOPIC = "__HIVE_DEFAULT_PARTITION__"
_WORDS = frozenset(
    [
        "nan",
        "inf",
        "infinity",
        "true",
        "false",
        "null",
        "none",
        "na",
        "epoch",
        "now",
        "today",
        "tomorrow",
        "yesterday",
    ]
)


def partition_path(topic: str, partition: int) -> str:
    """The directory of a partition below the destination.

    Raises:
        OptionError: the one topic name that every reader takes for a null.
    """
    if topic == _NULL_TOPIC:
        raise OptionError(f"a topic named {topic} cannot be told from null in a partitioned directory")
    return f"topic={topic}/partition={partition}"


def is_surely_text(topic: str) -> bool:
    """Whether no reader can take the name for a number, a date, or another value that is not text.

    Example:
        >>> [name for name in ("007", "1e5", "NaN", "0x1F", "orders", "__state") if is_surely_text(name)]
        ['orders', '__state']
    """
    bare = topic.lstrip("_")
    return re.match("[A-Za-z]", bare) is not None and bare.lower() not in _WORDS


def check_destination(destination: str, sources: Sequence[str]) -> str:
    """The destination with links resolved.

    Raises:
        OptionError: it exists and is not an empty directory, or lies in (or is) a source.
        OutputError: it cannot be looked at.
    """
    resolved = os.path.realpath(destination)
    for source in sources:
        root = log_dir_root(source)
        if os.path.commonpath([root, resolved]) == root:
            raise OptionError(
                f"it lies in the source {root}, where nothing may be written; choose another",
                path=destination,
            )
    try:
        if os.path.lexists(resolved) and (not os.path.isdir(resolved) or os.listdir(resolved)):
            raise OptionError(
                "it exists and is not an empty directory; remove it or choose another", path=destination
            )
    except OSError as error:
        raise OutputError(f"{error.strerror or error}", path=destination) from error
    return resolved


class WorkDirectory:
    """The hidden sibling in which a destination is made; a context manager that removes it in the end.

    Attributes:
        path: of the directory.
    """

    def __init__(self, destination: str) -> None:
        parent, name = os.path.split(destination)
        prefix = f".{name[:100]}.ingest-"
        try:
            os.makedirs(parent, exist_ok=True)
            _sweep(parent, prefix)
            self.path = os.path.join(parent, prefix + uuid.uuid4().hex)
            os.mkdir(self.path)
            os.mkdir(data_path(self.path))
            self._lock = os.open(os.path.join(self.path, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
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
        with open(os.path.join(self.path, _REPORT), encoding="utf-8") as lines:
            return [PartitionReport.from_json(line) for line in lines]


_LOCK = "lock"
_REPORT = "report.jsonl"


def data_path(work: str) -> str:
    """Where in a work directory the tasks write."""
    return os.path.join(work, "data")


def publish(work: str, destination: str, files: Iterable[str], reports: Iterable[PartitionReport]) -> None:
    """Make the destination of the files named, and leave the reports in the work directory.

    Args:
        work: the work directory.
        destination: new, or an empty directory.
        files: what is to be in it, relative to `data_path(work)`; the rest is removed.
        reports: for `WorkDirectory.reports`.

    Raises:
        OutputError: it could not be written; then there is no destination.
    """
    data = data_path(work)
    try:
        _keep_only(data, set(files))
        with open(os.path.join(work, _REPORT), "w", encoding="utf-8") as lines:
            lines.writelines(report.to_json() + "\n" for report in reports)
        for directory, _, _ in os.walk(data):
            sync_directory(directory)
        os.rename(data, destination)
        sync_directory(os.path.dirname(destination))
    except OSError as error:
        raise OutputError(f"{error.strerror or error}", path=destination) from error


def _keep_only(data: str, files: set[str]) -> None:
    for directory, _, names in os.walk(data, topdown=False):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.relpath(path, data) not in files:
                os.unlink(path)
        if directory != data and not os.listdir(directory):
            os.rmdir(directory)


def _sweep(parent: str, prefix: str) -> None:
    """Remove what runs left behind that are no more: nobody holds their lock."""
    for name in os.listdir(parent):
        if not name.startswith(prefix):
            continue
        path = os.path.join(parent, name)
        try:
            lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or a run that is just beginning
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # it lives
        finally:
            os.close(lock)
