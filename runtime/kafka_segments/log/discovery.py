"""Discovery of partitions' copies at paths, with the indexes and checkpoints of their segments.

Strategy: directories are listed once. Only small files are opened: the broker's checkpoints and metadata, and
the manifests of a tier. The file options choose segments by their `.log`, as Spark's file sources choose
files; the indexes of a segment go with it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.globs import compile_glob, expand, is_glob
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.segment.beside.index_files import (
    LeaderEpoch,
    read_leader_epochs,
    read_partition_metadata,
)
from kafka_segments.errors import KafkaFormatError, OptionError, ReadError, raise_unless_file_at_fault
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.log_dir import is_deleted, segments_in, swaps_in, without_log
from kafka_segments.log.model import LogEnd, PartitionCopy, StoredFile, StoredSegment
from kafka_segments.log.opening import read_file
from kafka_segments.log.partition_dirs import Directory, PartitionFinder, Wanted, run_at_once
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped
from kafka_segments.log.tiers import read_tier

__all__ = ["FileOptions", "discover"]

_log = get_logger(__name__)

_LEADER_EPOCHS = "leader-epoch-checkpoint"
_METADATA = "partition.metadata"
_LARGEST_KEPT = 256  # bytes of a small file whose content is cached

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Spark's file options, under its names; they select `.log` files.

    Attributes:
        path_glob_filter: what a name must match; see `globs`.
        modified_before: nanoseconds since 1970; a file must have been written before.
        modified_after: likewise, after.
        recursive: look for partitions at all depths (`recursiveFileLookup`).
        ignore_missing: skip files that vanish after a pattern was resolved (`ignoreMissingFiles`). A given
            path that does not exist is always an error, as in Spark.
    """

    path_glob_filter: str | None = None
    modified_before: int | None = None
    modified_after: int | None = None
    recursive: bool = False
    ignore_missing: bool = False


def discover(
    places: Places,
    paths: Iterable[str],
    options: FileOptions | None = None,
    wanted: Wanted | None = None,
    skipped: list[SkippedFiles] | None = None,
    *,
    prefer_names: bool = False,
    checkpoints: Checkpoints | None = None,
) -> list[PartitionCopy]:
    """Find the copies of partitions at some paths.

    Args:
        places: where they are.
        paths: log directories, partitions' directories, tiers, segments, or glob patterns of these.
        options: which files count.
        wanted: selects partitions: called with a topic and a partition's number, or None for "any of them".
            The directories of others are not listed.
        skipped: receives the skipped files; None logs them, except those about to be deleted.
        prefer_names: take a path that exists as it is, also with the characters of a pattern.
        checkpoints: reads those of the log directories, and keeps them. Files beside segments that cannot be
            used are logged if it logs its own; the findings of the copies have both.

    Returns:
        Copies by topic, number and path; without segments if the options left them out.

    Raises:
        ReadError: a path does not exist, or the only one cannot be listed.
        OptionError: there are no segments, or a pattern is invalid.
        KafkaFormatError: a tier's manifest cannot be read or not be used, e.g. because of encryption.
    """
    options = options or FileOptions()
    finder = PartitionFinder(places, recursive=options.recursive, wanted=wanted)
    given = list(paths)
    for path in given:
        if is_glob(path) and not (prefer_names and places.entry(path) is not None):
            _add_matches(places, finder, path, options.ignore_missing)
            continue
        try:
            finder.add(path)
        except ReadError as error:
            if len(given) == 1 or not _is_unlistable(path, error):
                raise
            finder.skipped.unlisted(path, error)
    if skipped is None:
        log_skipped(finder.skipped.found, is_all=False)
    else:
        skipped[:] = finder.skipped.found
    file_filter = _FileFilter(options)
    reader = _Reader(places, file_filter, checkpoints or Checkpoints(places))
    directories = list(finder.found.values())
    far = next((one.path for one in directories if is_address(one.path)), "")
    copies = run_at_once(far, reader.copy, directories)
    return sorted(copies, key=lambda copy: (copy.topic, copy.partition, copy.path))


def _add_matches(places: Places, finder: PartitionFinder, pattern: str, ignore_missing: bool) -> None:
    matches = expand(places, pattern)
    if not matches:
        raise ReadError("nothing matches this pattern: check the path", errno=errno.ENOENT, path=pattern)
    held = [_add_match(finder, match, ignore_missing) for match in matches]
    if not any(held):
        raise OptionError(
            f"nothing that this pattern matches has segments: {matches[0].path}"
            + (f" and {len(matches) - 1} more" if len(matches) > 1 else ""),
            path=pattern,
        )


def _add_match(finder: PartitionFinder, entry: FileEntry, ignore_missing: bool) -> bool:
    try:
        return finder.add_match(entry)
    except ReadError as error:
        if _is_unlistable(entry.path, error):
            finder.skipped.unlisted(entry.path, error)
            return True
        if ignore_missing:
            return False
        raise


def _is_unlistable(path: str, error: ReadError) -> bool:
    """Whether a local directory is there, and cannot be listed."""
    return error.errno not in (errno.ENOENT, errno.ENOTDIR) and not is_address(path)


class _FileFilter:
    def __init__(self, options: FileOptions) -> None:
        self._options = options
        self._pattern: re.Pattern[str] | None = None
        if options.path_glob_filter is not None:
            self._pattern = compile_glob(options.path_glob_filter)

    def why_not(self, log: StoredFile) -> str | None:
        """Return why a segment's file is left out; None if it is not."""
        options = self._options
        if self._pattern is not None and not self._pattern.fullmatch(log.name):
            return f"pathGlobFilter {options.path_glob_filter!r}"
        if options.modified_before is not None and log.modified_ns >= options.modified_before:
            return "modifiedBefore"
        if options.modified_after is not None and log.modified_ns <= options.modified_after:
            return "modifiedAfter"
        return None


@dataclass(slots=True)
class _Metadata:
    topic_id: str | None = None
    leader_epochs: tuple[LeaderEpoch, ...] = ()
    unused: list[KafkaFormatError] = field(default_factory=list)


class _Reader:
    def __init__(self, places: Places, file_filter: _FileFilter, checkpoints: Checkpoints) -> None:
        self._places, self._filter, self._checkpoints = places, file_filter, checkpoints
        self._known: dict[tuple[Callable[[bytes], Any], bytes], Any] = {}

    def copy(self, directory: Directory) -> PartitionCopy:
        return self._tiers_copy(directory) if directory.is_tiered else self._brokers_copy(directory)

    def _brokers_copy(self, directory: Directory) -> PartitionCopy:
        notes = self._read_metadata(directory.entries)
        checkpoints = self._checkpoints
        start = checkpoints.log_start_offset(directory)
        noted = checkpoints.high_watermark(directory), checkpoints.recovery_point(directory)
        reached = *noted, *(one.start_offset for one in notes.leader_epochs)
        segments, left_out = [], []
        for segment in segments_in(directory.entries, reached):
            why = self._why_not(directory, segment, start)
            if why is None:
                segments.append(segment)
            else:
                bounds = segment.base_offset, segment.end_offset
                left_out.append(_left_out(directory, segment.file, *bounds, why))
        end = LogEnd(checkpoints.is_live(directory), *noted, checkpoints.was_shut_down(directory))
        return PartitionCopy(
            directory.path,
            directory.name.topic,
            directory.name.partition,
            tuple(segments),
            topic_id=notes.topic_id,
            log_start_offset=start,
            leader_epochs=notes.leader_epochs,
            end=end,
            cleaned_up_to=checkpoints.cleaned_up_to(directory),
            never_cleaned=checkpoints.never_cleaned(directory),
            without_log=without_log(directory.entries),
            swaps=swaps_in(directory.entries),
            findings=(*left_out, *_unused(directory, [*notes.unused, *checkpoints.unused(directory)])),
        )

    def _why_not(
        self, directory: Directory, segment: StoredSegment, log_start_offset: int | None
    ) -> str | None:
        if directory.wanted is not None and segment.file.name not in directory.wanted:
            return "other segments were given by name"
        if is_deleted(self._places, segment, log_start_offset):
            return f"its records are deleted: the log starts at offset {log_start_offset}"
        return self._filter.why_not(segment.file)

    def _tiers_copy(self, directory: Directory) -> PartitionCopy:
        contents = read_tier(self._places, directory, self._filter.why_not)
        left_out = [_left_out(directory, file, base, None, why) for file, base, why in contents.left_out]
        return PartitionCopy(
            directory.path,
            directory.name.topic,
            directory.name.partition,
            tuple(contents.segments),
            topic_id=directory.topic_id,
            is_tiered=True,
            findings=(*left_out, *_unused(directory, contents.unused)),
        )

    def _read_metadata(self, entries: Sequence[FileEntry]) -> _Metadata:
        notes = _Metadata()
        for entry in entries:
            if entry.name == _LEADER_EPOCHS:
                found = self._read(entry, read_leader_epochs, notes)
                notes.leader_epochs = found or ()
            elif entry.name == _METADATA:
                metadata = self._read(entry, read_partition_metadata, notes)
                notes.topic_id = None if metadata is None else metadata.topic_id
        return notes

    def _read(self, entry: FileEntry, read: Callable[[bytes], T], notes: _Metadata) -> T | None:
        """Parse a small file; None if it cannot be parsed."""
        try:
            data = read_file(self._places, entry.path)
            if (read, data) in self._known:  # most partitions of a topic have the same content
                return self._known[read, data]  # type: ignore[no-any-return]
            found = read(data)
            if len(data) <= _LARGEST_KEPT:
                self._known[read, data] = found
            return found
        except KafkaFormatError as unlocated:
            error = unlocated.with_context(path=entry.path)
            raise_unless_file_at_fault(error)
            if self._checkpoints.logs_unused:
                _log.warning("%s; it was not used", error)
            notes.unused.append(error)
            return None


def _left_out(directory: Directory, log: StoredFile, base_offset: int, end: int | None, why: str) -> Finding:
    last = None if end is None else end - 1
    name = directory.name
    where = name.topic, name.partition
    return Finding(Kind.LEFT_OUT, *where, why, base_offset, last, log.path, num_bytes=log.size)


def _unused(directory: Directory, errors: Iterable[KafkaFormatError]) -> list[Finding]:
    name = directory.name
    return [Finding.of_error(Kind.UNUSED, name.topic, name.partition, error) for error in errors]
