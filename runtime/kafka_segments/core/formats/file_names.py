"""Names of directories and files of Kafka; local paths and addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from msgspec import Meta

from kafka_segments.core.formats.java import MAX_LONG

__all__ = [
    "LEFT_ALONE",
    "METADATA_TOPIC",
    "NO_END",
    "SEGMENT_NAME",
    "TIERED_NAME",
    "WHY_LEFT_ALONE",
    "Count",
    "InnerPath",
    "PartitionNumber",
    "SegmentPath",
    "TopicName",
    "TopicPartition",
    "above",
    "absolute_path",
    "directory_of",
    "is_address",
    "name_in",
    "parse_directory_name",
    "real_path",
    "tiered_names",
    "tiers_topic",
    "with_ends",
]

NO_END = MAX_LONG + 1
"""An end that no offset reaches."""
SEGMENT_NAME = re.compile(r"(\d{20})\.log", re.ASCII)
TIERED_NAME = re.compile(r"(\d{20})-([A-Za-z0-9_-]{22})\.(log|rsm-manifest)", re.ASCII)
METADATA_TOPIC = "__cluster_metadata"
WHY_LEFT_ALONE = {
    "-delete": "a broker has put it aside for deletion (-delete) and will remove it",
    "-future": "a copy of another partition's directory, which a broker was moving to this disk (-future)",
    "-stray": "a broker has put it aside, since the partition is not assigned to it (-stray); to read it, "
    "copy it to a directory named TOPIC-PARTITION",
}
"""Ends of the names of directories that a broker has put aside, with the reason."""
LEFT_ALONE = tuple(WHY_LEFT_ALONE)
_TOPIC = r"[a-zA-Z0-9._-]{1,249}"  # Topic.detectInvalidTopic
_LEGAL_TOPIC = re.compile(_TOPIC)
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_WITH_ID = re.compile(r"(.+)-([A-Za-z0-9_-]{22})")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_LARGEST_PARTITION = 2**31 - 1

# Types of values in files that others may have written: `query.documents` checks them.
TopicName = Annotated[str, Meta(pattern=rf"\A(?!\.\.?\Z){_TOPIC}\Z")]
PartitionNumber = Annotated[int, Meta(ge=0, le=_LARGEST_PARTITION)]
Count = Annotated[int, Meta(ge=0)]
InnerPath = Annotated[str, Meta(pattern=rf"(?s)\A(?!{_ADDRESS.pattern})(?!(.*/)?\.?\.?(/|\Z))[^\0]+\Z")]
"""Path of a file below a directory: relative, and none of its parts is empty, `.` or `..`."""
SegmentPath = Annotated[str, Meta(pattern=r"\A([^\0]*/)?([0-9]{20}[.-][^/\0]+|leader-epoch-checkpoint)\Z")]
"""Path of a segment, or of a file beside it, as brokers and tiers name them."""


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A topic's name and the number of one of its partitions."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_directory_name(name: str) -> TopicPartition | None:
    """The partition that a directory of this name belongs to, or None: the last `-` divides, as in Kafka.

    Example:
        >>> parse_directory_name("my-topic-3")
        TopicPartition(topic='my-topic', partition=3)
        >>> parse_directory_name("my-topic-3.86a97d43e8774c988bf382f2cb129613-delete") is None
        True
    """
    topic, dash, number = name.rpartition("-")
    if not dash or not _is_topic(topic) or not _is_number(number):
        return None
    return TopicPartition(topic, int(number))


def is_address(path: str) -> bool:
    """Whether a path has a scheme, and is not just a path of this machine."""
    return _ADDRESS.match(path) is not None


def real_path(path: str) -> str:
    """The real path of a local path; an address in its normal form."""
    return path.rstrip("/") if is_address(path) else os.path.realpath(path)


def absolute_path(path: str) -> str:
    """A local path from the root on, with its links; an address as it is."""
    return path if is_address(path) else os.path.abspath(path)


def name_in(path: str) -> str:
    """The last part of a path."""
    return absolute_path(path).rstrip("/").rpartition("/")[2]


def above(path: str) -> str:
    """The directory that a path is in."""
    return path.rstrip("/").rpartition("/")[0] if is_address(path) else os.path.dirname(os.path.abspath(path))


def directory_of(path: str) -> str:
    """The directory that a file is in, as its path names it."""
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def tiers_topic(name: str) -> tuple[str, str] | None:
    """Topic and id, if a name is one that a tier gives to a topic's directory."""
    match = _WITH_ID.fullmatch(name)
    return (match[1], match[2]) if match and _is_topic(match[1]) else None


def _is_topic(name: str) -> bool:
    return _LEGAL_TOPIC.fullmatch(name) is not None and name not in (".", "..")


def _is_number(text: str) -> bool:
    return _PARTITION.fullmatch(text) is not None and int(text) <= _LARGEST_PARTITION


def tiered_names(name: str, topic: tuple[str, str] | None) -> list[tuple[TopicPartition | str, str]]:
    """The partitions or topics that a directory of a tier may belong to, with the topic's id.

    Args:
        name: the directory's.
        topic: the topic and id that the directory above is named by, if it is.
    """
    if topic is not None:
        return [(TopicPartition(topic[0], int(name)), topic[1])] if _is_number(name) else []
    found: list[tuple[TopicPartition | str, str]] = []
    match = _WITH_ID.fullmatch(name)
    if match:
        partition = parse_directory_name(match[1])
        found += [(partition, match[2])] if partition else []
        found += [(match[1], match[2])] if _is_topic(match[1]) else []
    return found


class _Named(Protocol):
    @property
    def base_offset(self) -> int: ...


_Segment = TypeVar("_Segment", bound=_Named)


def with_ends(segments: Sequence[_Segment]) -> Iterator[tuple[_Segment, int | None]]:
    """Pair each segment of a partition with the base offset of the next one, which bounds its offsets.

    Args:
        segments: by base offset, ascending. The last one has None.
    """
    ends = [*(segment.base_offset for segment in segments[1:]), None]
    return zip(segments, ends[: len(segments)], strict=True)
