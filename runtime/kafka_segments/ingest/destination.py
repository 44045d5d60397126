"""Destination of `ingest`: what it may be, and the directories of partitions in it.

A topic's name as a directory's: readers guess the type of `topic` from all values together, and would make
numbers of topics called 007 and 123. The first character of a name that could be taken for a number or a date
is percent-encoded (`topic=%3007`): Spark guesses from the encoded name, and decodes it afterwards. What other
readers do is in docs/decisions/0011.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.stores import split_address
from kafka_segments.errors import OptionError, OutputError
from kafka_segments.ingest.runs.run_log import STATE_DIRECTORY
from kafka_segments.log.log_dir import refuse_below_sources

__all__ = ["check_destination", "is_surely_text", "partition_path"]

_LONGEST_NAME = 255
"""Bytes of the name of a file or a directory, which file systems and programs that copy from stores take."""

_NULL_TOPIC = "__HIVE_DEFAULT_PARTITION__"
_WORDS = frozenset(
    "nan inf infinity true false null none na epoch now today tomorrow yesterday".split()  # noqa: SIM905
)


def partition_path(topic: str, partition: int, *, is_typed: bool = False) -> str:
    """The directory of a partition below the destination.

    Args:
        topic: its name.
        partition: its number.
        is_typed: readers know that topics are text, and do not guess from the name.

    Raises:
        OptionError: the one topic name that every reader takes for a null, or one that is too long for a
            directory when its first character is encoded.
    """
    if topic == _NULL_TOPIC:
        raise OptionError(f"a topic named {topic} would be read as null in a partitioned directory")
    name = topic if is_typed or is_surely_text(topic) else f"%{ord(topic[0]):02X}{topic[1:]}"
    if len(os.fsencode(name)) > _LONGEST_NAME - len("topic="):
        raise OptionError(
            f"the topic {topic} has {len(topic)} characters, and its directory would be called topic={name}: "
            f"more than the {_LONGEST_NAME} bytes of a file's name. Leave it out with --subscribe-pattern, "
            "or name the others with --subscribe"
        )
    return f"topic={name}/partition={partition}"


def is_surely_text(topic: str) -> bool:
    """Whether no reader can take the name for a number, a date, or another value that is not text.

    Example:
        >>> [name for name in ("007", "1e5", "NaN", "0x1F", "orders", "__state") if is_surely_text(name)]
        ['orders', '__state']
    """
    bare = topic.lstrip("_")
    return re.match("[A-Za-z]", bare) is not None and bare.lower() not in _WORDS


def check_destination(destination: str, sources: Sequence[str], places: Places) -> str:
    """The destination with links resolved; an address without a slash at its end.

    Args:
        destination: a path or an address.
        sources: of the run.
        places: filesystems by path.

    Raises:
        OptionError: it is neither new, empty, nor a table of `ingest`, or it is a source or lies in one.
        OutputError: it cannot be looked at.
        StoreError: the store refused or failed.
    """
    if is_address(destination):
        return _checked_address(destination, sources, places)
    resolved = os.path.realpath(destination)
    refuse_below_sources(sources, resolved, destination)
    try:
        _check_usable(os.listdir(resolved), destination, is_directory=True)
    except FileNotFoundError:
        return resolved
    except NotADirectoryError:
        if os.path.lexists(resolved):  # else a file is above it, in which nothing can be made
            _check_usable((), destination, is_directory=False)
    except OSError as error:
        raise OutputError(f"{error.strerror or error}", path=destination) from error
    return resolved


def _checked_address(destination: str, sources: Sequence[str], places: Places) -> str:
    _, bucket, key = split_address(destination)
    if not key:
        raise OptionError(
            "this is a whole bucket: name a directory in it that only ingest uses", path=destination
        )
    for source in sources:
        if not is_address(source) or not source.partition("://")[1]:
            continue
        other, above = source.partition("://")[2].rstrip("/").partition("/")[::2]
        if other == bucket and f"{key}/".startswith(f"{above}/" if above else ""):
            raise OptionError(
                f"it lies in the source {source}, and nothing is written to sources; choose another",
                path=destination,
            )
    entry = places.entry(destination)
    if entry is not None:
        names = [one.name for one in places.entries(destination)] if entry.is_directory else ()
        _check_usable(names, destination, is_directory=entry.is_directory)
    return destination.rstrip("/")


def _check_usable(names: Sequence[str], destination: str, *, is_directory: bool) -> None:
    if not is_directory or (names and STATE_DIRECTORY not in names):
        raise OptionError(
            "it is neither an empty directory nor a table written by ingest; choose another",
            path=destination,
        )
