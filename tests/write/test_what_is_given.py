"""What callers give as records: everything is written as it was meant, or refused with its row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kafka_segments
from kafka_segments.errors import EncodeError, OptionError

VALUES = pa.array([b"a", b"b", b"c"])


def read(data: bytes) -> list[kafka_segments.Record]:
    with kafka_segments.open_segment(data) as segment:
        return [event for event in segment.iter_events() if isinstance(event, kafka_segments.Record)]


def written(rows: Any, **options: Any) -> list[kafka_segments.Record]:
    return read(kafka_segments.encode_records(rows, **options))


def headers_of(names: list[str]) -> pa.Array:
    """A header in fields of any names."""
    header = pa.StructArray.from_arrays([pa.array([b"a"])] * len(names), names=names)
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), header)


def dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), values)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_dictionary_of_timestamps_is_in_its_unit(unit: str) -> None:
    per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([5 * per_second, 7 * per_second], pa.timestamp(unit, "UTC"))
    table = pa.table({"value": VALUES, "timestamp": dictionary(times)})
    assert [record.timestamp for record in written(table)] == [7000, -1, 5000]


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.string_view(), pa.binary_view()],
)
def test_a_dictionary_of_any_text(kind: Any) -> None:
    words = pa.array([b"x", b"yy"]).cast(kind)
    assert [record.value for record in written(pa.table({"value": dictionary(words)}))] == [b"yy", None, b"x"]


def test_a_dictionary_may_hold_what_no_row_has() -> None:
    times = pa.array([5_000_000, 1, 7_000_000], pa.timestamp("ns"))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 2]), times)
    assert [record.timestamp for record in written(pa.table({"value": VALUES[:2], "timestamp": column}))] == [
        5,
        7,
    ]


@pytest.mark.parametrize("name", ["offset", "timestamp"])
@pytest.mark.parametrize("wrong", [1714000000000.9, 3.0, True, "3", b"3", 1 << 63, np.float64(4), [3]])
def test_a_number_of_a_row_is_an_integer(name: str, wrong: Any) -> None:
    with pytest.raises(EncodeError, match=f"row 1: {name}") as caught:
        written([{"value": b"", name: 0}, {"value": b"", name: wrong}])
    assert (caught.value.rule, caught.value.row) == ("unwritable", 1)


def test_a_number_that_cannot_be_printed() -> None:
    with pytest.raises(EncodeError, match="row 0: timestamp is an unprintable value of type int"):
        written([{"value": b"", "timestamp": 10**5000}])


def test_a_class_is_no_value() -> None:
    with pytest.raises(EncodeError, match="row 1: value"):
        written([{"value": b""}, {"value": pa.Table}])


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_level_that_cannot_be_printed(compression: str) -> None:
    with pytest.raises(OptionError, match=r"compression_level is an unprintable value of type int"):
        written([{"value": b""}], compression=compression, compression_level=10**5000)


def test_integers_of_other_libraries_are_integers() -> None:
    rows = [{"value": b"", "offset": np.int64(3)}, {"value": b"", "offset": pa.scalar(4, pa.int32())}]
    assert [record.offset for record in written(rows)] == [3, 4]


@pytest.mark.parametrize(
    "headers",
    [
        {"ab": b"x"},
        {"key": b"k", "value": b"v"},
        ["kv"],
        [b"kv"],
        "kvkv",
        b"kv",
        5,
        0,
        [5],
        [None],
        [(b"k",)],
        [(b"k", b"v", b"w")],
        [{"key": b"k"}],
        [{"key": b"k", "value": b"v", "more": 1}],
        [(5, b"v")],
        [("\ud800", b"v")],
        [(b"k", 5)],
    ],
)
def test_headers_are_pairs(headers: Any) -> None:
    with pytest.raises(EncodeError, match="row 1: ") as caught:
        written([{"value": b""}, {"value": b"", "headers": headers}])
    assert (caught.value.rule, caught.value.row) == ("unwritable", 1)


def test_headers_may_come_as_they_like() -> None:
    """In whatever can be gone through, even once only."""
    pairs = [(b"a", b"1"), (b"b", None)]
    mappings = [{"key": key, "value": value} for key, value in pairs]
    for headers in (pairs, tuple(pairs), iter(pairs), (list(pair) for pair in pairs), mappings):
        assert written([{"value": b"", "headers": headers}])[0].headers == tuple(pairs)
    column = pa.array([pairs], pa.map_(pa.binary(), pa.binary()))
    assert written([{"value": b"", "headers": column[0]}])[0].headers == tuple(pairs)
    assert written([{"value": b"", "headers": None}, {"value": b"", "headers": []}])[1].headers == ()


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "rows",
        b"rows",
        {"value": b"v"},
        [{1: 2, "x": 3}],
        [{"x": 3}],
        [[1, 2]],
        [b"v"],
        [(0, 1, b"k", b"v")],
        pa.Table,
        VALUES,
        pa.chunked_array([VALUES]),
        np.array([1, 2]),
        pa.table({"value": VALUES, "offset": VALUES}),
        pa.table({"value": VALUES, "other": VALUES}),
        pa.table({"offset": [1, 2, 3]}),
        pa.table([VALUES, VALUES], ["value", "value"]),
        pa.table({"value": [1]}),
        pa.table({"value": VALUES, "headers": VALUES}),
        pa.table({"value": [b"v"], "headers": [[{"key": b"x"}]]}),
        pa.table({"value": [b"v"], "headers": headers_of(["key", "value", "value"])}),
    ],
    ids=lambda data: type(data).__name__,
)
def test_other_things_are_no_records(data: Any) -> None:
    for attempt in (
        kafka_segments.encode_records,
        kafka_segments.encode_batch,
        kafka_segments.predicted_size,
    ):
        with pytest.raises(OptionError):
            attempt(data)


def test_a_value_that_cannot_be_cast_has_a_rule() -> None:
    times = pa.array([1_000_000, 1], pa.timestamp("ns"))
    with pytest.raises(EncodeError) as caught:
        written(pa.table({"value": VALUES[:2], "timestamp": times}))
    assert (caught.value.rule, caught.value.row) == ("unwritable", 1)


def test_rows_and_arrow_batches_in_any_order() -> None:
    batch = pa.RecordBatch.from_pydict({"value": VALUES})
    row = {"value": b"r"}
    for items, values in (
        ([row, batch], [b"r", b"a", b"b", b"c"]),
        ([batch, row], [b"a", b"b", b"c", b"r"]),
        ([row, row, batch, batch, row], [b"r", b"r", *[b"a", b"b", b"c"] * 2, b"r"]),
    ):
        assert [record.value for record in written(iter(items))] == values
    with pytest.raises(EncodeError) as caught:
        written([row, batch, row, {"value": 5}])
    assert caught.value.row == 5
