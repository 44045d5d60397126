"""A query in the words of Spark's `kafka` source: options as text.

Source: KafkaSourceProvider.getKafkaOffsetRangeLimit, validateGeneralOptions, JsonUtils of Spark's
connector/kafka-0-10-sql; times go before times by partition, these before offsets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from kafka_segments.errors import OptionError
from kafka_segments.query.query import (
    Bound,
    Limits,
    Query,
    TopicPartition,
    Topics,
    at_offsets,
    at_timestamp,
    at_timestamps,
)

__all__ = ["QUERY_OPTIONS", "query_of", "size_of", "unused_options"]

QUERY_OPTIONS = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxPartitionBytes",
    "maxWalkBytes",
    "maxTimestampSkewMs",
    "failOnDataLoss",
    "kafka.isolation.level",
)
"""Names of the options that make a query, in any case."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_SUFFIXES = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
}


def query_of(options: Mapping[str, str]) -> Query:
    """The query that some options make; others are passed over.

    Args:
        options: as Spark has them: names in any case, values as text.

    Raises:
        OptionError: a value that is none of those allowed, or options that contradict each other; with the
            option's name.

    Example:
        >>> query_of({"subscribe": "a, b", "startingOffsets": "earliest"}).topics.names == {"a", "b"}
        True
    """
    given = {name.lower(): value.strip() for name, value in options.items()}
    limits = Limits(
        max_partition_bytes=size_of(given, "maxPartitionBytes", Limits().max_partition_bytes),
        min_partitions=_positive(given, "minPartitions"),
        max_records=_positive(given, "maxRecordsPerPartition"),
        max_walk_bytes=size_of(given, "maxWalkBytes", Limits().max_walk_bytes, least=0),
    )
    return Query(
        topics=_topics(given),
        start=_bound(given, "starting", ("earliest",)),
        end=_bound(given, "ending", ("latest", "high-watermark", "log-end")),
        no_match=_one_of(given, "startingOffsetsByTimestampStrategy", ("error", "latest")),
        isolation=_one_of(given, "kafka.isolation.level", ("read_uncommitted", "read_committed")),
        limits=limits,
        fail_on_data_loss=_one_of(given, "failOnDataLoss", ("true", "false")) == "true",
        max_timestamp_skew_ms=_number(given, "maxTimestampSkewMs"),
    )


def unused_options(options: Mapping[str, str]) -> list[str]:
    """What is to be said of options that others make useless, as in the connector."""
    given = {name.lower() for name in options}
    said = []
    for side in ("starting", "ending"):
        names = [f"{side}Timestamp", f"{side}OffsetsByTimestamp", f"{side}Offsets"]
        used, *others = [name for name in names if name.lower() in given] or [""]
        said += [f"{name} is not looked at: {used} goes before it" for name in others]
    return said


def _topics(given: Mapping[str, str]) -> Topics:
    names = [name for name in ("subscribe", "subscribePattern", "assign") if name.lower() in given]
    if len(names) > 1:
        raise OptionError(f"give {names[0]} or {names[1]}, not both")
    if not names:
        return Topics()
    value = given[names[0].lower()]
    if names[0] == "subscribe":
        return Topics(names=frozenset(filter(None, map(str.strip, value.split(",")))))
    if names[0] == "subscribePattern":
        return Topics(pattern=value)
    found: set[TopicPartition] = set()
    for topic, partitions in _json(value, "assign", '{"topicA":[0,1]}').items():
        if not isinstance(partitions, list):
            raise _no_json(value, "assign", '{"topicA":[0,1]}')
        found |= {(topic, _int(number, "assign", value)) for number in partitions}
    return Topics(partitions=frozenset(found))


def _bound(given: Mapping[str, str], side: str, words: tuple[str, ...]) -> Bound:
    """Where ranges begin or end; `words` are what it may be besides, the default first."""
    timestamp = _number(given, f"{side}Timestamp")
    if timestamp is not None:
        return at_timestamp(timestamp)
    name = f"{side}OffsetsByTimestamp"
    if name.lower() in given:
        return at_timestamps(_by_partition(given[name.lower()], name))
    name = f"{side}Offsets"
    value = given.get(name.lower(), words[0])
    if value.lower() in (*words, "earliest", "latest"):
        return Bound(value.lower())  # type: ignore[arg-type]
    if not value.startswith("{"):
        raise OptionError(f'option {name} is {value!r}; it is {", ".join(words)}, or {{"topic":{{"0":23}}}}')
    return at_offsets(_by_partition(value, name))


def _by_partition(text: str, name: str) -> dict[TopicPartition, int]:
    example = '{"topicA":{"0":23,"1":-1}}'
    found = {}
    for topic, numbers in _json(text, name, example).items():
        if not isinstance(numbers, dict):
            raise _no_json(text, name, example)
        for partition, number in numbers.items():
            found[topic, _int(partition, name, text)] = _int(number, name, text)
    return found


def _json(text: str, name: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_json(text, name, example) from error
    if not isinstance(found, dict):
        raise _no_json(text, name, example)
    return found


def _no_json(text: str, name: str, example: str) -> OptionError:
    return OptionError(f"option {name} is {text!r:.80}; it is JSON such as {example}")


def _int(value: object, name: str, text: str) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise OptionError(f"option {name}: {value!r:.40} in {text!r:.80} is no integer of 64 bits")
    return value


def _number(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name.lower())
    return None if value is None else _int(value, name, value)


def _positive(given: Mapping[str, str], name: str) -> int | None:
    number = _number(given, name)
    if number is not None and number <= 0:
        raise OptionError(f"option {name} is {number}; it must be above 0")
    return number


def size_of(given: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    """The value of an option that is a number of bytes, with Spark's suffixes.

    Raises:
        OptionError: it is none.
    """
    value = given.get(name.lower())
    if value is None:
        return default
    match = re.fullmatch(r"([0-9]{1,15})([a-z]*)", value.lower())
    if match is None or match[2] not in _SUFFIXES or int(match[1]) < least:
        bounds = "" if least == 0 else " above 0"
        raise OptionError(
            f"option {name} is {value!r}; it is a number of bytes{bounds}, such as 134217728, 128m"
        )
    return int(match[1]) * _SUFFIXES[match[2]]


def _one_of(given: Mapping[str, str], name: str, values: tuple[str, ...]) -> Any:
    value = given.get(name.lower(), values[0]).lower()
    if value not in values:
        raise OptionError(f"option {name} is {value!r}; it is {' or '.join(values)}")
    return value
