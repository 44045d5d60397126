"""Sources on the command line: files, patterns of paths, and directories with segments."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kafka_segments.cli import console
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.formats.file_names import TIERED_NAME, is_address, parse_directory_name
from kafka_segments.io.filesystems import Places
from kafka_segments.io.globs import expand, is_glob
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import LEFT_OUT_KINDS, of_kinds
from kafka_segments.log.log_dir import log_dir_root
from kafka_segments.log.model import StoredSegment

__all__ = ["GivenFile", "files_of", "matches_of", "paths_of", "refuse_below_sources"]


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read.

    Attributes:
        path: its path or address; `-` is standard input.
        segment: what a listing says of it; None for a file that was given by its own name.
    """

    path: str
    segment: StoredSegment | None = None


def matches_of(places: Places, given: str) -> list[str]:
    """The paths that a pattern stands for, by name; what exists under its own name is no pattern.

    Raises:
        OptionError: nothing matches.
    """
    if is_address(given):
        if not is_glob(given):
            return [given]
        found = [entry.path for entry in expand(places, given)]
    elif given == "-" or os.path.lexists(given) or not glob.has_magic(given):
        return [given]
    else:
        found = sorted(glob.glob(given))
    if not found:
        raise OptionError("no file matches this pattern", path=given)
    return found


def paths_of(places: Places, given: Sequence[str]) -> Iterator[str | KafkaFormatError]:
    """Yield what was given, with the paths that a pattern stands for; or why it stands for none."""
    for one in given:
        try:
            yield from matches_of(places, one)
        except KafkaFormatError as error:
            yield error


def files_of(places: Places, given: Sequence[str]) -> Iterator[GivenFile | KafkaFormatError]:
    """The files to read, in order: of a directory its segments, partition by partition.

    Yields:
        A file; or what is wrong with one that was given.
    """
    for path in paths_of(places, given):
        try:
            if isinstance(path, KafkaFormatError):
                raise path
            if _is_listed(places, path):
                yield from _listed(places, path)
            else:
                yield GivenFile(path)
        except KafkaFormatError as error:
            yield error


def refuse_below_sources(sources: Sequence[str], destination: str, given: str) -> None:
    """Refuse a destination in a source, or in the log directory of one.

    Args:
        sources: paths, patterns of paths and addresses.
        destination: with links resolved.
        given: the destination as it was given, for the error.

    Raises:
        OptionError: it is in one.
    """
    for source in sources:
        if is_address(source) or source == "-":
            continue
        for path in [source] if os.path.lexists(source) else glob.glob(source):
            _refuse_below(path, destination, given)


def _refuse_below(source: str, destination: str, given: str) -> None:
    original = os.path.realpath(source)
    if os.path.isdir(original):
        if os.path.commonpath([original, destination]) == original:
            raise OptionError(
                f"it is in {source}, which is read and never written to; choose another", path=given
            )
        directories: tuple[str, ...] = (original,)
    else:  # for a file that is a link: the directory of its target, and that of the link
        directories = os.path.dirname(original), os.path.realpath(os.path.dirname(source) or ".")
    for directory in directories:
        root = log_dir_root(directory)
        is_kafkas = root != directory or parse_directory_name(os.path.basename(directory)) is not None
        if is_kafkas and os.path.commonpath([root, destination]) == root:
            detail = f"it is in {root}, as a source is, where nothing may be written; choose another"
            raise OptionError(detail, path=given)


def _is_listed(places: Places, path: str) -> bool:
    """Whether a path is a directory, or a tier's segment, which only the files beside it explain."""
    if TIERED_NAME.fullmatch(path.rpartition("/")[2]):
        return True
    if not is_address(path):
        return os.path.isdir(path)
    entry = places.entry(path)
    return entry is not None and entry.is_directory


def _listed(places: Places, path: str) -> Iterator[GivenFile]:
    if TIERED_NAME.fullmatch(path.rpartition("/")[2]):
        yield _of_tier(places, path)
        return
    for copy in discover(places, [path], prefer_names=True):
        for one in of_kinds(copy.findings, *LEFT_OUT_KINDS) if copy.is_tiered else ():
            console.say(f"{one.path}: left out: {one.detail}")
        for segment in copy.segments:
            yield GivenFile(segment.path, segment)


def _of_tier(places: Places, path: str) -> GivenFile:
    """A tier's segment; where nothing beside it explains it, as it is."""
    with suppress(OptionError):
        for copy in discover(places, [path], prefer_names=True):
            for segment in copy.segments:
                return GivenFile(segment.path, segment)
    return GivenFile(path)
