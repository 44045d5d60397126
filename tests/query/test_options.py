"""A query in the connector's words: what it makes, and what it refuses as the connector does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.errors import OptionError
from kafka_segments.query.options import option_names
from kafka_segments.query.query import (
    Bound,
    Condition,
    Query,
    Topics,
    at_offsets,
    at_timestamp,
    at_timestamps,
)
from kafka_segments.query.query_options import files_of, query_of, unused_options


def test_without_options_everything_is_read() -> None:
    assert query_of({}) == query_of({"path": "/x", "kafka.bootstrap.servers": "h:9092"}) == Query()


def test_names_in_any_case_and_values_with_blanks() -> None:
    made = query_of(
        {
            "SUBSCRIBE": " a, b ,,",
            "startingoffsets": ' {"a":{"0":23,"1":-2}, "b":{"0":"7"}} ',
            "EndingOffsets": "LATEST",
            "minPartitions": "10",
            "maxRecordsPerPartition": "1000",
            "maxPartitionBytes": "128m",
            "maxWalkBytes": "2g",
            "maxTimestampSkewMs": "60000",
            "failOnDataLoss": "False",
            "kafka.isolation.level": "READ_COMMITTED",
        }
    )
    assert made.topics == Topics(names=frozenset({"a", "b"}))
    assert made.start == at_offsets({("a", 0): 23, ("a", 1): -2, ("b", 0): 7})
    assert made.end == Bound("latest")
    assert (made.limits.min_partitions, made.limits.max_records) == (10, 1000)
    assert (made.limits.max_partition_bytes, made.limits.max_walk_bytes) == (128 << 20, 2 << 30)
    assert (made.max_timestamp_skew_ms, made.fail_on_data_loss) == (60000, False)
    assert made.isolation == "read_committed"


def test_a_time_goes_before_times_and_these_before_offsets() -> None:
    times = {"startingOffsetsByTimestamp": '{"a":{"0":5}}', "startingOffsets": "earliest"}
    assert query_of({"startingTimestamp": "9", **times}).start == at_timestamp(9)
    assert query_of(times).start == at_timestamps({("a", 0): 5})
    assert unused_options({"startingTimestamp": "9", **times}) == [
        "startingOffsetsByTimestamp is ignored: startingTimestamp takes precedence",
        "startingOffsets is ignored: startingTimestamp takes precedence",
    ]
    assert unused_options({"endingTimestamp": "9"}) == []


def test_ends_that_only_files_have() -> None:
    assert query_of({"endingOffsets": "high-watermark"}).end == Bound("high-watermark")
    assert query_of({"endingOffsets": "log-end"}).end == Bound("log-end")


REFUSED = {
    "two ways to choose": ({"subscribe": "a", "assign": '{"a":[0]}'}, "not both"),
    "no topic": ({"subscribe": " , "}, "names nothing"),
    "no pattern": ({"subscribePattern": "("}, "cannot be used"),
    "assign": ({"assign": "[1]"}, "JSON such as"),
    "assign of a number": ({"assign": '{"a":0}'}, "JSON such as"),
    "assign of a text": ({"assign": '{"a":["x"]}'}, "not a 64-bit integer"),
    "start at the latest": ({"startingOffsets": "latest"}, "cannot begin at latest"),
    "a partition's start at the latest": ({"startingOffsets": '{"a":{"0":-1}}'}, "begin at the latest"),
    "end at the earliest": ({"endingOffsets": "earliest"}, "cannot end at the earliest"),
    "a partition's end at the earliest": ({"endingOffsets": '{"a":{"0":-2}}'}, "end at the earliest"),
    "start at the high watermark": ({"startingOffsets": "high-watermark"}, "startingOffsets"),
    "below -2": ({"endingOffsets": '{"a":{"0":-3}}'}, "below 0"),
    "no JSON": ({"startingOffsets": "{"}, "JSON such as"),
    "a word": ({"startingOffsets": "first"}, "give earliest"),
    "JSON of a list": ({"startingOffsets": '{"a":[1]}'}, "JSON such as"),
    "no number": ({"startingTimestamp": "now"}, "not a 64-bit integer"),
    "too large a number": ({"startingTimestamp": "9223372036854775808"}, "64-bit integer"),
    "a special time": ({"startingTimestamp": "-1"}, "not a time"),
    "a special time of a partition": ({"endingOffsetsByTimestamp": '{"a":{"0":-2}}'}, "not a time"),
    "strategy": ({"startingOffsetsByTimestampStrategy": "first"}, "error or latest"),
    "isolation": ({"kafka.isolation.level": "serializable"}, "read_uncommitted or"),
    "no partitions": ({"minPartitions": "0"}, "above 0"),
    "no records": ({"maxRecordsPerPartition": "-5"}, "above 0"),
    "no bytes": ({"maxPartitionBytes": "lots"}, "number of bytes"),
    "no bytes to walk": ({"maxWalkBytes": "-1"}, "number of bytes"),
    "skew": ({"maxTimestampSkewMs": "-1"}, "0 or more"),
    "data loss": ({"failOnDataLoss": "perhaps"}, "true or false"),
    "end before start": (
        {"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"a":{"0":4}}'},
        "begin at 5 and end before that, at 4",
    ),
    "times the wrong way round": ({"startingTimestamp": "5", "endingTimestamp": "4"}, "end before that"),
    "partitions that differ": (
        {"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"a":{"1":9}}'},
        "different partitions: a-0",
    ),
}


IGNORED = {
    "times of a start at a time": (
        {"startingTimestamp": "9", "startingOffsetsByTimestamp": "[1]"},
        "JSON such as",
    ),
    "offsets of a start at a time": (
        {"startingTimestamp": "9", "startingOffsets": "first"},
        "give earliest",
    ),
    "offsets of an end at times": (
        {"endingOffsetsByTimestamp": '{"a":{"0":5}}', "endingOffsets": '{"a":{"0":-3}}'},
        "below 0",
    ),
}


@pytest.mark.parametrize(("options", "why"), IGNORED.values(), ids=IGNORED)
def test_values_that_decide_nothing_are_checked(options: dict[str, str], why: str) -> None:
    assert len(unused_options(options)) == 1
    with pytest.raises(OptionError, match=why):
        query_of(options)


@pytest.mark.parametrize("more", [{}, {"modifiedAfter": "2026-01-31T12:00:00Z"}], ids=["alone", "unused"])
def test_a_time_zone_that_decides_nothing_is_checked(more: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="no time zone 'Nowhere/At_all'"):
        files_of({"timeZone": "Nowhere/At_all", **more})
    assert files_of({"timeZone": "UTC", **more}) == files_of(more)


@pytest.mark.parametrize(("options", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_its_reason(options: dict[str, str], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        query_of(options)


@given(st.dictionaries(st.sampled_from(option_names("query")), st.text(max_size=20)))
def test_any_text_makes_a_query_or_our_error(options: dict[str, str]) -> None:
    try:
        query_of(options)
    except OptionError as error:
        assert error.detail


def test_conditions_are_of_what_a_planner_knows() -> None:
    with pytest.raises(OptionError, match="no condition on"):
        Condition("value", 1)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="only be compared for equality"):
        Condition("topic", lowest=1)
    assert (
        str(Condition("offset", 1, 2, frozenset({1})))
        == "offset from 1 on and offset up to 2 and offset in (1)"
    )
