"""From files that tasks wrote to a directory that is complete or not there at all.

Strategy: everything is written into a hidden sibling of the destination, on the same disk. When all tasks
are done, files that no commit message names (of attempts that were repeated) are removed, everything is
fsynced, and one rename makes the destination.

A topic's name as a directory's: readers guess the type of `topic` from all values together, and would make
numbers of topics called 007 and 123. The first character of a name that could be taken for a number or a date
is percent-encoded (`topic=%3007`): Spark guesses from the encoded name, and decodes it afterwards. What other
readers do is in docs/decisions/0011.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from kafka_segments.errors import OptionError, OutputError
from kafka_segments.io.outputs import sync_directory
from kafka_segments.log.log_dir import log_dir_root
from kafka_segments.spark.report import PartitionReport
from kafka_segments.spark.work import REPORT, data_path

__all__ = ["check_destination", "is_surely_text", "partition_path", "publish"]

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
    name = topic if is_surely_text(topic) else f"%{ord(topic[0]):02X}{topic[1:]}"
    return f"topic={name}/partition={partition}"


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
        with open(os.path.join(work, REPORT), "w", encoding="utf-8") as lines:
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
