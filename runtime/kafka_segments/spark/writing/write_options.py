"""Options of `df.write.format("kafka-segments")`: named as in Spark's `kafka` sink, and for the files."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_segments.core.formats.file_names import is_address, parse_directory_name
from kafka_segments.errors import OptionError
from kafka_segments.query import option_values as values
from kafka_segments.query.options import GivenOptions, Option, is_sparks_own, nearest
from kafka_segments.write.batch_options import MAX_INT, Options, check_numbers, options_of

__all__ = ["WRITE_OPTIONS", "WriteOptions"]

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_TOPIC_IDS = '{"topicA":"fwkWwJEoQPCcRdzgt2QjPQ"}'


def _to_topic(name: str, text: str) -> str:
    if parse_directory_name(f"{text}-0") is None:
        raise OptionError(
            f"option {name} is {text!r:.80}; a topic's name is 1 to 249 of the characters a-z A-Z 0-9 . _ -"
        )
    return text


def _to_topic_ids(name: str, text: str) -> str | dict[str, str]:
    """Parse one id, or ids by topic as JSON."""
    if not text.strip().startswith("{"):
        return _checked_id(name, text.strip())
    return {topic: _checked_id(name, one) for topic, one in values.to_json(name, text, _TOPIC_IDS).items()}


def _checked_id(name: str, topic_id: object) -> str:
    is_text = isinstance(topic_id, str) and _TOPIC_ID.fullmatch(topic_id) is not None
    if not is_text or not any(base64.urlsafe_b64decode(f"{topic_id}==")):
        raise OptionError(
            f"option {name}: {topic_id!r:.60} is not a topic's id, which is a UUID in 22 characters of "
            "base64url; kafka-topics.sh --describe shows it"
        )
    return str(topic_id)


_TABLE = (
    Option("write", "path", values.to_path,
        "the directory to write: a local path, under which executors must see what the driver sees"),
    Option("write", "topic", _to_topic, "the topic of all rows; takes precedence over the column"),
    Option("write", "numPartitions", values.to_positive,
        "partitions of each topic, among which keys are spread if a row has no partition", "1"),
    Option("write", "compression", values.to_stripped, "`none`, `gzip`, `snappy`, `lz4` or `zstd`", "none",
        alias="kafka.compression.type"),
    Option("write", "compressionLevel", values.to_integer, "within Kafka's range for the codec"),
    Option("write", "batchSize", values.size_from(0),
        "maximum bytes of a batch, before compression; a larger record gets its own batch", "16384",
        alias="kafka.batch.size"),
    Option("write", "maxMessageBytes", values.size_from(1),
        "maximum bytes of a stored batch (`max.message.bytes`); a larger one is an error", "1048588"),
    Option("write", "segmentBytes", values.size_from(1),
        "maximum bytes of a segment (`segment.bytes`); then the next one begins", "1g"),
    Option("write", "indexIntervalBytes", values.size_from(0),
        "bytes between two entries of an index (`index.interval.bytes`)", "4096"),
    Option("write", "leaderEpoch", values.to_integer, "epoch of the batches and of `leader-epoch-checkpoint`",
        "0"),
    Option("write", "topicId", _to_topic_ids,
        f"the topic's id in its cluster, for `partition.metadata`; JSON for several topics: `{_TOPIC_IDS}`; "
        "without it, there is no such file"),
)  # fmt: skip

WRITE_OPTIONS: Mapping[str, Option] = {option.name: option for option in _TABLE}
"""Options of writing, by name."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a write, checked.

    Attributes:
        path: of the directory, absolute.
        topic: of all rows; None takes it from the column.
        num_partitions: of each topic, for rows without a partition.
        batches: options of batches, as `open_partition_writer` takes them.
        segment_bytes: bytes of a segment at most.
        index_interval_bytes: bytes between two entries of an index.
        leader_epoch: of all batches.
        topic_ids: one id, or ids by topic; empty for none.
        remarks: to be logged: options that mean nothing here.
    """

    path: str
    topic: str | None = None
    num_partitions: int = 1
    batches: Options = field(default_factory=Options)
    segment_bytes: int = 1 << 30
    index_interval_bytes: int = 4096
    leader_epoch: int = 0
    topic_ids: str | Mapping[str, str] = ""
    remarks: tuple[str, ...] = ()

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """Check options as Spark hands them over: names in any case, values strings.

        Raises:
            OptionError: an unknown option, a value that is not allowed, no path, or one that is not
                of this machine.
            MissingCodecError: the codec's package is not installed.
        """
        ignored = _ignored(options)
        given = GivenOptions(options, WRITE_OPTIONS)
        epoch = given["leaderEpoch"]
        batches = Options(
            compression=given["compression"].lower(),
            compression_level=given["compressionLevel"],
            batch_size=given["batchSize"],
            max_message_bytes=given["maxMessageBytes"],
            partition_leader_epoch=epoch,
        )
        options_of(batches)
        if epoch < 0:
            raise OptionError(f"option leaderEpoch is {epoch}; a leader's epochs count from 0")
        numbers: dict[str, Any] = {
            "segment_bytes": given["segmentBytes"],
            "index_interval_bytes": given["indexIntervalBytes"],
        }
        check_numbers(**numbers)
        if given["numPartitions"] > MAX_INT:
            raise OptionError(
                f"option numPartitions is {given['numPartitions']}; Kafka has {MAX_INT} at most"
            )
        return cls(
            path=_path(given),
            topic=given["topic"],
            num_partitions=given["numPartitions"],
            batches=batches,
            leader_epoch=epoch,
            topic_ids=given["topicId"] or "",
            remarks=(f"no broker is contacted, so these options have no effect: {ignored}",)
            if ignored
            else (),
            **numbers,
        )

    def topic_id_of(self, topic: str) -> str | None:
        """Return the id of a topic; None without one."""
        if isinstance(self.topic_ids, str):
            return self.topic_ids or None
        return self.topic_ids.get(topic)


def _ignored(options: Mapping[str, str]) -> str:
    """Check the names of options; return those about a broker that mean nothing here."""
    known = {name for option in _TABLE for name in option.names}
    ignored = []
    for name in sorted(map(str.lower, options)):
        if name in known or is_sparks_own(name):
            continue
        if not name.startswith("kafka."):
            raise OptionError(f"unknown option {name} for writing{nearest(name, WRITE_OPTIONS)}")
        ignored.append(name)
    return ", ".join(ignored)


def _path(given: GivenOptions) -> str:
    if "path" not in given:
        raise OptionError("no path: give the directory to write, .save('/a/directory')")
    path: str = given["path"]
    if is_address(path):
        raise OptionError(
            "segments are written to a file system of this machine, as a broker's are; give a local path, "
            "and copy the directory to a store afterwards",
            path=path,
        )
    return path
