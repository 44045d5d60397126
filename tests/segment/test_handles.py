"""What is held in the hand: segments and partitions that tell their state, and that are misused."""

from __future__ import annotations

import gc
import io
import warnings
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.codegen.vectors import VECTORS

import kafka_segments
from kafka_segments import open_partition, open_segment, open_writer, read_table
from kafka_segments.errors import EncodeError, OptionError, ReadError

FOLDER = VECTORS / "recorded/kafka-4.3/clean/multi-0"
LOG = min(FOLDER.glob("*.log"))


def test_a_segment_says_what_it_is() -> None:
    with open_segment(LOG) as segment:
        assert repr(segment) == f"<Segment {str(LOG)!r}, {LOG.stat().st_size} bytes, open>"
    assert repr(segment).endswith("bytes, closed>")


def test_a_partition_says_what_it_is() -> None:
    with open_partition(FOLDER) as partition:
        assert repr(partition) == f"<Partition multi-0 in {str(FOLDER)!r}, 2 segments, open>"
    assert repr(partition).endswith("closed>")


@pytest.mark.parametrize(
    "read",
    [
        lambda it: list(it.iter_events()),
        lambda it: it.read_batches().read_all(),
        lambda it: it.read_headers(),
        lambda it: list(it.iter_entries()),
    ],
)
@pytest.mark.parametrize("source", [LOG, LOG.read_bytes()], ids=["file", "bytes"])
def test_a_closed_segment_is_not_read(read: Any, source: Any) -> None:
    segment = open_segment(source)
    segment.close()
    segment.close()
    with pytest.raises(ReadError, match="the segment is closed: read inside its with"):
        read(segment)


def test_a_reader_that_outlives_its_segment() -> None:
    with open_segment(LOG) as segment:
        events = segment.iter_events()
    with pytest.raises(ReadError, match="the segment is closed"):
        list(events)


@pytest.mark.parametrize("read", [lambda it: list(it.iter_events()), lambda it: it.read_table()])
def test_a_closed_partition_is_not_read(read: Any) -> None:
    with open_partition(FOLDER) as partition:
        pass
    with pytest.raises(ReadError, match="the partition is closed"):
        read(partition)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_partition_closes_what_it_opened(isolation: Any) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with open_partition(FOLDER) as partition:
            list(partition.iter_events(isolation=isolation))
            partition.read_table(isolation=isolation)
        gc.collect()
    assert [str(one.message) for one in found] == []


def test_a_segment_that_nobody_closed_is_warned_of() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        segment = open_segment(LOG)
        del segment
        gc.collect()
        with open_segment(LOG):
            pass
    told = [str(one.message) for one in found if one.category is ResourceWarning]
    assert told == [f"unclosed segment or index {str(LOG)!r}"]


def test_tables_of_what_open_segment_takes() -> None:
    expected = read_table(LOG)
    assert read_table(io.BytesIO(LOG.read_bytes())).equals(expected)
    assert read_table(LOG.read_bytes()).equals(expected)
    with LOG.open("rb") as file:
        assert read_table(file).equals(expected)


@pytest.mark.parametrize("given", [7, None, b"orders-0"])
def test_a_directory_that_is_no_path(given: Any) -> None:
    with pytest.raises(OptionError, match="give the path of a directory as str"):
        open_partition(given)


def test_a_path_as_bytes_is_told_from_a_segment(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="bytes are taken as a segment's content, but these name a file"):
        open_segment(str(LOG).encode())
    with open_segment(b"/no such file") as segment:
        assert segment.size == 13


def test_help_names_the_options() -> None:
    for function in (open_writer, kafka_segments.encode_records, kafka_segments.encode_batch):
        assert "`compression_level`" in str(function.__doc__), function


def test_times_that_are_datetimes() -> None:
    moment = datetime(2024, 5, 1, 12, 30, 0, 1000, tzinfo=UTC)
    elsewhere = moment.astimezone(timezone(timedelta(hours=-7)))
    rows = [{"value": b"v", "timestamp": time} for time in (moment, elsewhere, None, 5)]
    with open_segment(bytes(kafka_segments.encode_records(rows))) as segment:
        times = segment.read_batches(["timestamp_ms"]).read_all()["timestamp_ms"].to_pylist()
    assert times == [1714566600001, 1714566600001, -1, 5]


def test_a_time_of_now_is_told_what_to_give() -> None:
    time = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    with pytest.raises(EncodeError) as told:
        kafka_segments.encode_records([{"value": b"v", "timestamp": time}])
    assert str(told.value).startswith("row 0: timestamp is 2024-05-01 12:00:00.123456+00:00: it has")
    assert str(told.value).endswith(": give time.replace(microsecond=time.microsecond // 1000 * 1000)")
    cut = time.replace(microsecond=time.microsecond // 1000 * 1000)
    kafka_segments.encode_records([{"value": b"v", "timestamp": cut}])
    assert cut == datetime(2024, 5, 1, 12, 0, 0, 123000, tzinfo=UTC)


def test_a_column_of_microseconds_is_told_what_to_give() -> None:
    column = pa.array([5000, 6001], pa.timestamp("us", tz="UTC"))
    with pytest.raises(EncodeError, match="row 1: Casting") as told:
        kafka_segments.encode_records(pa.table({"value": [b"v", b"w"], "timestamp": column}))
    assert str(told.value).endswith(": give pyarrow.compute.floor_temporal(column, unit='millisecond')")
    cut = pc.floor_temporal(column, unit="millisecond")
    kafka_segments.encode_records(pa.table({"value": [b"v", b"w"], "timestamp": cut}))
    assert cut.cast(pa.int64()).to_pylist() == [5000, 6000]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (datetime(2024, 5, 1), "give a datetime with a zone"),
        (datetime(2024, 5, 1, 0, 0, 0, 1, tzinfo=UTC), "a fraction of a millisecond"),
        ("2024-05-01", "it must be an integer .milliseconds. or a datetime with a zone"),
    ],
)
def test_times_that_are_none(time: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        kafka_segments.encode_records([{"value": b"v", "timestamp": time}])
