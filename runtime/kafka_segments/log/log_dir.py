"""Files in a broker's log directory: segments, and what the other files say about them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from itertools import chain

from kafka_segments.core.formats.file_names import SEGMENT_NAME, is_address, parse_directory_name
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.log.checkpoints import ROOT_FILES
from kafka_segments.log.model import StoredFile, StoredSegment
from kafka_segments.log.opening import is_remote
from kafka_segments.log.segment_extents import extent_of

__all__ = ["is_deleted", "log_dir_root", "refuse_below_sources", "segments_in", "swaps_in", "without_log"]

_BESIDE = frozenset(["log", "index", "timeindex", "txnindex", "snapshot"])
_CLEANED = re.compile(r"(\d{20})\..*\.cleaned", re.ASCII)
_INDEXES = frozenset(["index", "timeindex"])
"""Suffixes of files that a segment has; a producer snapshot may have any offset."""


def log_dir_root(path: str | os.PathLike[str]) -> str:
    """Find the log directory that a path belongs to; the nearest directory if there is none.

    For a partition's directory or a file in one, this is the parent directory if it has a broker's files.
    """
    path = os.path.realpath(path)
    directory = path if os.path.isdir(path) else os.path.dirname(path)
    above = os.path.dirname(directory)
    is_root = any(os.path.exists(os.path.join(above, name)) for name in ROOT_FILES)
    return above if is_root and parse_directory_name(os.path.basename(directory)) else directory


def refuse_below_sources(sources: Iterable[str], destination: str, given: str) -> None:
    """Refuse a destination in a source, or in the log directory of one.

    Args:
        sources: paths, patterns of paths and addresses.
        destination: with links resolved.
        given: the destination as it was given, for the error.

    Raises:
        OptionError: it is in one.
    """
    local = [one for one in sources if one != "-" and not is_address(one)]
    for path in chain.from_iterable([one] if os.path.lexists(one) else glob.glob(one) for one in local):
        original = os.path.realpath(path)
        # For a file that is a link: the directory of its target, and that of the link.
        beside = os.path.dirname(original), os.path.realpath(os.path.dirname(path) or ".")
        for folder in (original,) if os.path.isdir(original) else beside:
            root = log_dir_root(folder)
            is_kafkas = root != folder or parse_directory_name(os.path.basename(folder)) is not None
            if (is_kafkas or folder == original) and os.path.commonpath([root, destination]) == root:
                detail = f"it lies in the source {root}, and nothing is written to sources; choose another"
                raise OptionError(detail, path=given)


def segments_in(entries: Iterable[FileEntry], reached: Iterable[int | None] = ()) -> list[StoredSegment]:
    """Return the segments in a partition's directory, each with its other files, by base offset.

    `reached` are offsets that the log reached once, where they are known.
    """
    groups: dict[str, dict[str, StoredFile]] = {}
    for entry in entries:
        stem, _, suffix = entry.name.partition(".")
        if suffix in _BESIDE and (stem in groups or _is_segments(stem)):
            groups.setdefault(stem, {})[suffix] = StoredFile.of(entry)
    found = [(int(stem), groups[stem]) for stem in sorted(groups) if "log" in groups[stem]]
    ends = [*(base for base, _files in found[1:]), None]
    snapshots = (int(stem) for stem in groups if "snapshot" in groups[stem])
    noted_end = max((0, *snapshots, *(one or 0 for one in reached)))
    notes = [*(0 for _base in found[1:]), noted_end]
    return [
        StoredSegment(files.pop("log"), base, end is None, files, end_offset=end, noted_end=noted)
        for (base, files), end, noted in zip(found, ends, notes, strict=False)
    ]


def _is_segments(stem: str) -> bool:
    return SEGMENT_NAME.fullmatch(f"{stem}.log") is not None and int(stem) <= MAX_LONG


def is_deleted(places: Places, segment: StoredSegment, log_start_offset: int | None) -> bool:
    """Return whether a segment's records are deleted: by its name, and by its content if that may be wrong.

    Of segments in stores only the name counts.
    """
    if log_start_offset is None or segment.end_offset is None or segment.end_offset > log_start_offset:
        return False
    extent = None if is_remote(segment.file) else extent_of(places, segment)
    return extent is None or extent.last < log_start_offset


def without_log(entries: Iterable[FileEntry]) -> tuple[int, ...]:
    """Return the base offsets of indexes without a segment."""
    names = {entry.name for entry in entries}
    found = set()
    for name in names:
        stem, _, suffix = name.partition(".")
        log = f"{stem}.log"
        if suffix in _INDEXES and log not in names and SEGMENT_NAME.fullmatch(log):
            found.add(int(stem))
    return tuple(sorted(found))


def swaps_in(entries: Iterable[FileEntry]) -> tuple[tuple[int, str], ...]:
    """Return base offset and path of each `.swap` segment that a broker has yet to swap in for its originals.

    Those from the lowest `.cleaned` file on are unfinished, and a broker deletes them (KAFKA-6264).
    """
    entries = list(entries)
    names = {entry.name for entry in entries}
    cleaned = filter(None, (_CLEANED.fullmatch(name) for name in names if name.endswith(".cleaned")))
    unfinished = min((int(match[1]) for match in cleaned), default=MAX_LONG + 1)
    found = []
    for entry in entries:
        if not entry.name.endswith(".swap"):
            continue
        log = entry.name.removesuffix(".swap")
        match = SEGMENT_NAME.fullmatch(log)
        if match and log not in names and entry.size and int(match[1]) < unfinished:
            found.append((int(match[1]), entry.path))
    return tuple(sorted(found))
