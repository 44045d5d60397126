"""What a filter of Arrow can hold for: never too little, and no more than it says of the known columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION, schema_of
from kafka_segments.query.row_filter import RowFilter

ds: Any = pyarrow.dataset
FIELDS = {
    name: ds.field(name) for name in ("topic", "partition", "offset", "timestamp", "timestamp_ms", "key")
}
THERE = [("a", 0), ("a", 1), ("b", 0), ("c", 2)]
ALL = {"topic in (a, b, c)", "partition in (0, 1, 2)"}


def schema(unit: str = "ms") -> pa.Schema:
    whole = pa.schema([*OF_PARTITION, *schema_of(["offset", "timestamp", "timestamp_ms", "key", "value"])])
    return whole.set(3, whole.field(3).with_type(pa.timestamp(unit, tz="UTC")))


def time(number: int, unit: str = "ms") -> pa.Scalar:
    return pa.scalar(number, pa.timestamp(unit, tz="UTC"))


def conditions(text: str, unit: str = "ms") -> set[str]:
    filter_ = eval(text, {"time": time, **FIELDS})
    return set(map(str, RowFilter(filter_, schema(unit)).conditions(THERE)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topic == 'a'", {"topic in (a)", "partition in (0, 1)"}),
        ("(topic == 'a') & partition.isin([1, 7])", {"topic in (a)", "partition in (1)"}),
        ("(topic > 'a') | (partition == 1)", ALL),
        ("~(topic == 'a') & (offset < 3)", {"topic in (b, c)", "partition in (0, 2)", "offset up to 2"}),
        ("(offset >= 5) & (offset != 9)", {*ALL, "offset from 5 on"}),
        ("(offset == 5) | offset.isin([7, 9])", {*ALL, "offset from 5 on and offset up to 9"}),
        ("(offset == 5) | (key == b'x')", ALL),
        ("(offset == 5) & (key == b'x')", {*ALL, "offset from 5 on and offset up to 5"}),
        ("offset < timestamp_ms", ALL),
        ("timestamp >= time(1000)", {*ALL, "timestamp from 1000 on"}),
        ("timestamp < time(1000)", {*ALL, "timestamp up to 999"}),
        ("(timestamp < time(1000)) | timestamp.is_null()", ALL),
        ("timestamp.is_valid()", ALL),
        ("timestamp_ms > 5", {*ALL, "timestamp from 6 on"}),
        ("timestamp_ms < 5", ALL),  # of none, -1, too
        ("timestamp < time(-5)", {*ALL, "timestamp up to 0"}),
        ("(topic == 'a') & (topic == 'b')", {"topic in ()", "partition in ()"}),
    ],
)
def test_what_a_filter_asks_for(text: str, expected: set[str]) -> None:
    assert conditions(text) == expected


def test_microseconds_are_rounded_to_the_milliseconds_inside() -> None:
    text = "(timestamp > time(1000001, 'us')) & (timestamp <= time(5000999, 'us'))"
    assert conditions(text, "us") == {*ALL, "timestamp from 1001 on and timestamp up to 5000"}


def test_partitions_are_left_out_one_by_one() -> None:
    asked = RowFilter((FIELDS["topic"] == "a") & (FIELDS["partition"] == 1), schema())
    assert asked.may_be_in("a") and not asked.may_be_in("b")
    assert asked.may_be_in("a", 1) and not asked.may_be_in("a", 0)


def test_the_columns_of_a_filter_are_known() -> None:
    asked = RowFilter((FIELDS["topic"] == "offset") & ~FIELDS["key"].is_null(), schema())
    assert asked.columns() == ["topic", "key"]


def test_columns_that_are_not_there_are_not_asked_for() -> None:
    asked = RowFilter(FIELDS["key"] == b"x", pa.schema([("key", pa.binary())]))
    assert asked.may_be_in("a", 1)
    assert set(map(str, asked.conditions(THERE))) == ALL
