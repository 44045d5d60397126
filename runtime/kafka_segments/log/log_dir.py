"""A broker's log directory: the partitions and segments in it, as the broker itself would see them.

Strategy: `directories` finds them and says why there are none; nothing is opened but the checkpoint of log
start offsets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from kafka_segments.errors import KafkaFormatError, OptionError, raise_unless_file_at_fault
from kafka_segments.formats.file_names import (
    MAX_OFFSET,
    SEGMENT_NAME,
    TopicPartition,
    parse_directory_name,
    with_ends,
)
from kafka_segments.io.filesystem import FileEntry
from kafka_segments.io.filesystems import Places
from kafka_segments.log.checkpoints import ROOT_FILES, Checkpoints
from kafka_segments.log.partition_dirs import Directory, PartitionFinder
from kafka_segments.log.skipped_files import PassedOver, tell
from kafka_segments.segment.contents import hold
from kafka_segments.segment.continuity import Noted

__all__ = [
    "Group",
    "PartitionDir",
    "SegmentFile",
    "TopicPartition",
    "group_files",
    "is_deleted",
    "list_partitions",
    "log_dir_root",
    "noted_of",
    "parse_directory_name",
    "swaps_in",
    "without_log",
]

_BESIDE = frozenset(["log", "index", "timeindex", "txnindex", "snapshot"])
_CLEANED = re.compile(r"(\d{20})\..*\.cleaned", re.ASCII)
_NOTHING_NOTED = Noted()
_WITH_LOG = frozenset(["log", "index", "timeindex"])
"""What is of a segment; a snapshot of the producers stands at any offset."""

Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A `.log` file. `is_newest`: it is the last of its partition's directory; a broker may write there.

    `size` is 0 for a file that cannot even be asked, such as a link that leads nowhere: opening it says why.
    """

    path: str
    base_offset: int
    size: int
    is_newest: bool


@dataclass(frozen=True, slots=True)
class PartitionDir:
    """A partition's directory and those of its segments that were asked for, by base offset.

    Segments wholly below `log_start_offset` are not in it; records below it in the others are deleted ones.
    It is None where the broker noted none: then everything in the segments counts. `live` are all segments,
    also those that were not asked for. `noted` is what else is known of the partition beside its segments.
    """

    path: str
    topic: str
    partition: int
    segments: tuple[SegmentFile, ...]
    log_start_offset: int | None
    live: tuple[SegmentFile, ...] = ()
    noted: Noted = _NOTHING_NOTED


@dataclass(slots=True)
class Group:
    """The files of a broker's segment.

    Attributes:
        base_offset: by their names.
        files: by suffix: `log`, `index`, `timeindex`, `txnindex`, `snapshot`; the first one is there.
        end: the next segment's base offset; None for the newest one.
    """

    base_offset: int
    files: dict[str, FileEntry] = field(default_factory=dict)
    end: int | None = None

    def is_deleted(self, log_start_offset: int | None) -> bool:
        """Whether all of it lies below the log start offset, by its name."""
        return log_start_offset is not None and self.end is not None and self.end <= log_start_offset


def list_partitions(
    paths: Path | Iterable[Path], passed: list[PassedOver] | None = None
) -> list[PartitionDir]:
    """List the partitions in log directories, partitions' directories, and `.log` files.

    Args:
        paths: any mixture of the three; what is given twice counts once.
        passed: gets what is passed over there; None logs it, but for what is about to be deleted.

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
    places = Places()
    finder, checkpoints = PartitionFinder(places), Checkpoints(places)
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        finder.add(_text_of(path))
    if passed is None:
        tell(finder.passing.found, is_all=False)
    else:
        passed += finder.passing.found
    _refuse_copies(finder.found.values())
    partitions = [_partition_dir(directory, checkpoints, places) for directory in finder.found.values()]
    return sorted(partitions, key=lambda partition: (partition.topic, partition.partition))


def _text_of(path: object) -> str:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    raise OptionError(f"this is of type {type(path).__name__}: give the path of a directory as str")


def log_dir_root(path: Path) -> str:
    """The log directory that `path` belongs to, so far as it can be told; else the nearest directory.

    For a partition's directory or a file in one that is the directory above, if it has a broker's files.
    """
    path = os.path.realpath(path)
    directory = path if os.path.isdir(path) else os.path.dirname(path)
    above = os.path.dirname(directory)
    is_root = any(os.path.exists(os.path.join(above, name)) for name in ROOT_FILES)
    return above if is_root and parse_directory_name(os.path.basename(directory)) else directory


def group_files(entries: Iterable[FileEntry]) -> list[Group]:
    """The segments in a partition's directory, each with the files of its name, by base offset."""
    groups: dict[str, Group] = {}
    for entry in entries:
        stem, _, suffix = entry.name.partition(".")
        is_segments = SEGMENT_NAME.fullmatch(f"{stem}.log") is not None and int(stem) <= MAX_OFFSET
        if suffix in _BESIDE and is_segments:
            if stem not in groups:
                groups[stem] = Group(int(stem))
            groups[stem].files[suffix] = entry
    found = sorted(
        (group for group in groups.values() if "log" in group.files), key=lambda one: one.base_offset
    )
    for group, end in with_ends(found):
        group.end = end
    return found


def is_deleted(places: Places, group: Group, log_start_offset: int | None) -> bool:
    """Whether a segment's records are deleted: by its name, and by what it holds, should its name be wrong.

    Segments of stores are not looked into.
    """
    if log_start_offset is None or not group.is_deleted(log_start_offset):
        return False
    try:
        with closing(places.open(group.files["log"].path)) as source:
            if source.descriptor < 0:
                return True
            extent = hold(source, group.base_offset).extent
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return True
    return extent is None or extent.last < log_start_offset


def without_log(entries: Iterable[FileEntry]) -> tuple[int, ...]:
    """The base offsets of indexes whose segment is not there."""
    stems: dict[str, set[str]] = {}
    for entry in entries:
        stem, _, suffix = entry.name.partition(".")
        if suffix in _WITH_LOG and SEGMENT_NAME.fullmatch(f"{stem}.log"):
            stems.setdefault(stem, set()).add(suffix)
    return tuple(sorted(int(stem) for stem, suffixes in stems.items() if "log" not in suffixes))


def swaps_in(entries: Iterable[FileEntry]) -> tuple[tuple[int, str], ...]:
    """Base offset and path of each segment that a broker has yet to take in, and that stands for others.

    A broker deletes those from the least `.cleaned` file on, which were not finished (KAFKA-6264).
    """
    entries = list(entries)
    names = {entry.name for entry in entries}
    cleaned = filter(None, (_CLEANED.fullmatch(name) for name in names))
    unfinished = min((int(match[1]) for match in cleaned), default=MAX_OFFSET + 1)
    found = []
    for entry in entries:
        log = entry.name.removesuffix(".swap")
        match = SEGMENT_NAME.fullmatch(log)
        if match and log not in names and entry.size and int(match[1]) < unfinished:
            found.append((int(match[1]), entry.path))
    return tuple(sorted(found))


def noted_of(directory: Directory, checkpoints: Checkpoints) -> Noted:
    """What a broker notes of a partition beside its segments, as `continuity` asks for it."""
    is_live = checkpoints.is_live(directory)
    return Noted(
        checkpoints.log_start_offset(directory),
        None if is_live else checkpoints.high_watermark(directory),
        None if is_live else checkpoints.recovery_point(directory),
        checkpoints.cleaned_up_to(directory),
        () if is_live else without_log(directory.entries),
        () if is_live else swaps_in(directory.entries),
    )


def _partition_dir(directory: Directory, checkpoints: Checkpoints, places: Places) -> PartitionDir:
    start = checkpoints.log_start_offset(directory)
    live = tuple(_segments(directory, start, places))
    wanted = directory.wanted
    asked = tuple(one for one in live if wanted is None or os.path.basename(one.path) in wanted)
    name = directory.name
    noted = noted_of(directory, checkpoints)
    return PartitionDir(directory.path, name.topic, name.partition, asked, start, live, noted)


def _segments(directory: Directory, log_start_offset: int | None, places: Places) -> Iterator[SegmentFile]:
    for group in group_files(directory.entries):
        log = group.files["log"]
        if not is_deleted(places, group, log_start_offset):
            path = os.path.join(directory.path, log.name)
            yield SegmentFile(path, group.base_offset, log.size, group.end is None)


def _refuse_copies(found: Iterable[Directory]) -> None:
    """Two directories with one partition: a broker refuses to start, and to choose is not ours either."""
    by_name: dict[TopicPartition, Directory] = {}
    for directory in found:
        other = by_name.setdefault(directory.name, directory)
        if other is not directory:
            raise OptionError(
                f"partition {directory.name} is also in {other.path}; copies are not yet compared: "
                "give one of the two",
                path=directory.path,
            )
