"""Parsers of option texts; an invalid text raises `OptionError`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.errors import OptionError
from kafka_segments.query.query import Bound, TopicPartition, at_offsets, at_timestamp, at_timestamps

__all__ = [
    "Parser",
    "offsets_or",
    "one_of",
    "size_from",
    "time_of",
    "to_boolean",
    "to_columns",
    "to_integer",
    "to_json",
    "to_milliseconds",
    "to_moment",
    "to_names",
    "to_partitions",
    "to_path",
    "to_paths",
    "to_positive",
    "to_stripped",
    "to_text",
    "to_time_zone",
    "to_timestamp",
    "to_timestamps",
]

Parser = Callable[[str, str], Any]
"""Function from an option's name and text to its value."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}
_PARTITIONS = '{"topicA":[0,1]}'
_NUMBERS = '{"topicA":{"0":23,"1":-1}}'
# JavaUtils.timeStringAs; milliseconds without a suffix.
_DURATIONS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
# Spark writes `file:/x` for local paths; users write `file:///x`.
_OF_THIS_MACHINE = re.compile(r"file:(?://)?(/(?:[^/].*)?)", re.IGNORECASE | re.DOTALL)


def one_of(*values: str) -> Parser:
    known = {value.lower(): value for value in values}

    def parse(name: str, text: str) -> str:
        if text.strip().lower() not in known:
            raise OptionError(f"option {name} is {text!r}; give {', '.join(values[:-1])} or {values[-1]}")
        return known[text.strip().lower()]

    return parse


def to_boolean(name: str, text: str) -> bool:
    return str(one_of("true", "false")(name, text)) == "true"


def to_text(_name: str, text: str) -> str:
    return text


def to_integer(name: str, text: str) -> int:
    return _integer_in(text.strip(), name, text)


def _integer_in(value: object, name: str, text: str) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not MIN_LONG <= value <= MAX_LONG:
        raise OptionError(f"option {name}: {value!r:.40} in {text!r:.80} is not a 64-bit integer")
    return value


def to_positive(name: str, text: str) -> int:
    number = to_integer(name, text)
    if number <= 0:
        raise OptionError(f"option {name} is {number}; it must be above 0")
    return number


def size_from(least: int) -> Parser:
    """Parser of a number of bytes, with Spark's suffixes."""

    def parse(name: str, text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,15})([a-z]*)", text.strip().lower())
        if match is None or match[2] not in _UNITS or int(match[1]) < least:
            bounds = "" if least == 0 else " above 0"
            raise OptionError(
                f"option {name} is {text!r}; give a number of bytes{bounds}, such as 134217728, 128m"
            )
        return int(match[1]) << _UNITS[match[2]]

    return parse


def to_milliseconds(name: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _DURATIONS:
        raise OptionError(f"option {name} is {text!r:.80}; give a duration, such as 30s, 15m, 1h")
    return int(match[1]) * _DURATIONS[match[2]]


def to_names(_name: str, text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(","))))


def to_stripped(_name: str, text: str) -> str:
    return text.strip()


def _json(name: str, text: str, kind: type, example: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return _checked_json(found, name, text, kind, example)


def _checked_json(value: Any, name: str, text: str, kind: type, example: str) -> Any:
    if not isinstance(value, kind):
        raise OptionError(f"option {name} is {text!r:.80}; give JSON such as {example}")
    return value


def to_json(name: str, text: str, example: str) -> dict[str, Any]:
    found: dict[str, Any] = _json(name, text, dict, example)
    return found


def to_partitions(name: str, text: str) -> frozenset[TopicPartition]:
    found: set[TopicPartition] = set()
    for topic, partitions in _json(name, text, dict, _PARTITIONS).items():
        numbers = _checked_json(partitions, name, text, list, _PARTITIONS)
        found |= {(topic, _integer_in(number, name, text)) for number in numbers}
    return frozenset(found)


def _by_partition(name: str, text: str) -> dict[TopicPartition, int]:
    found = {}
    for topic, numbers in _json(name, text, dict, _NUMBERS).items():
        for partition, number in _checked_json(numbers, name, text, dict, _NUMBERS).items():
            found[topic, _integer_in(partition, name, text)] = _integer_in(number, name, text)
    return found


def offsets_or(*words: str) -> Parser:
    """Parser of a word, or offsets by partition as JSON; errors list `words`."""

    def parse(name: str, text: str) -> Bound:
        value = text.strip()
        if value.lower() in (*words, "earliest", "latest"):
            return Bound(value.lower())  # type: ignore[arg-type]
        if not value.startswith("{"):
            raise OptionError(
                f'option {name} is {value!r}; give {", ".join(words)}, or {{"topic":{{"0":23}}}}'
            )
        return at_offsets(_by_partition(name, value))

    return parse


def to_timestamp(name: str, text: str) -> Bound:
    return at_timestamp(to_integer(name, text))


def to_timestamps(name: str, text: str) -> Bound:
    return at_timestamps(_by_partition(name, text))


def to_moment(name: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
    except ValueError as error:
        raise OptionError(f"option {name} is {text!r}; give a time such as 2026-01-31T12:00:00Z") from error


def time_of(name: str, time: Any) -> int | None:
    """Return a time in milliseconds since 1970, rounded up, so that lower timestamps are before it.

    Args:
        name: of the argument, for errors.
        time: milliseconds, a datetime with a time zone, or a text: milliseconds or ISO 8601, in UTC unless it
            names another zone; None for None.

    Raises:
        OptionError: another form.

    Example:
        >>> time_of("--since", "2026-01-31T12:00:00Z")
        1769860800000
    """
    moment = time
    if isinstance(time, str):
        if _INTEGER.fullmatch(time):
            return int(time)
        with suppress(ValueError):
            moment = datetime.fromisoformat(time)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise OptionError(f"{name} is {time}, without a time zone: give it one")
        return -((_EPOCH - moment) // timedelta(milliseconds=1))
    if time is not None and (not isinstance(time, int) or isinstance(time, bool)):
        raise OptionError(
            f"{name} {time!r}: give ISO 8601 as in 2026-01-31T12:00:00Z, a datetime with a time zone, or "
            "milliseconds since 1970"
        )
    return time


def to_time_zone(name: str, text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError, below
        raise OptionError(f"option {name} is {text!r}; give a name such as Europe/Paris or UTC") from error
    except KeyError as error:
        raise OptionError(f"there is no time zone {text!r} (option {name}) on this machine") from error


def to_path(_name: str, path: object) -> str:
    """Check a path or address; make local ones absolute, as tasks run in another directory."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise OptionError(f"{path!r:.80} is not a path")
    local = _OF_THIS_MACHINE.fullmatch(path)
    if local is None and _SCHEME.match(path):
        return path
    return os.path.abspath(path if local is None else local[1])


def to_paths(name: str, text: str) -> list[str]:
    return [to_path(name, path) for path in _json(name, text, list, '["/a","/b"]')]


def to_columns(name: str, text: str) -> tuple[str, ...]:
    columns = tuple(column.strip() for column in text.split(","))
    if not all(columns) or len({column.lower() for column in columns}) < len(columns):
        raise OptionError(f"option {name} is {text!r:.200}; give names with commas between them, each once")
    return columns
