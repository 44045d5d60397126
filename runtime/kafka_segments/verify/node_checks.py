"""Checks of what a broker reads of a log directory when it starts, and what it makes of the directory then.

Strategy: found by experiment, see docs/verify-reference.md. A node starts on nothing that it cannot read
of its small files, and it puts aside partitions that its metadata do not have. After a crash a broker reads
each segment from the recovery point on, and the metadata log always from its beginning. It cuts a segment
where a batch is not valid, and deletes those after it (LogLoader.recoverLog).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_segments.core import formats
from kafka_segments.core.formats.file_names import METADATA_TOPIC, name_in, parse_directory_name
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors.escaping import shown
from kafka_segments.log.checkpoints import LOG_START, META_PROPERTIES, RECOVERY_POINT
from kafka_segments.log.cluster_metadata import (
    BOOTSTRAP,
    QUORUM_STATE,
    SNAPSHOT,
    ClusterMetadata,
    start_error,
)
from kafka_segments.log.findings import Finding
from kafka_segments.log.model import PartitionCopy
from kafka_segments.verify.sink import CheckSink

__all__ = ["LogDir", "check_nodes"]

_KRAFT = 1  # version of `meta.properties`
_STOPS = (
    *("meta-properties", "quorum-state", "cluster-metadata", "directory-name", "file-name"),
    *("checkpoint-file", "duplicate-partition", "cluster-id", "node-id"),
)
_STOPS_UNREAD = ("partition-metadata", "leader-epoch-file")
_STRAYS = ("stray-partition", "topic-id", "partition-metadata")
EFFECTS = {
    "stops": "",
    "strayed": "puts aside {} partition",
    "truncated": "truncates {} partition",
    "deleted": "deletes {} segment",
}
_INVALID = ("crc", "batch-length", "magic", "zeros", "offset-order")


@dataclass(slots=True)
class LogDir:
    """A log directory, and what a broker makes of it when it starts.

    Attributes:
        path: as given.
        entries: what is in it, by name.
        meta: its properties, if they can be read.
        copies: its partitions, by path.
        noted: offsets of partitions in its checkpoints that can be read, by name.
        has_metadata: whether the node's metadata log is there, which says what partitions it has.
        effects: what a broker does not start for, puts aside, truncates and deletes.
        is_less: whether there are findings in it.
    """

    path: str
    entries: Mapping[str, FileEntry]
    meta: formats.MetaProperties | None
    copies: Mapping[str, PartitionCopy]
    noted: Mapping[str, Mapping[tuple[str, int], int]]
    has_metadata: bool = False
    effects: dict[str, set[str]] = field(default_factory=lambda: {one: set() for one in EFFECTS})
    is_less: bool = False

    @property
    def is_kraft(self) -> bool:
        """Whether it is of a node with KRaft."""
        return self.meta is not None and self.meta.version == _KRAFT

    @property
    def partitions(self) -> set[str]:
        """Paths of all partitions' directories in it."""
        directories = (entry for entry in self.entries.values() if entry.is_directory)
        return {one.path for one in directories if parse_directory_name(one.name) is not None}

    def add(self, finding: Finding) -> None:
        """Add the effects of a finding."""
        path, check = finding.path or "", finding.check
        prefix = f"{self.path.rstrip('/')}/"
        if not path.startswith(prefix):
            return
        self.is_less = True
        name, copy = path.removeprefix(prefix), self.copies.get(path.rpartition("/")[0])
        if check in _STOPS or (check in _STOPS_UNREAD and finding.error is not None):
            self.effects["stops"].add(name)
        elif check in _STRAYS:
            self.effects["strayed"].add(name.partition("/")[0])
        elif name == LOG_START:  # beyond the end of the log
            key = finding.topic, finding.partition
            beyond = [one for one in self.copies.values() if (one.topic, one.partition) == key]
            self.effects["deleted"].update(each.path for one in beyond for each in one.segments)
        elif copy is not None:
            self._add_bytes(copy, finding, name)

    def _add_bytes(self, copy: PartitionCopy, finding: Finding, name: str) -> None:
        """Add what a broker does because of the bytes of a segment, or its time index."""
        check, is_metadata = finding.check, copy.topic == METADATA_TOPIC
        is_clean, point = copy.end.was_shut_down and not is_metadata, copy.end.recovery_point or 0
        if (check == "torn-tail" and not is_clean) or (check == "snapshot-end" and is_metadata):
            self.effects["truncated"].add(copy.path)
        for at, one in enumerate(copy.segments):
            end = one.end_offset
            is_recovered = not is_clean and (is_metadata or end is None or end > point)
            if finding.path != one.path:
                if (
                    end is not None
                    and finding.end_position
                    and name.endswith(f"{one.base_offset:020d}.timeindex")
                ):
                    self.effects["deleted"].add(one.path)  # for the zeros at the end of its time index
            elif check == "segment-name" if is_recovered else (is_clean and check == "zeros" and end is None):
                self.effects["stops"].add(name)
            elif check in _INVALID and (is_recovered or "index" not in one.beside):  # recovered to rebuild it
                self.effects["truncated"].add(copy.path)
                later = copy.segments[at + 1 :] if is_recovered else ()
                self.effects["deleted"].update(each.path for each in later)

    def __str__(self) -> str:
        what, stops = f"{shown(self.path)}: a Kafka 4.3 broker", sorted(map(shown, self.effects["stops"]))
        if stops:
            more = f" and {len(stops) - 3} more" if len(stops) > 3 else ""
            return f"{what} does not start, for {', '.join(stops[:3])}{more}"
        found = [(words, len(self.effects[one])) for one, words in EFFECTS.items() if self.effects[one]]
        done = [words.format(number) + "s" * (number > 1) for words, number in found]
        if not done:
            done = ["serves all but what the findings name" if self.is_less else "serves all"]
        known = "" if self.has_metadata else f" (as far as is known without its {METADATA_TOPIC})"
        return f"{what} starts, and {', '.join(done)}{known}"


def check_nodes(
    places: Places, log_dirs: Sequence[LogDir], copies: Iterable[PartitionCopy], sink: CheckSink
) -> None:
    """Check log directories as the nodes that they belong to read them.

    Args:
        places: opens files.
        log_dirs: with all of their partitions; several may be of one node.
        copies: of partitions, in log directories or not.
        sink: collects the findings.
    """
    for copy in copies:
        if copy.topic == METADATA_TOPIC and not copy.is_tiered:
            names = {entry.name: entry for entry in places.entries(copy.path)}
            newest = max(filter(SNAPSHOT.fullmatch, names), default=None)
            for name in filter(names.__contains__, (QUORUM_STATE, newest or "")):
                _check_start(places, names[name], sink)
    nodes: dict[object, list[LogDir]] = {}
    for one in log_dirs:
        _check_links(one, sink)
        if one.meta is not None and one.is_kraft:
            nodes.setdefault((one.meta.cluster_id, one.meta.node_id), []).append(one)
            if BOOTSTRAP in one.entries:
                _check_start(places, one.entries[BOOTSTRAP], sink)
    for node in nodes.values():
        own = [copy for one in node for copy in one.copies.values() if copy.topic == METADATA_TOPIC]
        metadata = ClusterMetadata.of(places, own[0], "raise") if own else None
        if metadata is not None and metadata.contradiction:
            detail = f"{metadata.contradiction}: a node does not start"
            sink.add("cluster-metadata", detail, path=own[0].path)
        for one in node:
            one.has_metadata = bool(own)
            if own or all(_is_complete(each) for each in node):
                _check_assigned(metadata, one, sink)


def _check_links(log_dir: LogDir, sink: CheckSink) -> None:
    for name, entry in log_dir.entries.items():
        if not entry.is_directory and not entry.identity and parse_directory_name(name) is not None:
            check = "directory-name" if name in _noted_names(log_dir) else "missing-partition"
            detail = "a partition's name, but a broken link, or one to a disk that is not mounted"
            sink.add(check, detail, path=entry.path)


def _check_start(places: Places, entry: FileEntry, sink: CheckSink) -> None:
    error = start_error(places, entry)
    if error is not None:
        check = QUORUM_STATE if entry.name == QUORUM_STATE else "cluster-metadata"
        detail = f"{error.detail}: a node does not start"
        sink.add(check, detail, path=entry.path, position=error.position, error=error)


def _is_complete(log_dir: LogDir) -> bool:
    """Return whether a directory has all partitions of its checkpoint, and is not a copy of one or some."""
    names = _noted_names(log_dir)
    is_formatted = BOOTSTRAP in log_dir.entries  # as kafka-storage.sh leaves each directory of a node
    return is_formatted and len(names) > 1 and names <= {name_in(path) for path in log_dir.copies}


def _noted_names(log_dir: LogDir) -> set[str]:
    return {f"{topic}-{partition}" for topic, partition in log_dir.noted.get(RECOVERY_POINT, ())}


def _check_assigned(metadata: ClusterMetadata | None, log_dir: LogDir, sink: CheckSink) -> None:
    """Check the partitions of a directory, and its id, against the cluster's metadata; None: none."""
    assert log_dir.meta is not None  # is_kraft
    own = log_dir.meta.node_id
    copies = [one for one in log_dir.copies.values() if one.topic != METADATA_TOPIC and one.topic_id]
    for copy in copies:
        check, detail = _why_stray(metadata, copy, own)
        if check:
            path = f"{copy.path}/partition.metadata"
            sink.add(check, f"{METADATA_TOPIC} {detail}: a broker puts it aside (-stray)", path=path)
    known = {} if metadata is None else metadata.log_dirs
    if copies and known and log_dir.meta.directory_id not in known.get(own, ()):
        ids = ", ".join(known.get(own, ())) or "none"
        detail = f"directory.id is {log_dir.meta.directory_id}, but node {own} has registered {ids}"
        path = f"{log_dir.path}/{META_PROPERTIES}"
        check = "directory-id" if own in known else "node-id"  # else it is the directory of another node
        sink.add(check, f"{detail}: a broker does not serve its partitions", path=path)


def _why_stray(metadata: ClusterMetadata | None, copy: PartitionCopy, node_id: int | None) -> tuple[str, str]:
    """Return check and reason of a partition that a broker does not take (LogManager.isStray)."""
    if metadata is None:
        return "stray-partition", "is in none of the given directories of the node (give all of them)"
    topic_id = copy.topic_id or ""
    topic, replicas = metadata.topics.get(topic_id), metadata.replicas.get((topic_id, copy.partition))
    ids = [one for one, name in metadata.topics.items() if name == copy.topic]
    if topic is None and ids:
        return "topic-id", f"has the id {ids[0]} for topic {copy.topic}, not {topic_id}"
    if topic is None or not replicas:
        return "stray-partition", "does not have it"
    return ("", "") if node_id in replicas else ("stray-partition", f"has it on node {replicas[0]}")
