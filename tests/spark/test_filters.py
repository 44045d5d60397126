"""Filters as conditions: no row is left out that its filter would keep; and the method in its two shapes."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceReader
from tests.spark.conftest import NO_FILTERS
from tests.spark.planned import reader_of

from kafka_segments.query.query import Condition
from kafka_segments.spark.filters import conditions_of

if not hasattr(datasource, "EqualTo"):
    pytest.skip(NO_FILTERS, allow_module_level=True)

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampms")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMPARISONS: list[tuple[Any, Callable[[Any, Any], bool]]] = [
    (EqualTo, operator.eq),
    (EqualNullSafe, operator.eq),
    (GreaterThan, operator.gt),
    (GreaterThanOrEqual, operator.ge),
    (LessThan, operator.lt),
    (LessThanOrEqual, operator.le),
    (In, lambda value, values: value in values),
]


def at(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


@given(
    st.sampled_from(COMPARISONS), st.integers(-20, 20), st.lists(st.integers(-20, 20)), st.integers(-30, 30)
)
def test_numbers(comparison: Any, value: int, values: list[int], offset: int) -> None:
    kind, compare = comparison
    operand: Any = tuple(values) if kind is In else value
    (condition,) = conditions_of([kind(("Offset",), operand)], COLUMNS)
    assert condition.column == "offset"
    assert condition.holds(offset) == compare(offset, operand)


@given(
    st.sampled_from(COMPARISONS),
    st.integers(-3000, 3000),
    st.lists(st.integers(-3000, 3000)),
    st.integers(-5, 5),
)
def test_times(comparison: Any, micros: int, many: list[int], millis: int) -> None:
    kind, compare = comparison
    operand: Any = tuple(map(at, many)) if kind is In else at(micros)
    (condition,) = conditions_of([kind(("timestamp",), operand)], COLUMNS)
    assert condition.column == "timestamp"
    assert condition.holds(millis) == compare(at(millis * 1000), operand)


def test_milliseconds_are_those_of_the_log() -> None:
    assert conditions_of([GreaterThan(("timestampMs",), 5)], COLUMNS) == [Condition("timestamp", lowest=6)]


def test_topics() -> None:
    assert conditions_of([EqualTo(("topic",), "123"), In(("TOPIC",), ("Foo", "foo", None))], COLUMNS) == [
        Condition("topic", values=frozenset({"123"})),
        Condition("topic", values=frozenset({"Foo", "foo"})),
    ]


@pytest.mark.parametrize(
    "one",
    [
        IsNull(("offset",)),
        IsNotNull(("offset",)),
        Not(EqualTo(("offset",), 1)),
        EqualNullSafe(("offset",), None),
        EqualNullSafe(("topic",), None),
        StringStartsWith(("topic",), "a"),
        GreaterThan(("topic",), "a"),
        EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "x"),
        EqualTo(("offset",), 1.5),
        EqualTo(("partition",), True),
        In(("offset",), (1, 2.5)),
        EqualTo(("timestamp",), datetime(2020, 1, 1)),
        EqualTo(("topic",), 5),
    ],
    ids=str,
)
def test_what_is_not_understood_is_no_condition(one: Any) -> None:
    assert conditions_of([one], COLUMNS) == []


def test_filters_leave_nothing_out_unless_the_frame_is_used_once() -> None:
    reader = reader_of(path="/a")
    filters = [EqualTo(("partition",), 1), EqualTo(("value",), b"")]
    assert list(reader.pushFilters(filters)) == filters
    assert reader._conditions == []


def test_all_filters_are_returned_and_kept_with_the_reader() -> None:
    reader = reader_of(path="/a", pushFilters="once")
    filters = [EqualTo(("partition",), 1), EqualTo(("value",), b"")]
    assert list(reader.pushFilters(filters)) == filters
    assert pickle.loads(pickle.dumps(reader))._conditions == [Condition("partition", values=frozenset({1}))]


def test_spark_takes_the_method_for_the_base_classs_own() -> None:
    assert reader_of(path="/a").pushFilters.__func__ is DataSourceReader.pushFilters


def test_in_other_views_only_whole_partitions_are_left_out() -> None:
    reader = reader_of(path="/a", view="batches", pushFilters="once")
    reader.pushFilters([EqualTo(("partition",), 1), EqualTo(("offset",), 1)])
    assert reader._conditions == [Condition("partition", values=frozenset({1}))]
