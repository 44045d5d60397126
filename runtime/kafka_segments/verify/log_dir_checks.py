"""Checks of log directories: names, `meta.properties`, checkpoints, and several directories together.

Strategy: a broker refuses to start on a directory in its log directory without a partition's name, on a disk
of another cluster or node, and on a partition that it finds twice (LogManager, MetaPropertiesEnsemble).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass

from kafka_segments import formats
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.formats.file_names import (
    LEFT_ALONE,
    METADATA_TOPIC,
    above,
    directory_of,
    parse_directory_name,
    real_path,
)
from kafka_segments.io.filesystems import Places
from kafka_segments.log.checkpoints import HIGH_WATERMARK, META_PROPERTIES, RECOVERY_POINT, ROOT_FILES
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.skipped_files import NO_SEGMENT, WITH_MORE, SkippedFiles
from kafka_segments.verify.partition_checks import VerifyOptions
from kafka_segments.verify.sink import CheckSink

__all__ = ["check_log_dirs"]

_KRAFT = 1  # version of `meta.properties`
_CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_PUT_ASIDE = (*LEFT_ALONE, ".deleted", ".cleaned", ".swap")


@dataclass(frozen=True, slots=True)
class _Root:
    """A log directory: its path as given and resolved, the names in it, and its properties if readable."""

    path: str
    real_path: str
    names: frozenset[str]
    meta: formats.MetaProperties | None


def check_log_dirs(
    places: Places,
    copies: Sequence[PartitionCopy],
    skipped: Sequence[SkippedFiles],
    options: VerifyOptions,
    sink: CheckSink,
    *,
    is_whole: bool,
) -> None:
    """Check the log directories of some copies, and the copies against each other.

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
    _check_topic_ids(copies, sink)
    _check_partition_metadata(places, roots, copies, sink)
    _check_duplicates(roots, copies, sink)
    empty = {path for one in skipped if one.why == NO_SEGMENT for path in one.paths}
    for root in roots if is_whole else ():
        _check_missing(places, root, empty, sink)


def _check_names(skipped: Sequence[SkippedFiles], sink: CheckSink) -> None:
    for one in skipped:
        if one.why in (NO_SEGMENT, WITH_MORE):  # lawful: a broker fills it, or ignores it
            sink.note(str(one))
            continue
        for path in one.paths if one.error is None else ():
            if path.endswith(_PUT_ASIDE):
                continue  # lawful: a broker has put it aside
            sink.add("file-name" if path.endswith(".log") else "directory-name", one.why, path=path)


def _roots(places: Places, copies: Sequence[PartitionCopy], sink: CheckSink) -> Iterator[_Root]:
    """Yield the log directories of brokers among the directories above the copies."""
    above_copies: dict[str, str] = {}
    for copy in copies:
        if not copy.is_tiered:
            above_copies.setdefault(_real_root(copy), directory_of(copy.path))
    for real, path in above_copies.items():
        try:
            names = frozenset(entry.name for entry in places.entries(path))
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            continue
        if not names.intersection((*ROOT_FILES, HIGH_WATERMARK)):
            continue  # a folder with copies of partitions
        yield _Root(path, real, names, _meta_of(places, path, names, sink))


def _real_root(copy: PartitionCopy) -> str:
    return real_path(above(copy.path or "."))


def _meta_of(
    places: Places, root: str, names: frozenset[str], sink: CheckSink
) -> formats.MetaProperties | None:
    path = f"{root.rstrip('/')}/{META_PROPERTIES}"
    if META_PROPERTIES not in names:
        sink.add(
            "meta-properties", "a log directory without it: a broker takes that for a new one", path=path
        )
        return None
    try:
        with closing(places.open(path)) as source:
            size = min(source.size, formats.MAX_LEN_META_PROPERTIES + 1)  # one more, to be rejected
            return formats.read_meta_properties(bytes(source.read(0, size)))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        sink.add("meta-properties", error.detail, path=path, error=error)
        return None


def _check_meta(roots: Sequence[_Root], options: VerifyOptions, sink: CheckSink) -> None:
    known = [(root, root.meta) for root in roots if root.meta is not None]
    first = next((one for one in known if one[1].cluster_id), None)
    directories: dict[str, _Root] = {}
    for root, meta in known:
        path = f"{root.path}/{META_PROPERTIES}"
        cluster = meta.cluster_id
        if options.cluster_id is not None and cluster != options.cluster_id:
            sink.add(
                "cluster-id", f"cluster.id is {cluster}, and --cluster-id {options.cluster_id}", path=path
            )
        elif options.cluster_id is None and first is not None and cluster not in (None, first[1].cluster_id):
            detail = f"cluster.id is {cluster}, and that of {first[0].path} {first[1].cluster_id}"
            sink.add("cluster-id", detail, path=path)
        if options.node_id is not None and meta.node_id != options.node_id:
            sink.add("node-id", f"node.id is {meta.node_id}, and --node-id {options.node_id}", path=path)
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
            detail = f"topic {copy.topic} has the id {copy.topic_id}, and {first.topic_id} in {first.path}: "
            detail += "it was deleted and created anew"
            sink.add("topic-id", detail, path=f"{copy.path}/partition.metadata")


def _check_partition_metadata(
    places: Places, roots: Sequence[_Root], copies: Sequence[PartitionCopy], sink: CheckSink
) -> None:
    """Find partitions without a topic id that a broker takes for none of its own (LogManager.isStray)."""
    of_kraft = {root.real_path for root in roots if root.meta is not None and root.meta.version == _KRAFT}
    for copy in copies:
        is_named = copy.is_tiered or copy.topic_id is not None or copy.topic == METADATA_TOPIC
        if is_named or _real_root(copy) not in of_kraft:
            continue
        path = f"{copy.path}/partition.metadata"
        if places.entry(path) is None:
            detail = "it is missing: a KRaft broker puts the partition's directory aside (-stray)"
            sink.add("partition-metadata", detail, path=path)


def _check_duplicates(roots: Sequence[_Root], copies: Sequence[PartitionCopy], sink: CheckSink) -> None:
    known = [(root.real_path, root.meta) for root in roots if root.meta is not None]
    nodes = {path: (meta.cluster_id, meta.node_id) for path, meta in known if meta.node_id is not None}
    firsts: dict[tuple[object, str, int], PartitionCopy] = {}
    for copy in copies:
        node = nodes.get(_real_root(copy))
        if node is None or copy.is_tiered:
            continue
        first = firsts.setdefault((node, copy.topic, copy.partition), copy)
        if first is not copy:
            detail = f"{copy.topic}-{copy.partition} of node {node[1]} is in {first.path}, too"
            sink.add("duplicate-partition", f"{detail}: a broker does not start", path=copy.path)


def _check_missing(places: Places, root: _Root, empty: Set[str], sink: CheckSink) -> None:
    """Report partitions that a broker has noted, and that are gone since then, or have lost all segments."""
    if not sink.wants("missing-partition"):
        return
    watermarks, points = (_noted(places, root, name) for name in (HIGH_WATERMARK, RECOVERY_POINT))
    for key in sorted({*watermarks, *points}):
        name = f"{key[0]}-{key[1]}"
        path = f"{root.path}/{name}"
        end = max(watermarks.get(key, 0), points.get(key, 0))
        if path in empty and end:
            detail = f"no segment is in it, and by the checkpoints its log ended at offset {end}"
            sink.add("missing-partition", detail, path=path)
        is_noted = _CLEAN_SHUTDOWN in root.names and key in watermarks and key in points
        if not is_noted or name in root.names or parse_directory_name(name) is None:
            continue
        # Checkpoints have the partition of a -future directory, too.
        if not any(one.startswith(f"{name}.") and one.endswith(LEFT_ALONE) for one in root.names):
            detail = f"{HIGH_WATERMARK} and {RECOVERY_POINT} have {name}, which is not there"
            sink.add("missing-partition", detail, path=path)


def _noted(places: Places, root: _Root, name: str) -> Mapping[tuple[str, int], int]:
    if name not in root.names:
        return {}
    try:
        with closing(places.open(f"{root.path}/{name}")) as source:
            size = min(source.size, formats.MAX_LEN_OFFSET_CHECKPOINT + 1)
            return formats.read_offset_checkpoint(source.read(0, size))
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return {}  # checkpoint-file reports it
