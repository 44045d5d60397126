"""A broker's log directory: the partitions and segments in it, as the broker itself would see them.

Strategy: list names, open nothing but the checkpoint of log start offsets. What a broker passes over when it
loads its logs is passed over here: directories renamed for deletion or for a move between disks
(`-delete`, `-future`, `-stray`: LocalLog.parseTopicPartitionName), and in a partition's directory everything
that is not `<20 digits>.log` (LogLoader: `.deleted`, `.cleaned`, `.swap`, snapshots, indexes).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from kafka_segments import layout
from kafka_segments.errors import KafkaFormatError, OptionError, ReadError
from kafka_segments.storage import open_source

__all__ = [
    "PartitionDir",
    "SegmentFile",
    "TopicPartition",
    "list_partitions",
    "log_dir_root",
    "parse_directory_name",
    "with_ends",
]

_log = logging.getLogger(__name__)

_LOG_START_OFFSETS = "log-start-offset-checkpoint"
_ROOT_FILES = (_LOG_START_OFFSETS, "recovery-point-offset-checkpoint", "meta.properties")
_SEGMENT_NAME = re.compile(r"(\d{20})\.log", re.ASCII)
_LEFT_ALONE = ("-delete", "-future", "-stray")
_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # Topic.detectInvalidTopic
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_LARGEST_PARTITION = 2**31 - 1

Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A topic's name and the number of one of its partitions."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A `.log` file. `is_newest`: it is the last of its partition's directory; a broker may write there.

    `size` is 0 for a file that cannot even be asked, such as a link that leads nowhere: opening it says why.
    """

    path: str
    base_offset: int
    size: int
    is_newest: bool


class _Based(Protocol):
    @property
    def base_offset(self) -> int: ...


_Segment = TypeVar("_Segment", bound=_Based)


@dataclass(frozen=True, slots=True)
class PartitionDir:
    """A partition's directory and those of its segments that were asked for, by base offset.

    Segments wholly below `log_start_offset` are not in it; records below it in the others are deleted ones.
    It is None where the broker noted none: then everything in the segments counts. `live` are all segments,
    also those that were not asked for.
    """

    path: str
    topic: str
    partition: int
    segments: tuple[SegmentFile, ...]
    log_start_offset: int | None
    live: tuple[SegmentFile, ...] = ()


def list_partitions(paths: Path | Iterable[Path]) -> list[PartitionDir]:
    """List the partitions in log directories, partitions' directories, and `.log` files.

    Args:
        paths: any mixture of the three; what is given twice counts once.

    Returns:
        Partitions by topic and number. A partition's directory without a segment is only an error if it was
        given by name.

    Raises:
        ReadError: a path does not exist or cannot be listed.
        OptionError: a path holds no segments or does not belong to a partition, or two directories hold the
            same one.

    Example:
        >>> list_partitions([])
        []
    """
    found: dict[str, _Found] = {}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        _add(os.fspath(path), found)
    _refuse_copies(found.values())
    checkpoints = _Checkpoints()
    partitions = [_partition_dir(entry, checkpoints) for entry in found.values()]
    return sorted(partitions, key=lambda partition: (partition.topic, partition.partition))


def parse_directory_name(name: str) -> TopicPartition | None:
    """The partition that a directory of this name belongs to, or None: the last `-` divides, as in Kafka.

    Example:
        >>> parse_directory_name("my-topic-3")
        TopicPartition(topic='my-topic', partition=3)
        >>> parse_directory_name("my-topic-3.86a97d43e8774c988bf382f2cb129613-delete") is None
        True
    """
    topic, dash, number = name.rpartition("-")
    if not dash or not _LEGAL_TOPIC.fullmatch(topic) or topic in (".", ".."):
        return None
    if not _PARTITION.fullmatch(number) or int(number) > _LARGEST_PARTITION:
        return None
    return TopicPartition(topic, int(number))


def with_ends(segments: Sequence[_Segment]) -> Iterator[tuple[_Segment, int | None]]:
    """Each segment, and the base offset of the one behind it, which no offset in it should reach; or None."""
    return zip(segments, [*(segment.base_offset for segment in segments[1:]), None], strict=True)


def log_dir_root(path: Path) -> str:
    """The log directory that `path` belongs to, so far as it can be told; else the nearest directory.

    For a partition's directory or a file in one that is the directory above, if it has a broker's files.
    """
    path = os.path.realpath(path)
    directory = path if os.path.isdir(path) else os.path.dirname(path)
    above = os.path.dirname(directory)
    is_root = any(os.path.exists(os.path.join(above, name)) for name in _ROOT_FILES)
    return above if is_root and parse_directory_name(os.path.basename(directory)) else directory


@dataclass(slots=True)
class _Found:
    """A partition's directory: all its segments, and the names of those asked for (None: all)."""

    path: str
    name: TopicPartition
    segments: list[SegmentFile]
    wanted: set[str] | None = field(default_factory=set)

    def want(self, name: str | None) -> None:
        if name is None or self.wanted is None:
            self.wanted = None
        else:
            self.wanted.add(name)


def _add(path: str, found: dict[str, _Found]) -> None:
    if os.path.isdir(path):
        _add_directory(path, found)
    else:
        _add_file(path, found)


def _add_directory(path: str, found: dict[str, _Found]) -> None:
    entries = _scan(path)
    if any(_SEGMENT_NAME.fullmatch(entry.name) for entry in entries):
        _found(path, entries, found).want(None)
        return
    num_before = len(found)
    held = False
    for entry in entries:
        if not _is_partition(entry):
            continue
        children = _scan(entry.path)
        if any(_SEGMENT_NAME.fullmatch(child.name) for child in children):
            held = True
            _found(entry.path, children, found).want(None)
    if not held and len(found) == num_before:
        raise OptionError(_why_empty(entries), path=path)


def _add_file(path: str, found: dict[str, _Found]) -> None:
    try:
        os.stat(path)
    except OSError as error:
        raise _cannot_list(path, error) from error
    directory, name = os.path.split(path)
    if not _SEGMENT_NAME.fullmatch(name):
        raise OptionError(
            "this is no segment of a log: those are named by 20 digits and .log (what a broker is about to "
            "delete or swap in has one more suffix); `kafka-segments dump` reads single files of any name",
            path=path,
        )
    _found(directory, _scan(directory or "."), found).want(name)


def _found(path: str, entries: Sequence[os.DirEntry[str]], found: dict[str, _Found]) -> _Found:
    key = os.path.realpath(path)
    if key not in found:
        name = _name_of(path)
        found[key] = _Found(path, name, _segments(path, entries))
    return found[key]


def _name_of(path: str) -> TopicPartition:
    names = [os.path.basename(os.path.abspath(path)), os.path.basename(os.path.realpath(path))]
    for name in names:
        parsed = parse_directory_name(name)
        if parsed:
            return parsed
    if names[0].endswith(_LEFT_ALONE):
        why = (
            "the broker has put this directory aside (for deletion, a move to another disk, or as a stray) "
            "and would not read it; to read it all the same, copy it to a directory named TOPIC-PARTITION"
        )
    else:
        why = (
            "segments lie here, but the directory's name does not say of which partition: "
            "name it TOPIC-PARTITION, or give the log directory above the partitions"
        )
    raise OptionError(why, path=path)


def _segments(path: str, entries: Sequence[os.DirEntry[str]]) -> list[SegmentFile]:
    segments = []
    for entry in entries:
        match = _SEGMENT_NAME.fullmatch(entry.name)
        if match:
            try:
                size = entry.stat().st_size
            except OSError:  # one file alone: the others can be read
                size = 0
            segments.append(SegmentFile(os.path.join(path, entry.name), int(match[1]), size, False))
        elif entry.name.endswith(".log"):
            _log.warning("%s: not the name of a segment; left out", entry.path)
    segments.sort(key=lambda segment: segment.base_offset)
    if segments:
        segments[-1] = replace(segments[-1], is_newest=True)
    return segments


def _partition_dir(entry: _Found, checkpoints: _Checkpoints) -> PartitionDir:
    start = checkpoints.log_start_offset(entry)
    kept = [
        segment for segment, end in with_ends(entry.segments) if start is None or end is None or end > start
    ]
    live = tuple(kept)
    if entry.wanted is not None:
        kept = [segment for segment in kept if os.path.basename(segment.path) in entry.wanted]
    return PartitionDir(entry.path, entry.name.topic, entry.name.partition, tuple(kept), start, live)


class _Checkpoints:
    """Log start offsets, each log directory's checkpoint read once."""

    def __init__(self) -> None:
        self._by_root: dict[str, dict[tuple[str, int], int]] = {}

    def log_start_offset(self, entry: _Found) -> int | None:
        """The offset noted beside the partition's directory, as it was given or where it really lies."""
        key = (entry.name.topic, entry.name.partition)
        for path in (os.path.abspath(entry.path), os.path.realpath(entry.path)):
            offsets = self._read(os.path.dirname(path))
            if key in offsets:
                return offsets[key]
        return None

    def _read(self, root: str) -> dict[tuple[str, int], int]:
        if root not in self._by_root:
            self._by_root[root] = _read_checkpoint(os.path.join(root, _LOG_START_OFFSETS))
        return self._by_root[root]


def _read_checkpoint(path: str) -> dict[tuple[str, int], int]:
    if not os.path.exists(path):
        return {}
    try:
        source = open_source(path)
        try:
            size = min(source.size, layout.MAX_LEN_OFFSET_CHECKPOINT + 1)  # one more, for it to be refused
            return layout.read_offset_checkpoint(source.read(0, size))
        finally:
            source.close()
    except KafkaFormatError as error:
        # A broker does the same (LogManager.loadLogs): its log then begins where its first segment does.
        error.path = path
        _log.warning("%s; log start offsets are not known: deleted records may come along", error)
        return {}


def _refuse_copies(found: Iterable[_Found]) -> None:
    """Two directories with one partition: a broker refuses to start, and to choose is not ours either."""
    by_name: dict[TopicPartition, _Found] = {}
    for entry in found:
        other = by_name.setdefault(entry.name, entry)
        if other is not entry:
            raise OptionError(
                f"partition {entry.name} is also in {other.path}; copies are not yet compared: "
                "give one of the two",
                path=entry.path,
            )


def _scan(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise _cannot_list(path, error) from error


def _cannot_list(path: str, error: OSError) -> ReadError:
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    remedy = "check the path" if is_missing else "is it readable for this user?"
    return ReadError(f"{error.strerror or error}: {remedy}", errno=error.errno, path=path)


def _why_empty(entries: Sequence[os.DirEntry[str]]) -> str:
    names = [entry.name for entry in entries]
    why = "no segments here: no .log files named by 20 digits, and no directories TOPIC-PARTITION with some"
    if any(name.endswith(".log") for name in names):
        return why + "; these .log files are not a topic's (a broker's own messages?): see its log.dirs"
    inner = next((entry.path for entry in entries if any(map(_is_partition, _peek(entry)))), None)
    if inner:
        return why + f"; give the log directories themselves, such as {inner}"
    if any(name.endswith(_LEFT_ALONE) for name in names):
        return why + "; the broker has put aside what is here (-delete, -future, -stray)"
    return why + "; give a broker's log directory (log.dirs in its configuration), or one of its partitions"


def _peek(entry: os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        return _scan(entry.path) if entry.is_dir() else []
    except ReadError:
        return []


def _is_partition(entry: os.DirEntry[str]) -> bool:
    return parse_directory_name(entry.name) is not None and entry.is_dir()
