"""The directory that a broker starts on: what stands beside the partitions in a log directory.

Strategy: `LogManager.loadLogs` skips recovery where `.kafka_cleanshutdown` is, and takes log start offsets
and recovery points from checkpoints; `meta.properties` says whose directory it is. A node that is its own
controller has the metadata log there, too, with the state of its quorum and snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_segments.core import formats
from kafka_segments.core.formats.building import build_offset_checkpoint
from kafka_segments.core.formats.file_names import above
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.new_outputs import write_beside
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.checkpoints import CLEAN_SHUTDOWN, CLEANED, META_PROPERTIES
from kafka_segments.log.cluster_metadata import QUORUM_STATE, SNAPSHOT, start_error
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import read_file

__all__ = ["metadata_files", "properties_in", "write_root_files"]


def properties_in(places: Places, copies: Iterable[PartitionCopy]) -> tuple[dict[str, bytes], list[str]]:
    """Return the content of each `meta.properties` beside the copies, by path, and what cannot be used."""
    found: dict[str, bytes] = {}
    wrong = []
    for root in dict.fromkeys(above(one.path) for one in copies if not one.is_tiered):
        path = f"{root.rstrip('/')}/{META_PROPERTIES}"
        try:
            entry = places.entry(path)
            if entry is not None:
                found[path] = content = read_file(places, entry.path)
                formats.read_meta_properties(content, of_node=True)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            found.pop(path, None)
            what = "a broker does not start with it, so it was not copied"
            wrong.append(f"{path}: {error.detail}; {what}")
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
        write_beside(directory, named, name, content, syncs=False)  # `new_directory` does it


def metadata_files(places: Places, copies: Iterable[PartitionCopy]) -> tuple[dict[str, bytes], list[str]]:
    """Return what KRaft's metadata log has beside its segments, by name, and what cannot be used of it.

    Args:
        places: opens files.
        copies: of the log, the most trusted first; `quorum-state` is that of the first, a node's own.
    """
    found: dict[str, bytes] = {}
    wrong: dict[str, str] = {}
    for number, copy in enumerate(copies):
        for entry in places.entries(copy.path):
            is_wanted = SNAPSHOT.fullmatch(entry.name) or (entry.name == QUORUM_STATE and number == 0)
            if not is_wanted or entry.name in found:
                continue
            error = start_error(places, entry)
            if error is None:
                found[entry.name] = read_file(places, entry.path)
            else:
                wrong[entry.name] = f"{error}; a node does not start with it, so it was not copied"
    return found, [words for name, words in wrong.items() if name not in found]
