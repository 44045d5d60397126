"""Table of options, named as in Spark's `kafka` source.

The Spark source, `kafka-segments plan -o`, flags of `plan` and `ingest`, and the table in
docs/spark-reference.md use `OPTIONS`. Names are case-insensitive, as in Spark.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.store_settings import STORE_PREFIXES
from kafka_segments.errors import OptionError
from kafka_segments.query import option_values as values

__all__ = [
    "IGNORED",
    "OPTIONS",
    "REFUSED",
    "GivenOptions",
    "Option",
    "check_names",
    "did_you_mean",
    "is_sparks_own",
    "nearest",
    "option_names",
]


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        group: the query, the choice of files, the rows of the Spark source, its streams, or what it writes.
        name: in Spark.
        parse: parser of its text.
        help: short description, for help texts and docs/spark-reference.md (with words of tools/tables.toml).
        default: as text, or None.
        alias: another name.
        flag: of `kafka-segments ingest`, and of `plan` if it uses it.
        choices: of the flag.
        metavar: of the flag.
    """

    group: Literal["query", "file", "read", "stream", "write"]
    name: str
    parse: values.Parser
    help: str
    default: str | None = None
    alias: str | None = None
    flag: str | None = None
    choices: tuple[str, ...] | None = None
    metavar: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in lower case."""
        return tuple(name.lower() for name in (self.alias, self.name) if name is not None)


_LEVELS = ("read_uncommitted", "read_committed")

_TABLE = (
    Option("read", "path", values.to_path, "logs: directories, tiers, `.log` files, patterns, addresses"),
    Option("read", "paths", values.to_paths, "several paths, as JSON"),
    Option("file", "pathGlobFilter", values.to_text, "a pattern for the names of `.log` files"),
    Option("file", "recursiveFileLookup", values.to_boolean, "look for partitions at all depths", "false"),
    Option("file", "modifiedBefore", values.to_moment, "only `.log` files written before this time"),
    Option("file", "modifiedAfter", values.to_moment, "only `.log` files written after this time"),
    Option("file", "timeZone", values.to_time_zone, "time zone of these times, for example `Europe/Paris`"),
    Option("file", "ignoreMissingFiles", values.to_boolean, "ignore files that vanish during the listing",
        "false"),
    Option("query", "subscribe", values.to_names, "topics, separated by commas", flag="--subscribe",
        metavar="TOPICS"),
    Option("query", "subscribePattern", values.to_stripped,
        "topics that this regular expression (Java's syntax) matches somewhere", flag="--subscribe-pattern",
        metavar="PATTERN"),
    Option("query", "assign", values.to_partitions, "partitions, as JSON"),
    Option("query", "startingOffsets", values.offsets_or("earliest"),
        "where to begin: `earliest`, or offsets as JSON", "earliest"),
    Option("query", "endingOffsets", values.offsets_or("latest", "high-watermark", "log-end"),
        "where to end: `latest`, or offsets as JSON", "latest"),
    Option("query", "startingTimestamp", values.to_timestamp,
        "begin at the first record with this timestamp (in milliseconds) or a later one"),
    Option("query", "endingTimestamp", values.to_timestamp, "end before the first one at this time or later"),
    Option("query", "startingOffsetsByTimestamp", values.to_timestamps,
        "`startingTimestamp` by partition, as JSON"),
    Option("query", "endingOffsetsByTimestamp", values.to_timestamps,
        "`endingTimestamp` by partition, as JSON"),
    Option("query", "startingOffsetsByTimestampStrategy", values.one_of("error", "latest"),
        "if no record is at or after the time: `error`, or `latest` to read nothing", "error"),
    Option("query", "minPartitions", values.to_positive, "minimum number of tasks"),
    Option("query", "maxRecordsPerPartition", values.to_positive, "maximum number of offsets for a task"),
    Option("query", "maxPartitionBytes", values.size_from(1), "approximate bytes of segments for a task",
        "256m"),
    Option("query", "maxWalkBytes", values.size_from(0),
        "total size of the segments whose headers planning may read where no sound index answers",
        "1g"),
    Option("query", "maxTimestampSkewMs", values.to_integer,
        "the most by which a record may be earlier than one before it"),
    Option("query", "failOnDataLoss", values.to_boolean, "whether missing offsets are an error", "true"),
    Option("query", "kafka.isolation.level", values.one_of(*_LEVELS),
        "`read_committed` excludes records of aborted transactions, and all after the last stable offset",
        "read_uncommitted", alias="isolationLevel", flag="--isolation", choices=_LEVELS),
    Option("read", "view", values.one_of("records", "batches", "segments", "control", "aborted", "damage"),
        "what each row describes", "records"),
    Option("read", "columns", values.to_columns, "names of columns, separated by commas, in order"),
    Option("read", "includeHeaders", values.to_boolean, "add the column `headers`", "false"),
    Option("read", "headerKeys", values.one_of("text", "binary"),
        "`text` (bytes that are not UTF-8 replaced as Java does) or `binary`"),
    Option("read", "timestampOverflow", values.one_of("error", "null", "clamp"),
        "`error`, `null` or `clamp`, for milliseconds that do not fit into microseconds", "error"),
    Option("read", "mode", values.one_of("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        "`FAILFAST`, `PERMISSIVE` or `DROPMALFORMED`", "FAILFAST"),
    Option("read", "checkCrc", values.to_boolean, "verify batch checksums", "true", flag="--no-crc"),
    Option("read", "maxDecompressedBytes", values.size_from(1),
        "limit for the decompressed size of a batch, for example `64m`; larger batches are damage",
        f"{DEFAULT_MAX_DECOMPRESSED >> 20}m", flag="--max-decompressed-bytes", metavar="BYTES"),
    Option("read", "replicas", values.one_of("first", "best", "unchecked"),
        "use of other copies of a partition: `first`, `best` or `unchecked`", "first"),
    Option("read", "snapshot", values.to_path, "a snapshot, which fixes what is read"),
    Option("read", "pushFilters", values.one_of("never", "once"),
        "`once` lets the filters of a query exclude segments", "never"),
    Option("stream", "maxOffsetsPerTrigger", values.to_positive,
        "maximum number of offsets in a batch of a stream, shared among partitions by what they have"),
    Option("stream", "minOffsetsPerTrigger", values.to_positive,
        "number of offsets that a batch of a stream waits for"),
    Option("stream", "maxTriggerDelay", values.to_milliseconds,
        "the longest wait for `minOffsetsPerTrigger`, since the last batch", "15m"),
)  # fmt: skip

OPTIONS: Mapping[str, Option] = {option.name: option for option in _TABLE}

# About connections and consumer groups (KafkaSourceProvider, KafkaOffsetReader).
IGNORED = (
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
"""Options of Spark's `kafka` source without a meaning here, like all other `kafka.*`."""

REFUSED = {
    "kafka.auto.offset.reset": "say where to begin with startingOffsets",
    "kafka.key.deserializer": "keys come as bytes; decode the column key",
    "kafka.value.deserializer": "values come as bytes; decode the column value",
    "kafka.enable.auto.commit": "nothing is committed by reading files",
    "kafka.interceptor.classes": "records come as they are stored",
}
"""Options that Spark's `kafka` source rejects too, and what to do instead."""

# Added by Spark to the user's options for a table created with SQL.
_SPARKS_OWN = (
    "owner",
    "provider",
    "location",
    "external",
    "comment",
    "is_managed_location",
    "serialization.format",
)
_SPARKS_PREFIXES = ("option.", "spark.sql.")


class GivenOptions:
    """Options as text, by case-insensitive name; indexing returns the parsed value, the default, or None.

    Args:
        options: names and texts.
        table: the options that there are, by name; None for `OPTIONS`.
    """

    def __init__(self, options: Mapping[str, str], table: Mapping[str, Option] | None = None) -> None:
        self.texts = {name.lower(): text for name, text in options.items()}
        self._table = OPTIONS if table is None else table

    def __contains__(self, name: str) -> bool:
        return any(one in self.texts for one in self._table[name].names)

    def __getitem__(self, name: str) -> Any:
        option = self._table[name]
        texts = [self.texts[one] for one in option.names if one in self.texts]
        if len({text.strip().lower() for text in texts}) > 1:
            first, second = (text.lower() for text in texts)
            raise OptionError(f"options {option.alias} and {name} differ: {first!r}, {second!r}")
        text = texts[0] if texts else option.default
        return None if text is None else option.parse(name, text)


def option_names(*groups: str) -> list[str]:
    """Names of the options of some groups; of all groups by default."""
    found = [one for group in groups for one in _TABLE if one.group == group] if groups else _TABLE
    return [name for one in found for name in (one.name, one.alias) if name is not None]


def is_sparks_own(name: str) -> bool:
    """Whether Spark adds an option of this name, in lower case, to the user's."""
    return name in _SPARKS_OWN or name.startswith(_SPARKS_PREFIXES)


def check_names(given: Iterable[str]) -> list[str]:
    """Check the names of options.

    Returns:
        Accepted names without a meaning here.

    Raises:
        OptionError: an unknown name, with the nearest known one; or one that Spark's connector rejects.
    """
    names = option_names()
    known = {name.lower() for name in names}
    without_meaning = {name.lower(): name for name in IGNORED}
    ignored = []
    for name in map(str.lower, given):
        if name in REFUSED:
            raise OptionError(f"option {name} is not supported, as in Spark's kafka source: {REFUSED[name]}")
        if name in known or is_sparks_own(name) or name.startswith(STORE_PREFIXES):
            continue
        if name in without_meaning or name.startswith("kafka."):
            ignored.append(without_meaning.get(name, name))
        else:
            raise OptionError(f"unknown option {name}{nearest(name, [*names, *IGNORED])}")
    return sorted(ignored)


def nearest(name: str, known: Iterable[str]) -> str:
    """Suffix of an error for an unknown name: the most similar known name, or all of them."""
    names = list(known)
    return did_you_mean(name, names) or f"; there are {', '.join(names)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suffix of an error for an unknown name: the most similar known name, or nothing."""
    names = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {names[found[0]]}?" if found else ""
