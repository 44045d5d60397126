"""The directory that a broker starts on: what stands beside the partitions in a log directory.

Strategy: `LogManager.loadLogs` skips recovery where `.kafka_cleanshutdown` is, and takes log start offsets
and recovery points from checkpoints; `meta.properties` says whose directory it is. A node that is its own
controller has the metadata log there, too, with the state of its quorum and snapshots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from kafka_segments import formats
from kafka_segments.errors import DecodeError, KafkaFormatError, OutputError, raise_unless_file_at_fault
from kafka_segments.formats.building import build_offset_checkpoint
from kafka_segments.formats.file_names import above
from kafka_segments.io.filesystems import Places
from kafka_segments.io.outputs import OutputFile, sync_directory
from kafka_segments.log.checkpoints import CLEAN_SHUTDOWN, CLEANED, META_PROPERTIES
from kafka_segments.log.model import PartitionCopy

__all__ = ["copy_metadata_files", "properties_in", "sync_tree", "write_root_files"]

_LARGEST = 64 << 20
_KEPT = re.compile(r"quorum-state|\d{20}-\d{10}\.checkpoint", re.ASCII)


def properties_in(places: Places, copies: Iterable[PartitionCopy]) -> tuple[dict[str, bytes], list[str]]:
    """Return the content of each `meta.properties` beside the copies, by path, and what others lack."""
    found: dict[str, bytes] = {}
    wrong = []
    for root in dict.fromkeys(above(one.path) for one in copies if not one.is_tiered):
        path = f"{root.rstrip('/')}/{META_PROPERTIES}"
        content = _small_file(places, path)
        if content is None:
            continue
        try:
            formats.read_meta_properties(content)
            found[path] = content
        except DecodeError as error:
            wrong.append(
                f"{path}: {error.detail}; a broker does not start with it, and it was not taken over"
            )
    return found, wrong


def write_root_files(
    directory: str,
    named: str,
    offsets: Mapping[tuple[str, int], tuple[int, int]],
    cleaned: Mapping[tuple[str, int], int],
    properties: Sequence[bytes],
) -> None:
    """Write checkpoints, the mark of a clean shutdown, and `meta.properties` if there is one for all sources.

    Args:
        directory: where; it exists.
        named: its path when it is published, for errors.
        offsets: log start and log end offset of each partition.
        cleaned: how far the log cleaner has come in partitions, as `cleaner-offset-checkpoint` has it.
        properties: different contents of `meta.properties`.

    Raises:
        OutputError: the disk is full, or fails.
    """
    ends = {name: end for name, (_start, end) in offsets.items()}
    starts = {name: start for name, (start, _end) in offsets.items() if start}
    contents = {
        "recovery-point-offset-checkpoint": build_offset_checkpoint(ends),
        "replication-offset-checkpoint": build_offset_checkpoint(ends),
        "log-start-offset-checkpoint": build_offset_checkpoint(starts),
        CLEAN_SHUTDOWN: b"",  # its being there says it all; a broker epoch in it is optional
    }
    if cleaned:
        contents[CLEANED] = build_offset_checkpoint(cleaned)
    if len(properties) == 1:
        contents[META_PROPERTIES] = properties[0]
    for name, content in contents.items():
        _write(directory, named, name, content)


def copy_metadata_files(places: Places, copy: PartitionCopy, directory: str, named: str) -> None:
    """Copy what the metadata log of KRaft has beside its segments: `quorum-state`, snapshots.

    Raises:
        OutputError: the disk is full, or fails.
    """
    for entry in places.entries(copy.path):
        content = _small_file(places, entry.path) if _KEPT.fullmatch(entry.name) else None
        if content is not None:
            _write(directory, named, entry.name, content)


def sync_tree(path: str, named: str) -> None:
    """Fsync all files below a directory, and the directories.

    At the end of a run this takes a fraction of the time that an fsync after each file takes: the first ones
    put the journal of the file system on the disk for all.

    Args:
        path: of the directory.
        named: its path when it is published, for errors.

    Raises:
        OutputError: the disk is full, or fails.
    """
    for folder, _folders, names in os.walk(path, topdown=False):
        for name in [*names, ""]:
            one = os.path.join(folder, name)
            try:
                sync_directory(one)
            except OSError as error:
                place = os.path.join(named, os.path.relpath(one, path))
                detail = f"cannot be written: {error.strerror or error}"
                raise OutputError(detail, path=place, errno=error.errno) from error


def _write(directory: str, named: str, name: str, content: bytes) -> None:
    with closing(OutputFile(os.path.join(directory, name), os.path.join(named, name))) as file:
        file.write(content)


def _small_file(places: Places, path: str) -> bytes | None:
    """Return the content of a file; None if it is not there, cannot be read, or is no small file."""
    try:
        entry = places.entry(path)
        if entry is None or entry.is_directory or entry.size > _LARGEST:
            return None
        with closing(places.open(path)) as source:
            return bytes(source.read(0, source.size))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return None
