"""Sources on the command line: files, patterns of paths, and directories with segments."""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from kafka_segments.cli import console, parsing
from kafka_segments.core.formats.file_names import TIERED_NAME, is_address
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.globs import expand, is_glob
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import LEFT_OUT_KINDS, of_kinds
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.opening import open_stored

__all__ = ["GivenFile", "files_of", "matches_of", "paths_of", "places_of"]


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read.

    Attributes:
        path: its path or address; `-` is standard input.
        segment: what a listing says of it; None for a file that was given by its own name.
    """

    path: str
    segment: StoredSegment | None = None

    def open(self, places: Places, *, only_files: bool = False) -> Source:
        """Open it for reading; close it afterwards.

        Args:
            places: opens it.
            only_files: refuse what is not a regular file, though it was given by its own name.

        Raises:
            KafkaFormatError: it cannot be opened.
        """
        if self.segment is not None:
            return open_stored(places, self.segment)
        given = places.open(self.path) if is_address(self.path) else self.path
        return open_source(given, only_files=only_files, closes_source=True)


def places_of(arguments: argparse.Namespace, *, keep_cache: bool = True) -> Places:
    """Return what opens files and stores, with the settings that the arguments have for stores.

    Args:
        arguments: of a verb with `parsing.add_named_options`.
        keep_cache: see `Places`.

    Raises:
        OptionError: a setting that stores do not have.
    """
    return Places(store_settings(parsing.named_options(arguments.option, ())), keep_cache=keep_cache)


def matches_of(places: Places, given: str) -> list[str]:
    """The paths that a pattern stands for, by name; what exists under its own name is not a pattern.

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


def files_of(
    places: Places, given: Sequence[str], listed: list[PartitionCopy] | None = None
) -> Iterator[GivenFile | KafkaFormatError]:
    """The files to read, in order: of a directory its segments, partition by partition.

    Args:
        places: lists directories, and opens stores.
        given: paths, addresses and patterns.
        listed: receives the copies in directories.

    Yields:
        A file; or what is wrong with one that was given.
    """
    for path in paths_of(places, given):
        try:
            if isinstance(path, KafkaFormatError):
                raise path
            if TIERED_NAME.fullmatch(path.rpartition("/")[2]):
                yield _of_tier(places, path)
            elif _is_directory(places, path):
                copies = discover(places, [path], prefer_names=True)
                if listed is not None:
                    listed += copies
                yield from chain.from_iterable(map(_files_in, copies))
            else:
                yield GivenFile(path)
        except KafkaFormatError as error:
            yield error


def _is_directory(places: Places, path: str) -> bool:
    if not is_address(path):
        return os.path.isdir(path)
    entry = places.entry(path)
    return entry is not None and entry.is_directory


def _files_in(copy: PartitionCopy) -> Iterator[GivenFile]:
    for one in of_kinds(copy.findings, *LEFT_OUT_KINDS) if copy.is_tiered else ():
        console.say(f"{one.path}: left out: {one.detail}")
    for segment in copy.segments:
        yield GivenFile(segment.path, segment)


def _of_tier(places: Places, path: str) -> GivenFile:
    """A tier's segment, which the files beside it explain; where none does, as it is."""
    with suppress(OptionError):
        for copy in discover(places, [path], prefer_names=True):
            for segment in copy.segments:
                return GivenFile(segment.path, segment)
    return GivenFile(path)
