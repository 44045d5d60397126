"""A cluster's metadata as a node has them on disk: the newest KRaft snapshot, then `__cluster_metadata`.

Strategy: a node loads its newest snapshot, and does not start where that cannot be read to its footer. Then
it replays the log from there on. Here those records count that say which replicas and directories it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_segments.core.formats.entries import Record
from kafka_segments.core.formats.file_names import METADATA_TOPIC
from kafka_segments.core.formats.internal_records import read_metadata_record
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import (
    CorruptBatchError,
    DecodeError,
    KafkaFormatError,
    NotingFaults,
    raise_unless_file_at_fault,
)
from kafka_segments.log.model import PartitionCopy, StoredFile, StoredSegment
from kafka_segments.log.opening import open_segment_of, read_file

__all__ = ["BOOTSTRAP", "QUORUM_STATE", "SNAPSHOT", "ClusterMetadata", "start_error", "with_topic_ids"]

BOOTSTRAP, QUORUM_STATE = "bootstrap.checkpoint", "quorum-state"
SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint", re.ASCII)
_STATE_FIELDS = {0: ("clusterId", "appliedOffset", "currentVoters"), 1: ("votedDirectoryId",)}
_STATE_NUMBERS = ("leaderId", "leaderEpoch", "votedId")


@dataclass(slots=True)
class ClusterMetadata:
    """Topics, replicas and log directories of a cluster.

    Attributes:
        topics: name of each topic by its id.
        replicas: brokers of each partition, by the topic's id and the partition's number.
        log_dirs: directory ids of each broker.
        contradiction: of the records, with which a node does not start; empty if there is none.
    """

    topics: dict[str, str] = field(default_factory=dict)
    replicas: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    log_dirs: dict[int | None, list[str]] = field(default_factory=dict)
    contradiction: str = ""

    @classmethod
    def of(cls, places: Places, copy: PartitionCopy, on_damage: Any = "skip") -> ClusterMetadata:
        """Read a copy of `__cluster_metadata`, from its newest sound snapshot on.

        Args:
            places: opens files.
            copy: the copy.
            on_damage: of the log: "raise" ends it there, as a broker does, which truncates it when it starts.
        """
        found, start = cls(), 0
        files = list(copy.segments)
        for entry in sorted(places.entries(copy.path), key=lambda one: one.name, reverse=True):
            match = SNAPSHOT.fullmatch(entry.name)
            if match and start_error(places, entry) is None:
                start, files = int(match[1]), [StoredSegment(StoredFile.of(entry), 0), *files]
                break
        with NotingFaults():  # the checks of its bytes report them
            for file in files:
                is_log = file.path.endswith(".log")
                is_before = is_log and file.end_offset is not None and file.end_offset <= start
                for record in () if is_before else _records(places, file, on_damage):
                    is_before = is_log and record.offset < start
                    if record.control is None and record.value is not None and not is_before:
                        found.add(record.value)
        return found

    def add(self, value: bytes) -> None:
        """Take the value of a record in, as Kafka's `MetadataDelta.replay`."""
        try:
            name, _version, fields = read_metadata_record(value)
        except DecodeError:  # of a type that this version does not know
            return
        if name == "TOPIC_RECORD":
            self.topics[fields["topicId"]] = fields["name"]
        elif name == "REMOVE_TOPIC_RECORD":
            del self.topics[self._known(fields["topicId"], self.topics, "topic")]
        elif name in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
            topic_id = self._known(fields["topicId"], self.topics, "topic")
            if fields.get("replicas"):
                self.replicas[topic_id, fields["partitionId"]] = fields["replicas"]
        elif name == "REGISTER_BROKER_RECORD":
            self.log_dirs[fields["brokerId"]] = fields.get("logDirs") or []
        elif name == "BROKER_REGISTRATION_CHANGE_RECORD":
            broker = self._known(fields["brokerId"], self.log_dirs, "broker")
            self.log_dirs[broker] = fields.get("logDirs") or self.log_dirs[broker]

    def _known(self, one: Any, known: dict[Any, Any], what: str) -> Any:
        if one not in known:
            self.contradiction = f"a record changes {what} {one}, which no record before it has created"
            known[one] = ""
        return one


def start_error(places: Places, entry: FileEntry) -> KafkaFormatError | None:
    """Return why a node does not start with its `quorum-state`, `bootstrap.checkpoint` or newest snapshot."""
    try:
        if entry.name == QUORUM_STATE:
            _check_quorum_state(read_file(places, entry.path))
            return None
        # BatchFileReader looks at no checksums, RecordsSnapshotReader does.
        is_bootstrap = entry.name == BOOTSTRAP
        file = StoredSegment(StoredFile.of(entry), 0)
        records = list(_records(places, file, "raise", check_crc=not is_bootstrap))
        values = [one.value for one in records if one.control is None and one.value] if is_bootstrap else []
        names = {read_metadata_record(value)[2].get("name") for value in values}
        if is_bootstrap and "metadata.version" not in names:
            raise CorruptBatchError("it has no metadata.version")
        if not is_bootstrap and all(
            one.control is None or one.control.type != "SNAPSHOT_FOOTER" for one in records
        ):
            raise CorruptBatchError("it has no footer: the rest is missing")
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return error.with_context(path=entry.path)
    return None


def _check_quorum_state(data: bytes) -> None:
    """Check a `quorum-state`, of which a node reads the first line, by the rules of FileQuorumStateStore."""
    if not data.strip():
        raise DecodeError("it is empty")
    try:
        found, _end = json.JSONDecoder().raw_decode(data.partition(b"\n")[0].decode().lstrip())
        names = (*_STATE_NUMBERS, *_STATE_FIELDS[int(found["data_version"])])
        wrong = [one for one in names if one not in found] or [
            one for one in _STATE_NUMBERS if not isinstance(found[one], int)
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DecodeError(f"it is not a line of JSON with a known data_version: {error}") from error
    if wrong:
        raise DecodeError(f"its {wrong[0]} is missing or not a number")


def with_topic_ids(places: Places, copies: Sequence[PartitionCopy]) -> list[PartitionCopy]:
    """Return copies, those without a topic id with that of the topic's other copies, or of the metadata."""
    ids: dict[str, str] = {}
    for copy in copies:
        if copy.topic == METADATA_TOPIC and any(one.topic_id is None for one in copies):
            ids |= {name: topic_id for topic_id, name in ClusterMetadata.of(places, copy).topics.items()}
    ids |= {one.topic: one.topic_id for one in copies if one.topic_id is not None}
    return [one if one.topic_id else replace(one, topic_id=ids.get(one.topic)) for one in copies]


def _records(
    places: Places, file: StoredSegment, on_damage: Any, *, check_crc: bool = True
) -> Iterator[Record]:
    with open_segment_of(places, file, check_crc=check_crc) as segment:
        yield from (one for one in segment.iter_events(on_damage=on_damage) if isinstance(one, Record))
