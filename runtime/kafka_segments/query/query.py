"""Query: topics, offsets, times, conditions and limits, as checked values.

Numbers are as in Kafka and Spark: offsets -2 and -1 are the earliest and the latest, timestamps are
milliseconds since 1970, ends are exclusive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from kafka_segments.errors import OptionError

__all__ = [
    "EARLIEST",
    "INTERNAL_TOPICS",
    "LATEST",
    "Bound",
    "Column",
    "Condition",
    "Limits",
    "Query",
    "TopicPartition",
    "Topics",
    "at_offsets",
    "at_timestamp",
    "at_timestamps",
    "topic_pattern",
]

INTERNAL_TOPICS = frozenset(
    {
        "__cluster_metadata",
        "__consumer_offsets",
        "__remote_log_metadata",
        "__share_group_state",
        "__transaction_state",
    }
)
"""Topics that are read by name only: Topic.INTERNAL_TOPICS, which a consumer's pattern does not match, and
those of controllers (KRaft) and of tiered storage (TopicBasedRemoteLogMetadataManagerConfig)."""

EARLIEST = -2
LATEST = -1
DEFAULT_PARTITION_BYTES = 256 << 20  # twice spark.sql.files.maxPartitionBytes
DEFAULT_WALK_BYTES = 1 << 30

# ListOffsetsRequest: special timestamps for the latest offset, the earliest and others.
_LEAST_SPECIAL_TIMESTAMP = -5

TopicPartition = tuple[str, int]
Column = Literal["topic", "partition", "offset", "timestamp"]


# Nested sets and intersections in Java, plain characters in Python.
_SET_IN_SET = re.compile(r"\[[^\]]*(?:\[|&&)")
# Named groups and comments of Python, a repetition without a lower bound, a brace that repeats nothing.
_NOT_JAVA = re.compile(r"\(\?(?:P|#)|\{,|(?:^|[(|])\{")


@lru_cache(maxsize=16)  # called for every partition
def topic_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of topics: the syntax that java.util.regex.Pattern and Python's `re` share.

    Topic names are ASCII (Topic.LEGAL_CHARS), and so are character classes.

    Raises:
        OptionError: a pattern that `re` rejects, or understands differently from Java.
    """
    plain = re.sub(r"\\.", "", pattern, flags=re.DOTALL)
    if _SET_IN_SET.search(plain):
        raise _unusable(pattern, "sets within sets are not supported; list the characters")
    not_java = _NOT_JAVA.search(re.sub(r"\[[^\]]*\]", "", plain))
    if not_java:
        raise _unusable(pattern, f"{not_java[0]!r} is not valid in Java's syntax")
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise _unusable(pattern, error) from error


def _unusable(pattern: str, reason: object) -> OptionError:
    return OptionError(
        f"subscribePattern {pattern!r} cannot be used: {reason}. It is a regular expression in Java's "
        "syntax, without what Python's `re` does not have: \\Q...\\E, \\p{...}, (?<name>...), \\h"
    )


@dataclass(frozen=True, slots=True)
class Topics:
    """Selection of partitions by at most one attribute; without any, all topics but internal ones.

    Attributes:
        names: topics (`subscribe`).
        pattern: searched in topic names (`subscribePattern`, see `topic_pattern`), without internal topics
            (`__consumer_offsets`, `__cluster_metadata`), as in a consumer.
        partitions: topics and numbers (`assign`).

    Raises:
        OptionError: two attributes, an empty one, or an invalid pattern.
    """

    names: frozenset[str] | None = None
    pattern: str | None = None
    partitions: frozenset[TopicPartition] | None = None

    def __post_init__(self) -> None:
        values = {"subscribe": self.names, "subscribePattern": self.pattern, "assign": self.partitions}
        given = [name for name, value in values.items() if value is not None]
        if len(given) > 1:
            raise OptionError(f"give {given[0]} or {given[1]}, not both")
        if given and not values[given[0]]:
            raise OptionError("subscribe, subscribePattern or assign names nothing; leave it out to read all")
        if self.pattern is not None:
            topic_pattern(self.pattern)


@dataclass(frozen=True, slots=True)
class Bound:
    """Start or end of ranges.

    Attributes:
        kind: `offsets` and `timestamps` are by partition; `timestamp` is for all. `high-watermark` and
            `log-end` are ends only.
        by_partition: values by topic and partition, for every partition that is read.
        timestamp: milliseconds.
    """

    kind: Literal["earliest", "latest", "offsets", "timestamps", "timestamp", "high-watermark", "log-end"]
    by_partition: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None

    def __post_init__(self) -> None:
        times = self.by_partition.values() if self.kind == "timestamps" else ()
        for time in (*times, *([] if self.timestamp is None else [self.timestamp])):
            if _LEAST_SPECIAL_TIMESTAMP <= time < 0:
                raise OptionError(
                    f"{time} is not a time but one of the brokers' special timestamps (earliest, latest and "
                    "others); give offsets for those"
                )
        for (topic, partition), offset in self.by_partition.items():
            if self.kind == "offsets" and offset < EARLIEST:
                raise OptionError(
                    f"offset {offset} of {topic}-{partition} is below 0, and not -1 (latest) or -2 (earliest)"
                )


def at_offsets(by_partition: Mapping[TopicPartition, int]) -> Bound:
    """Return a bound at offsets by partition; -2 is the earliest, -1 the latest.

    Raises:
        OptionError: one is below -2.
    """
    return Bound("offsets", dict(by_partition))


def at_timestamps(by_partition: Mapping[TopicPartition, int]) -> Bound:
    """Return a bound at the first record at or after a timestamp, by partition.

    Raises:
        OptionError: one of the special timestamps of brokers, -5 to -1.
    """
    return Bound("timestamps", dict(by_partition))


def at_timestamp(timestamp: int) -> Bound:
    """Return a bound at the first record at or after a timestamp; errors as `at_timestamps`."""
    return Bound("timestamp", timestamp=timestamp)


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition on a column: bounds, and a set of values.

    A row fulfils all conditions of a query. They narrow the reading; the caller filters its rows exactly.

    Attributes:
        column: of the row; `timestamp` in milliseconds.
        lowest: least value, inclusive; None is open. Numbers only.
        highest: greatest value, inclusive; None is open.
        values: allowed values; None is any.
    """

    column: Column
    lowest: int | None = None
    highest: int | None = None
    values: frozenset[int] | frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.column not in ("topic", "partition", "offset", "timestamp"):
            raise OptionError(f"no condition on {self.column!r}; on topic, partition, offset or timestamp")
        if self.column == "topic" and (self.lowest is not None or self.highest is not None):
            raise OptionError("topics can only be compared for equality")

    def holds(self, value: int | str) -> bool:
        """Whether a value fulfils the condition."""
        if self.values is not None and value not in self.values:
            return False
        if isinstance(value, str):
            return True
        return (self.lowest is None or value >= self.lowest) and (
            self.highest is None or value <= self.highest
        )

    def touches(self, lowest: int | None, highest: int | None) -> bool:
        """Whether a number in `[lowest, highest]` (None: open) can fulfil the condition."""
        if lowest is not None and self.highest is not None and lowest > self.highest:
            return False
        if highest is not None and self.lowest is not None and highest < self.lowest:
            return False
        if self.values is None:
            return True
        return any(
            isinstance(value, int)
            and self.holds(value)
            and (lowest is None or value >= lowest)
            and (highest is None or value <= highest)
            for value in self.values
        )

    def __str__(self) -> str:
        said = []
        if self.lowest is not None:
            said.append(f"{self.column} from {self.lowest} on")
        if self.highest is not None:
            said.append(f"{self.column} up to {self.highest}")
        if self.values is not None:
            some = ", ".join(map(str, sorted(self.values)[:3]))
            said.append(f"{self.column} in ({some}{', ...' if len(self.values) > 3 else ''})")
        return " and ".join(said) or f"any {self.column}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of tasks and of planning.

    Attributes:
        max_partition_bytes: bytes of segments that a task reads, about.
        max_compressed_bytes: bytes of a segment that are read together, about, if its first batch is
            compressed; None is as above.
        only_by_index: whether a segment without an index is read by one task, however large it is.
        min_partitions: least number of tasks, if there are enough batches; None is any number.
        max_records: most offsets that a task reads; None is any number.
        max_walk_bytes: total size of segments whose headers planning may read where no index has the answer.
    """

    max_partition_bytes: int = DEFAULT_PARTITION_BYTES
    min_partitions: int | None = None
    max_records: int | None = None
    max_walk_bytes: int = DEFAULT_WALK_BYTES
    max_compressed_bytes: int | None = None
    only_by_index: bool = False

    def __post_init__(self) -> None:
        for name in ("max_partition_bytes", "min_partitions", "max_records"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise OptionError(f"{name} is {value}; it must be above 0")
        if self.max_walk_bytes < 0:
            raise OptionError(f"max_walk_bytes is {self.max_walk_bytes}; it must not be below 0")


@dataclass(frozen=True, slots=True)
class Query:
    """Request for records of partitions.

    Attributes:
        topics: selection of partitions.
        start: start of each partition.
        end: end of each, exclusive. `latest` is the last stable offset at `read_committed`; else the high
            watermark where a broker is writing, and the end of the log elsewhere.
        no_match: for a `start` by time without a record: `error`, or `latest` to read nothing.
        conditions: rows fulfil all of them.
        isolation: of transactions.
        limits: of tasks and planning.
        fail_on_data_loss: missing offsets are an error.
        max_timestamp_skew_ms: no record is earlier than one before it by more than this; None is unknown.

    Raises:
        OptionError: an invalid start or end.
    """

    topics: Topics = Topics()
    start: Bound = Bound("earliest")
    end: Bound = Bound("latest")
    no_match: Literal["error", "latest"] = "error"
    conditions: tuple[Condition, ...] = ()
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    limits: Limits = Limits()
    fail_on_data_loss: bool = True
    max_timestamp_skew_ms: int | None = None

    def __post_init__(self) -> None:
        if self.isolation not in ("read_uncommitted", "read_committed"):
            raise OptionError(f"isolation is {self.isolation!r}; give read_uncommitted or read_committed")
        if self.no_match not in ("error", "latest"):
            raise OptionError(f"no_match is {self.no_match!r}; give error or latest")
        if self.max_timestamp_skew_ms is not None and self.max_timestamp_skew_ms < 0:
            raise OptionError(f"max_timestamp_skew_ms is {self.max_timestamp_skew_ms}; it must be 0 or more")
        _check_sides(self.start, self.end)


def _check_sides(start: Bound, end: Bound) -> None:
    """Check start and end as Spark's connector does (KafkaSourceProvider.validateBatchOptions)."""
    if start.kind not in ("earliest", "offsets", "timestamps", "timestamp"):
        raise OptionError(f"a range cannot begin at {start.kind}; give earliest, offsets or a time")
    if end.kind == "earliest":
        raise OptionError("a range cannot end at the earliest offset; give latest, offsets or a time")
    for bound, wrong, words in (
        (start, LATEST, "begin at the latest"),
        (end, EARLIEST, "end at the earliest"),
    ):
        for (topic, partition), offset in bound.by_partition.items() if bound.kind == "offsets" else ():
            if offset == wrong:
                raise OptionError(f"{topic}-{partition} cannot {words} offset ({wrong})")
    if start.timestamp is not None and end.timestamp is not None and start.timestamp > end.timestamp:
        raise OptionError(f"ranges would begin at {start.timestamp} and end before that, at {end.timestamp}")
    if start.kind == end.kind and start.kind in ("offsets", "timestamps"):
        _check_pairs(start, end)


def _check_pairs(start: Bound, end: Bound) -> None:
    """Check start and end of each partition (KafkaSourceProvider.checkOffsetLimitValidity)."""
    different = sorted(start.by_partition.keys() ^ end.by_partition.keys())
    if different:
        topic, partition = different[0]
        raise OptionError(
            f"starting and ending {start.kind} are of different partitions: {topic}-{partition} is in one of "
            f"them only ({len(different)} such); give both"
        )
    for (topic, partition), first in start.by_partition.items():
        last = end.by_partition[topic, partition]
        if first > last and (start.kind == "timestamps" or min(first, last) >= 0):
            raise OptionError(
                f"{topic}-{partition} would begin at {first} and end before that, at {last} ({start.kind})"
            )
