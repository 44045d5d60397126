"""Checks of log directories: names, `meta.properties`, checkpoints, and several directories together.

Strategy: a broker refuses to start on a directory in its log directory without a partition's name, on a disk
of another cluster or node, and on a partition that it finds twice (LogManager, MetaPropertiesEnsemble).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from kafka_segments.core import formats
from kafka_segments.core.formats.file_names import (
    METADATA_TOPIC,
    above,
    directory_of,
    real_path,
)
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, NotingFaults, raise_unless_file_at_fault
from kafka_segments.log.checkpoints import (
    CHECKPOINTS,
    HIGH_WATERMARK,
    META_PROPERTIES,
    RECOVERY_POINT,
    ROOT_FILES,
    gone_partitions,
)
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import read_file
from kafka_segments.log.skipped_files import BAD_NAMES, NO_SEGMENT, PUT_ASIDE, WITH_MORE, SkippedFiles
from kafka_segments.verify.node_checks import LogDir, check_nodes
from kafka_segments.verify.partition_checks import VerifyOptions
from kafka_segments.verify.sink import CheckSink

__all__ = ["check_log_dirs"]


def check_log_dirs(
    places: Places,
    copies: Sequence[PartitionCopy],
    skipped: Sequence[SkippedFiles],
    options: VerifyOptions,
    sink: CheckSink,
    *,
    is_whole: bool,
) -> list[LogDir]:
    """Check the log directories of some copies, and the copies against each other; return the directories.

    Args:
        places: opens files.
        copies: of partitions.
        skipped: files and directories that were left out.
        options: of the verification.
        sink: collects the findings, of all partitions.
        is_whole: whether all partitions of the directories are among the copies.
    """
    _check_names(skipped, sink)
    roots = list(_roots(places, copies, sink))
    _check_meta(roots, options, sink)
    check_nodes(places, roots if is_whole else (), copies, sink)
    _check_topic_ids(copies, sink)
    _check_partition_metadata(places, roots, sink)
    _check_duplicates(roots, sink)
    reasons = {path: one.why for one in skipped for path in one.paths}
    empty = {path for path, why in reasons.items() if why == NO_SEGMENT}
    for root, entry in ((one, entry) for one in roots for entry in one.entries.values()):
        if entry.name == "lost+found" and entry.is_directory and entry.path not in reasons:
            detail = "its name is not TOPIC-PARTITION: a broker does not start, though it is empty"
            sink.add("directory-name", detail, path=entry.path)
        elif root.is_kraft and entry.path in empty and not places.entry(f"{entry.path}/partition.metadata"):
            detail = "it has no segment: a broker puts it aside (-stray)"
            sink.add("stray-partition", detail, path=entry.path)
    for root in roots if is_whole else ():
        _check_missing(root, empty, sink)
    return roots


def _check_names(skipped: Sequence[SkippedFiles], sink: CheckSink) -> None:
    for one in skipped:
        if one.why in (NO_SEGMENT, WITH_MORE):  # lawful: a broker fills it, or ignores it
            sink.note(str(one))
        elif one.why not in PUT_ASIDE and one.error is None:
            check = "file-name" if one.why in BAD_NAMES else "directory-name"
            for path in one.paths:
                sink.add(check, one.why, path=path)


def _roots(places: Places, copies: Sequence[PartitionCopy], sink: CheckSink) -> Iterator[LogDir]:
    """Yield the log directories of brokers among the directories above the copies."""
    above_copies: dict[str, dict[str, PartitionCopy]] = {}
    for copy in copies:
        if not copy.is_tiered:
            above_copies.setdefault(real_path(above(copy.path or ".")), {})[copy.path] = copy
    for inside in above_copies.values():
        path = directory_of(next(iter(inside)))
        entries: dict[str, FileEntry] = {}
        with NotingFaults():
            entries = {entry.name: entry for entry in places.entries(path)}
        if not entries.keys().isdisjoint((*ROOT_FILES, HIGH_WATERMARK)):  # else copies of partitions
            yield LogDir(
                path,
                entries,
                _meta_of(places, path, entries, sink),
                inside,
                {name: _noted(places, entries[name], sink) for name in CHECKPOINTS if name in entries},
            )


def _meta_of(
    places: Places, root: str, entries: Mapping[str, FileEntry], sink: CheckSink
) -> formats.MetaProperties | None:
    path = f"{root.rstrip('/')}/{META_PROPERTIES}"
    entry = entries.get(META_PROPERTIES)
    try:
        if entry is not None:
            return formats.read_meta_properties(read_file(places, entry.path), of_node=True)
        sink.add("meta-properties", "a log directory without this file: a broker does not start", path=path)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        sink.add("meta-properties", f"{error.detail}: a broker does not start", path=path, error=error)
    return None


def _noted(places: Places, entry: FileEntry, sink: CheckSink) -> Mapping[tuple[str, int], int]:
    try:
        return formats.read_offset_checkpoint(read_file(places, entry.path))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        detail = f"{error.detail}: a broker stops when it reads it"
        sink.add("checkpoint-file", detail, path=entry.path, position=error.position, error=error)
        return {}


def _check_meta(roots: Sequence[LogDir], options: VerifyOptions, sink: CheckSink) -> None:
    known = [(root, root.meta) for root in roots if root.meta is not None]
    first = next((one for one in known if one[1].cluster_id), None)
    directories: dict[str, LogDir] = {}
    for root, meta in known:
        path = f"{root.path}/{META_PROPERTIES}"
        cluster = meta.cluster_id
        if options.cluster_id is not None and cluster != options.cluster_id:
            sink.add(
                "cluster-id", f"cluster.id is {cluster}, but --cluster-id is {options.cluster_id}", path=path
            )
        elif options.cluster_id is None and first is not None and cluster not in (None, first[1].cluster_id):
            detail = f"cluster.id is {cluster}, but that of {first[0].path} is {first[1].cluster_id}"
            sink.add("cluster-id", detail, path=path)
        if options.node_id is not None and meta.node_id != options.node_id:
            sink.add("node-id", f"node.id is {meta.node_id}, but --node-id is {options.node_id}", path=path)
        directory_id = meta.directory_id
        if directory_id is not None and directory_id in directories:
            other = directories[directory_id].path
            sink.add(
                "directory-id", f"directory.id is {directory_id}, as in {other}: one is a copy", path=path
            )
        elif directory_id is not None:
            directories[directory_id] = root


def _check_topic_ids(copies: Sequence[PartitionCopy], sink: CheckSink) -> None:
    firsts: dict[str, PartitionCopy] = {}
    for copy in copies:
        if copy.topic_id is None:
            continue
        first = firsts.setdefault(copy.topic, copy)
        if copy.topic_id != first.topic_id:
            detail = f"topic {copy.topic} has the id {copy.topic_id}, but {first.topic_id} in {first.path}: "
            detail += "it was deleted and created again"
            sink.add("topic-id", detail, path=f"{copy.path}/partition.metadata")


def _check_partition_metadata(places: Places, roots: Sequence[LogDir], sink: CheckSink) -> None:
    """Find partitions without a topic id that a broker takes for none of its own (LogManager.isStray)."""
    for copy in (copy for root in roots if root.is_kraft for copy in root.copies.values()):
        path = f"{copy.path}/partition.metadata"
        if copy.topic_id is None and copy.topic != METADATA_TOPIC and places.entry(path) is None:
            detail = "it is missing: a KRaft broker puts the partition's directory aside (-stray)"
            sink.add("partition-metadata", detail, path=path)


def _check_duplicates(roots: Sequence[LogDir], sink: CheckSink) -> None:
    firsts: dict[tuple[object, ...], PartitionCopy] = {}
    for root in (one for one in roots if one.meta is not None and one.meta.node_id is not None):
        for copy in root.copies.values():
            node = root.meta and (root.meta.cluster_id, root.meta.node_id)
            first = firsts.setdefault((node, copy.topic, copy.partition), copy)
            if first is not copy:
                detail = f"{copy.topic}-{copy.partition} of this node is in {first.path}, too"
                sink.add("duplicate-partition", f"{detail}: a broker does not start", path=copy.path)


def _check_missing(root: LogDir, empty: Set[str], sink: CheckSink) -> None:
    """Report partitions that a broker has noted, and that are gone since then, or have lost all segments."""
    if not sink.wants("missing-partition"):
        return
    watermarks, points = (root.noted.get(name, {}) for name in (HIGH_WATERMARK, RECOVERY_POINT))
    gone = {*gone_partitions(root.entries, root.noted)}
    for key in sorted({*watermarks, *points}):
        name = f"{key[0]}-{key[1]}"
        path = f"{root.path}/{name}"
        end = max(watermarks.get(key, 0), points.get(key, 0))
        if path in empty and end:
            detail = f"it has no segment, but its log ended at offset {end} according to the checkpoints"
            sink.add("missing-partition", detail, path=path)
        if name in gone:
            detail = f"{HIGH_WATERMARK} and {RECOVERY_POINT} list {name}, which does not exist"
            sink.add("missing-partition", detail, path=path)
