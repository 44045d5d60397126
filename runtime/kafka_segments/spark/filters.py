"""Conversion of Spark's filters to conditions of a query, on topics, partitions, offsets and times.

Strategy: a condition only leaves out rows that its filter would leave out; a filter that is not understood
has no condition, and Spark filters every row again. So a missing condition only costs time. Timestamps come
in microseconds and are stored in milliseconds: a bound between two of those is moved to the next one.

Spark 4.1 to 4.3 refuse every read of a source that overrides `pushFilters`, unless
`spark.sql.python.filterPushdown.enabled` is on; it is off by default. They check whether the method's
`__func__` is that of the base class. So ours is a `Pusher`, which has that very attribute.

The option `pushFilters` decides whether filters are used at all: see `source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import DataSourceReader

from kafka_segments.query.query import Column, Condition

__all__ = ["Pusher", "conditions_of"]

Push = Callable[[list[Any]], Iterable[Any]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS = timedelta(microseconds=1)
_PER_MILLI = 1000
# Columns of rows, in small letters: the column of a condition, and how many of their units make one of its.
_COLUMNS: Mapping[str, tuple[Column, int]] = {
    "topic": ("topic", 1),
    "partition": ("partition", 1),
    "offset": ("offset", 1),
    "timestamp": ("timestamp", _PER_MILLI),
    "timestampms": ("timestamp", 1),
}


class Pusher:
    """The method `pushFilters` of a reader, in a form that Spark accepts where filter pushdown is off.

    Args:
        push: takes filters, and returns those that Spark has to apply itself.
    """

    def __init__(self, push: Push) -> None:
        self._push = push
        # Spark 4.0 has no such method, and calls none.
        self.__func__ = getattr(DataSourceReader, "pushFilters", None)

    def __call__(self, filters: list[Any]) -> Iterable[Any]:
        return self._push(filters)


def conditions_of(filters: Iterable[Any], columns: Iterable[str]) -> list[Condition]:
    """Convert filters, all of which hold, to conditions.

    Args:
        filters: of `pyspark.sql.datasource`, which has them from Spark 4.1 on; known by their names here.
        columns: of the rows that conditions can be of, in small letters.
    """
    known = set(columns)
    found = []
    for one in filters:
        attribute: tuple[str, ...] = getattr(one, "attribute", ())
        name = str(attribute[0]).lower() if len(attribute) == 1 else ""
        if name in known and name in _COLUMNS:
            condition = _condition(one, *_COLUMNS[name])
            if condition is not None:
                found.append(condition)
    return found


def _condition(one: Any, column: Column, unit: int) -> Condition | None:
    kind = type(one).__name__
    if column == "topic":
        return _of_topic(kind, getattr(one, "value", None))
    if kind == "In":
        return _among(column, unit, one.value)
    value = _number(getattr(one, "value", None))
    if value is None:
        return None
    below, rest = divmod(value, unit)
    if kind in ("EqualTo", "EqualNullSafe"):
        return Condition(column, values=frozenset() if rest else frozenset((below,)))
    if kind == "GreaterThanOrEqual":
        return Condition(column, lowest=below + (rest > 0))
    if kind == "GreaterThan":
        return Condition(column, lowest=below + 1)
    if kind == "LessThanOrEqual":
        return Condition(column, highest=below)
    if kind == "LessThan":
        return Condition(column, highest=below - (rest == 0))
    return None


def _of_topic(kind: str, value: Any) -> Condition | None:
    values = list(value) if kind == "In" else [value]
    if kind not in ("EqualTo", "EqualNullSafe", "In"):
        return None
    if kind == "EqualNullSafe" and value is None:
        return None
    if not all(one is None or isinstance(one, str) for one in values):
        return None
    return Condition("topic", values=frozenset(one for one in values if one is not None))


def _among(column: Column, unit: int, values: Iterable[Any]) -> Condition | None:
    """Convert `In`; a null among the values equals nothing."""
    numbers = [_number(value) for value in values if value is not None]
    if None in numbers:
        return None
    whole = [divmod(number, unit) for number in numbers if number is not None]
    return Condition(column, values=frozenset(below for below, rest in whole if not rest))


def _number(value: Any) -> int | None:
    """Return a whole number, or the microseconds since 1970 of a time; None for anything else."""
    if isinstance(value, datetime):
        return None if value.tzinfo is None else (value - _EPOCH) // _MICROS
    return value if isinstance(value, int) and not isinstance(value, bool) else None
