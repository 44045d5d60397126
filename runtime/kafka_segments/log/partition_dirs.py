"""Directories of partitions: a broker's, and those of two tiered layouts.

Strategy: the files in a directory identify its layout, and its name the partition. A broker's directory
`TOPIC-PARTITION` has `<20 digits>.log`; Kafka's LocalTieredStorage (KIP-405)
`TOPIC-PARTITION-ID/<20 digits>-<id>.log`, and Aiven's tiered storage the same file in `TOPIC-ID/PARTITION/`
(ObjectKeyFactory). Skipped, as by a broker that loads its logs, are directories renamed for deletion or for a
move between disks (`-delete`, `-future`, `-stray`: LocalLog.parseTopicPartitionName), and files with other
names (LogLoader: `.deleted`, `.cleaned`, `.swap`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_segments.core.formats import read_partition_metadata
from kafka_segments.core.formats.file_names import (
    LEFT_ALONE,
    SEGMENT_NAME,
    TIERED_NAME,
    TopicPartition,
    above,
    is_address,
    name_in,
    parse_directory_name,
    real_path,
    tiered_names,
    tiers_topic,
)
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import NotingFaults, OptionError, ReadError
from kafka_segments.log.opening import read_file
from kafka_segments.log.skipped_files import NO_SEGMENT, WITH_MORE, SkipCollector

__all__ = ["Directory", "PartitionFinder", "Wanted", "run_at_once"]

_INDEX_CACHE = "remote-log-index-cache"  # RemoteIndexCache.DIR_NAME, of tiered storage
_NUM_AT_ONCE = 32  # requests, where each takes a while

T = TypeVar("T")
R = TypeVar("R")

Wanted = Callable[[str, int | None], bool]
"""Selects partitions by topic and number; None for any partition of the topic."""


@dataclass(slots=True)
class Directory:
    """Listed directory with segments of a partition.

    Attributes:
        path: by which it was found.
        name: the partition.
        entries: its listing.
        topic_id: in a tier's names; None elsewhere.
        wanted: names of the requested files; None is all.
        beside: names in the parent directory, if that was listed.
    """

    path: str
    name: TopicPartition
    entries: list[FileEntry]
    topic_id: str | None = None
    wanted: set[str] | None = field(default_factory=set)
    beside: frozenset[str] | None = None

    @property
    def is_tiered(self) -> bool:
        """Whether it is in a tier."""
        return self.topic_id is not None

    def want(self, name: str | None) -> None:
        """Request one more file, or (None) all."""
        if name is None or self.wanted is None:
            self.wanted = None
        else:
            self.wanted.add(name)


def run_at_once(path: str, task: Callable[[T], R], arguments: Sequence[T]) -> list[R]:
    """Return the results of a task for each argument, in parallel if `path` is remote."""
    if not is_address(path) or len(arguments) < 2:
        return list(map(task, arguments))
    with ThreadPoolExecutor(_NUM_AT_ONCE) as pool:
        return list(pool.map(task, arguments))


class PartitionFinder:
    """Finder of directories with segments, at or below paths that are added one by one.

    Args:
        places: lists the paths.
        recursive: search at all depths, also where a broker or a tier would not put them.
        wanted: selects partitions.

    Attributes:
        found: the directories, once each, by resolved path.
        skipped: the skipped files and directories.
    """

    def __init__(
        self,
        places: Places,
        *,
        recursive: bool = False,
        wanted: Wanted | None = None,
    ) -> None:
        self.found: dict[str, Directory] = {}
        self.skipped = SkipCollector()
        self._places = places
        self._recursive = recursive
        self._wanted = wanted
        self._seen: set[str] = set()

    def add_match(self, entry: FileEntry) -> bool:
        """Add a match of a glob pattern, which need not have segments.

        Returns:
            Whether it has segments, wanted or not.

        Raises:
            ReadError: it cannot be listed.
        """
        add = self._add_directory if entry.is_directory else self._add_file
        return add(entry.path, True)

    def add(self, path: str) -> None:
        """Add a path: a log directory, a partition's directory, a tier, or a segment's file.

        Raises:
            ReadError: it does not exist or cannot be listed.
            OptionError: it has no segments.
        """
        entry = self._places.entry(path)
        if entry is None:
            detail = f"{os.strerror(errno.ENOENT)}: check the path"
            raise ReadError(detail, errno=errno.ENOENT, path=path)
        add = self._add_directory if entry.is_directory else self._add_file
        add(path if is_address(entry.path) else entry.path, False)

    def _add_directory(self, path: str, is_match: bool) -> bool:
        entries = self._places.entries(path)
        if self._holds(entries):
            return self._take_named(path, entries, None, is_match)
        if self._descend(path, entries):
            return True
        if not is_match:
            self.skipped.files(entries)
            unlisted = [one.error for one in self.skipped.found if one.error is not None]
            more = next((f"; {one}" for one in self.skipped.found if one.why == WITH_MORE), "")
            raise unlisted[0] if unlisted else OptionError(self._why_empty(entries) + more, path=path)
        return False

    def _add_file(self, path: str, is_match: bool) -> bool:
        name = name_in(path)
        if not SEGMENT_NAME.fullmatch(name) and not TIERED_NAME.fullmatch(name):
            if is_match:
                return False
            raise OptionError(
                "this is not a segment of a log: segments are named by 20 digits and .log (and one more "
                "suffix, if a broker is about to delete or swap them in); `kafka-segments dump` reads "
                "single files of any name",
                path=path,
            )
        directory = path.rpartition("/")[0] or ("/" if path.startswith("/") else "")
        known = self.found.get(real_path(directory or "."))
        if known is not None:
            known.want(name)
            return True
        return self._take_named(directory, self._places.entries(directory or "."), name, is_match)

    def _take_named(self, path: str, entries: list[FileEntry], only: str | None, is_match: bool) -> bool:
        """Take a directory by its own name, which must be a partition's."""
        found = self._name_of(path, entries)
        if found is None:
            if not is_match:
                raise OptionError(_why_unnamed(name_in(path or ".")), path=path)
            self.skipped.add(path, _why_unnamed(name_in(path)))
            return False
        self._take(path, *found, entries, only=only)
        return True

    def _descend(self, path: str, entries: Sequence[FileEntry]) -> bool:
        """Search the directories in one without segments; return whether there are any segments."""
        if self._recursive:
            real = real_path(path)
            if real in self._seen:  # links may lead in a circle
                return True
            self._seen.add(real)
        beside = frozenset(entry.name for entry in entries)
        topic = tiers_topic(name_in(path))
        directories = [one for one in entries if one.is_directory and not one.name.endswith(LEFT_ALONE)]
        interesting = {one.path: self._is_to_list(one, topic) for one in directories}
        for one in entries:
            if one.is_directory and interesting.get(one.path, False) is False and self._is_reported(one):
                self.skipped.directory(one, self._inside(one))
        listed = [one for one in directories if interesting[one.path]]
        # Segments that are not wanted count, by the names of their directories.
        held = None in interesting.values()
        children = run_at_once(path, self._children, [one.path for one in listed])
        for entry, inside in zip(listed, children, strict=True):
            if isinstance(inside, ReadError):
                self.skipped.unlisted(entry.path, inside)
            elif inside is not None:
                held = self._look_into(entry, inside, topic, beside) or held
        return held

    def _is_reported(self, entry: FileEntry) -> bool:
        """Return whether to report a skipped directory; `lost+found` only if there is something to read."""
        return entry.name != _INDEX_CACHE and (entry.name != "lost+found" or any(self._peek(entry)))

    def _is_to_list(self, entry: FileEntry, topic: tuple[str, str] | None) -> bool | None:
        """Return whether to list a directory, by its name; None if only its partition is not wanted."""
        plain = parse_directory_name(entry.name)
        tiered = tiered_names(entry.name, topic)
        possible = [*([plain] if plain else []), *(name for name, _ in tiered)]
        if self._recursive:
            return bool(possible) or not entry.name.startswith(".")
        if not possible:
            return False
        return True if any(map(self._is_wanted, possible)) else None

    def _look_into(
        self,
        entry: FileEntry,
        children: list[FileEntry],
        topic: tuple[str, str] | None,
        beside: frozenset[str],
    ) -> bool:
        """Take a directory in another one, if it has segments; `topic`: of the parent, in a tier."""
        plain = parse_directory_name(entry.name)
        tiered = tiered_names(entry.name, topic)
        if not self._holds(children):
            if plain and not tiered:
                self.skipped.files(children)
                self.skipped.add(entry.path, NO_SEGMENT)
            return (self._recursive or bool(tiered)) and self._descend(entry.path, children)
        found: tuple[TopicPartition, str | None] | None = (plain, None) if plain else None
        if not _is_brokers(children):
            found = next(((name, id_) for name, id_ in tiered if isinstance(name, TopicPartition)), None)
        if found is None:
            self.skipped.add(entry.path, _why_unnamed(entry.name))
            return False
        self._take(entry.path, *found, children, beside=beside)
        return True

    def _is_wanted(self, name: TopicPartition | str) -> bool:
        if self._wanted is None:
            return True
        return self._wanted(name, None) if isinstance(name, str) else self._wanted(name.topic, name.partition)

    def _children(self, path: str) -> list[FileEntry] | ReadError | None:
        """List a directory; None if it has vanished, as a deleted topic's may; the error if it cannot be.

        What a store does not allow is no matter of one directory.
        """
        try:
            return self._places.entries(path)
        except ReadError as error:
            is_gone = error.errno in (errno.ENOENT, errno.ENOTDIR)
            if is_address(path) and not is_gone:
                raise
            return None if is_gone else error

    def _holds(self, entries: Iterable[FileEntry]) -> bool:
        names = (entry.name for entry in entries)
        return any(SEGMENT_NAME.fullmatch(name) or TIERED_NAME.fullmatch(name) for name in names)

    def _take(
        self,
        path: str,
        name: TopicPartition,
        topic_id: str | None,
        entries: list[FileEntry],
        *,
        only: str | None = None,
        beside: frozenset[str] | None = None,
    ) -> None:
        if not self._is_wanted(name):
            return
        key = real_path(path or ".")
        if key not in self.found:
            self.found[key] = Directory(path, name, entries, topic_id, beside=beside)
            if topic_id is None:
                self.skipped.files(entries)
        self.found[key].want(only)

    def _name_of(self, path: str, entries: Sequence[FileEntry]) -> tuple[TopicPartition, str | None] | None:
        """Return the partition of a directory, by its name as given or with links resolved."""
        for given in dict.fromkeys((path or ".", real_path(path or "."))):
            name = name_in(given)
            if _is_brokers(entries):
                parsed = parse_directory_name(name)
                if parsed:
                    return parsed, None
                continue
            topic = tiers_topic(name_in(above(given)))
            for tiered, topic_id in tiered_names(name, topic):
                if isinstance(tiered, TopicPartition):
                    return tiered, topic_id
        return None

    def _why_empty(self, entries: Sequence[FileEntry]) -> str:
        names = [entry.name for entry in entries]
        why = (
            "no segments here: no .log files named by 20 digits, and no TOPIC-PARTITION directories with some"
        )
        if any(name.endswith(".log") for name in names):
            return why + "; these .log files belong to no topic (a broker's own messages?): see its log.dirs"
        inner = next((entry.path for entry in entries if any(map(_is_partition, self._peek(entry)))), None)
        if inner:
            return why + f"; give the log directories themselves, for example {inner}"
        if any(name.endswith(LEFT_ALONE) for name in names):
            return why + "; the broker has put aside what is here (-delete, -future, -stray)"
        return (
            why + "; give a broker's log directory (log.dirs in its configuration), or one of its partitions"
        )

    def _inside(self, entry: FileEntry) -> str:
        """Say which segments are in a directory without a partition's name, or (lost+found) below it."""
        words = ""
        for folder in (entry, *(one for one in self._peek(entry) if one.is_directory)):
            files = {one.name: one for one in self._peek(folder)}
            logs = sorted(filter(SEGMENT_NAME.fullmatch, files))
            if logs:
                words += f"; {folder.path} has {len(logs)} segments, from offset {int(logs[0][:20])}"
                words += f"{self._topic_of(files)}: to read them, give a link to it named TOPIC-PARTITION"
        return words

    def _topic_of(self, files: Mapping[str, FileEntry]) -> str:
        """Return the words for the topic id beside some segments; none if it cannot be read."""
        with NotingFaults(), suppress(KeyError):
            data = read_file(self._places, files["partition.metadata"].path)
            return f", of the topic with id {read_partition_metadata(data)[1]}"
        return ""

    def _peek(self, entry: FileEntry) -> Iterator[FileEntry]:
        inside = self._children(entry.path) if entry.is_directory else None
        if isinstance(inside, ReadError):
            self.skipped.unlisted(entry.path, inside)
        elif inside is not None:
            yield from inside


def _why_unnamed(name: str) -> str:
    if name.endswith(LEFT_ALONE):
        return (
            "the broker has put this directory aside (for deletion, a move to another disk, or as a stray) "
            "and would not read it; to read it all the same, copy it to a directory named TOPIC-PARTITION"
        )
    if parse_directory_name(name) is not None:
        return "the directory is named as a broker's, but its files as a tier's: give the files' names"
    return (
        "there are segments here, but the directory's name is not a partition's: "
        "name it TOPIC-PARTITION, or give the log directory above the partitions"
    )


def _is_brokers(entries: Iterable[FileEntry]) -> bool:
    """Return whether there are segments with a broker's names."""
    return any(SEGMENT_NAME.fullmatch(entry.name) for entry in entries)


def _is_partition(entry: FileEntry) -> bool:
    return parse_directory_name(entry.name) is not None and entry.is_directory
