"""Options of streams: where they begin, how much a batch has, what they refuse, and their offsets."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import StructType
from tests.forms import examples
from tests.made.directories import append, data
from tests.spark.planned import source_of

from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.columnar.entry_counts import EntryMark
from kafka_segments.errors import DataLossError, OptionError
from kafka_segments.query.continuation import PartitionState
from kafka_segments.spark.stream_offsets import from_offset, to_offset

pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2 or newer")

from pyspark.sql.streaming import datasource as streams
from tests.spark.streamed import Streamed, offsets_of, span

from kafka_segments.spark.stream_reader import shared_out


@pytest.mark.parametrize(
    ("name", "text"),
    [("maxOffsetsPerTrigger", "0"), ("minOffsetsPerTrigger", "x"), ("maxTriggerDelay", "soon")],
)
def test_wrong_values(name: str, text: str) -> None:
    with pytest.raises(OptionError, match=f"option {name}"):
        source_of(path="/a", **{name: text}).schema()


def test_a_minimum_above_the_maximum() -> None:
    options = {"path": "/a", "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}
    with pytest.raises(OptionError, match=r"minOffsetsPerTrigger \(5\) is above maxOffsetsPerTrigger \(4\)"):
        source_of(**options).schema()


def test_wrong_values_where_the_schema_is_given() -> None:
    source = source_of(path="/a", maxOffsetsPerTrigger="0")
    with pytest.raises(OptionError, match="option maxOffsetsPerTrigger"):
        source.streamReader(StructType()).initialOffset()


REFUSED = {
    "snapshot": "/s",
    "endingTimestamp": "5",
    "endingOffsetsByTimestamp": '{"t":{"0":5}}',
    "endingOffsets": '{"t":{"0":5}}',
    "pathGlobFilter": "*5.log",
    "modifiedBefore": "2026-01-31T12:00:00Z",
    "modifiedAfter": "2026-01-31T12:00:00Z",
    "view": "damage",
    "pushFilters": "once",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_for_streams(name: str) -> None:
    where = {} if name == "snapshot" else {"path": "/a"}
    source = source_of(**where, **{name: REFUSED[name]})
    reader = source.streamReader(source.schema())
    for call in (reader.initialOffset, lambda: reader.partitions({}, {})):
        with pytest.raises(OptionError, match=rf"{name}.* not for streams"):
            call()


STARTS = [
    ({}, 0, 0),
    ({"startingOffsets": "latest"}, 9, 6),
    ({"startingOffsets": '{"t":{"0":-1,"1":-2}}'}, 9, 0),
    ({"startingOffsets": '{"t":{"0":5,"1":-1}}'}, 5, 6),
    ({"startingTimestamp": "1003"}, 3, 3),
    ({"startingOffsetsByTimestamp": '{"t":{"0":1006,"1":1000}}'}, 6, 0),
    ({"startingTimestamp": "1007", "startingOffsetsByTimestampStrategy": "latest"}, 9, 6),
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number, end in enumerate((9, 6)):
        batches = [
            data(at, b"a", b"b", b"c", base_timestamp=1000 + at, max_timestamp=1000 + at)
            for at in range(0, end, 3)
        ]
        append(tmp_path / f"t-{number}", *batches)
    return tmp_path


@pytest.mark.parametrize(("options", "first", "second"), STARTS, ids=lambda value: str(value)[:60])
def test_where_a_query_begins(logs: Path, options: dict[str, str], first: int, second: int) -> None:
    streamed = Streamed(logs, **options)
    assert offsets_of(streamed.rest()) == span(0, first, 9) + span(1, second, 6)
    begun = json.loads(streamed.offsets[0])
    assert begun["t"] == {"0": first, "1": second}


def test_a_start_that_is_wrong(logs: Path) -> None:
    with pytest.raises(OptionError, match="t-1 is read but has none"):
        Streamed(logs, startingOffsets='{"t":{"0":-1}}').plan()
    with pytest.raises(DataLossError, match="the log ends at offset 9"):
        Streamed(logs, startingOffsets='{"t":{"0":20,"1":0}}').plan()
    with pytest.raises(OptionError, match="no record of t-1 has timestamp 1005"):
        Streamed(logs, startingTimestamp="1005").plan()
    with pytest.raises(OptionError, match="no topic u"):
        Streamed(logs, subscribe="t,u").plan()


def test_the_most_offsets_of_a_batch(logs: Path) -> None:
    streamed = Streamed(logs, maxOffsetsPerTrigger="5")
    assert streamed.reader.getDefaultReadLimit() == streams.ReadMaxRows(5)
    assert offsets_of(streamed.batch()) == span(0, 0, 3) + span(1, 0, 2)
    assert streamed.reader.reportLatestOffset() == {"t": {"0": 9, "1": 6}}
    assert offsets_of(streamed.batch()) == span(0, 3, 6) + span(1, 2, 4)
    assert streamed.plan(is_all=True)
    assert offsets_of(streamed.read()) == span(0, 6, 9) + span(1, 4, 6)


def test_a_batch_waits_for_the_least_offsets(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streamed = Streamed(logs, minOffsetsPerTrigger="3", maxOffsetsPerTrigger="50", maxTriggerDelay="1m")
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert len(streamed.batch() or []) == 15
    append(logs / "t-0", data(9, b"a", b"b"))
    now[0] += 59
    assert streamed.batch() is None
    assert streamed.reader.reportLatestOffset() == {"t": {"0": 11, "1": 6}}
    now[0] += 1
    assert offsets_of(streamed.batch()) == span(0, 9, 11)
    append(logs / "t-1", data(6, b"a", b"b", b"c"))
    assert offsets_of(streamed.batch()) == span(1, 6, 9)
    only = Streamed(logs, minOffsetsPerTrigger="3").reader
    assert only.getDefaultReadLimit() == streams.ReadMinRows(3)
    assert Streamed(logs).reader.getDefaultReadLimit() == streams.ReadAllAvailable()


def test_available_now_does_not_wait(logs: Path) -> None:
    streamed = Streamed(logs, minOffsetsPerTrigger="10", maxOffsetsPerTrigger="10")
    streamed.reader.prepareForTriggerAvailableNow()
    assert len(streamed.rest()) == 15


FEW = examples(settings(), 40, 2000)
keys = st.tuples(st.sampled_from(["a", "b.c", "_"]), st.integers(0, 3))
numbers = st.integers(1, (1 << 63) - 1)


@FEW
@pytest.mark.long
@given(
    spans=st.dictionaries(keys, st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40)), max_size=6),
    most=st.integers(1, 1 << 41),
)
def test_a_limit_is_shared_out(spans: dict[tuple[str, int], tuple[int, int]], most: int) -> None:
    positions = {key: PartitionState(*key, start) for key, (start, _) in spans.items()}
    ends = {key: start + size for key, (start, size) in spans.items()}
    found = shared_out(ends, positions, most)
    taken = {key: found[key] - spans[key][0] for key in spans}
    assert found.keys() == ends.keys()
    assert all(0 <= taken[key] <= size for key, (_, size) in spans.items())
    assert all(taken[key] > 0 for key, (_, size) in spans.items() if size)
    assert sum(taken.values()) <= max(most + len(spans), 0)


marks = st.builds(
    EntryMark,
    numbers,
    numbers,
    st.integers(0, (1 << 32) - 1),
    st.none() | st.integers(0, 1 << 31),
    st.integers(-1, 1 << 30),
    st.integers(-1, 1 << 62),
    st.integers(-1, 1 << 30),
    st.booleans(),
)


@FEW
@pytest.mark.long
@given(
    st.dictionaries(
        keys, st.tuples(numbers, st.none() | st.just("id"), st.none() | st.integers(0, 9), st.none() | marks)
    )
)
def test_an_offset_is_read_as_it_was_written(
    found: dict[tuple[str, int], tuple[int, str | None, int | None, EntryMark | None]],
) -> None:
    positions = {
        key: PartitionState(*key, at, topic_id, () if epoch is None else (LeaderEpoch(epoch, -1),), mark)
        for key, (at, topic_id, epoch, mark) in found.items()
    }
    text = json.dumps(to_offset(positions))
    again = from_offset(json.loads(text))
    assert json.dumps(to_offset(again)) == text
    for key, state in positions.items():
        assert (again[key].next_offset, again[key].last) == (state.next_offset, state.last)
    assert {name for name in json.loads(text) if name != "#logs"} == {topic for topic, _ in positions}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.just("#logs"), inner)
    ),
    max_leaves=8,
)


@FEW
@pytest.mark.long
@given(st.dictionaries(st.sampled_from(["a", "#logs"]), json_values) | json_values)
def test_any_offset_is_read_or_refused(offset: object) -> None:
    with contextlib.suppress(OptionError):
        from_offset(offset)  # type: ignore[arg-type]
