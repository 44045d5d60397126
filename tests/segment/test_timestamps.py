"""Timestamps in Arrow: Kafka's "none" is null, and any number of 64 bits can be had as it is stored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.codegen.vectors import VECTORS

import kafka_segments
from kafka_segments import open_segment, read_table
from kafka_segments.core.formats.entries import Record
from kafka_segments.core.segment.columnar.record_rows import record_batches
from kafka_segments.errors import OptionError

RECORDED = VECTORS / "recorded"
NEW_YEAR_10000 = 253402300800000
TIMES = [1_700_000_000_000, -1, 0, NEW_YEAR_10000, -1, (1 << 63) - 1]


def rows(times: list[int | None]) -> list[dict[str, Any]]:
    return [{"value": b"v", "timestamp": time} for time in times]


@pytest.fixture(scope="module", params=[1, 2])
def data(request: Any) -> bytes:
    return bytes(kafka_segments.encode_records(rows(TIMES), magic=request.param))


@pytest.mark.parametrize("columns", [None, ["timestamp"], ["timestamp", "timestamp_ms", "producer_id"]])
def test_none_is_null(data: bytes, columns: list[str] | None) -> None:
    with open_segment(data) as segment:
        table = segment.read_batches(columns).read_all()
    table.validate(full=True)
    expected = [None if time == -1 else time for time in TIMES]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == expected
    assert table["timestamp"].null_count == 2


def test_the_stored_numbers_on_request(data: bytes) -> None:
    with open_segment(data) as segment:
        table = segment.read_batches(["timestamp_ms", "offset"]).read_all()
    assert table.schema.names == ["timestamp_ms", "offset"]
    assert table["timestamp_ms"].to_pylist() == TIMES
    assert not table.schema.field("timestamp_ms").nullable


def test_both_of_one_range(data: bytes) -> None:
    with open_segment(data) as segment:
        table = segment.read_batches(["timestamp_ms", "timestamp"], offsets=(1, 4)).read_all()
    assert table["timestamp_ms"].to_pylist() == TIMES[1:4]
    assert table["timestamp"].is_null().to_pylist() == [True, False, False]


def test_the_slow_way_says_the_same(data: bytes) -> None:
    with open_segment(data) as segment:
        records = [event for event in segment.iter_events() if isinstance(event, Record)]
        table = segment.read_batches(["timestamp", "timestamp_ms"]).read_all()
    slow = pa.Table.from_batches(record_batches(records, columns=["timestamp", "timestamp_ms"]))
    assert slow.equals(table)
    assert [record.timestamp for record in records] == TIMES


def test_no_bitmap_where_every_record_has_a_time() -> None:
    data = bytes(kafka_segments.encode_records(rows([1, 2, 3])))
    with open_segment(data) as segment:
        (batch,) = segment.read_batches()
    assert batch.column("timestamp").buffers()[0] is None


@pytest.mark.parametrize("folder", ["kafka-0.9/clean", "kafka-2.8/clean"])
def test_messages_of_magic_0_have_none(folder: str) -> None:
    num_rows = 0
    for path in sorted((RECORDED / folder).rglob("*.log")):
        with open_segment(path) as segment:
            table = segment.read_batches(["timestamp", "timestamp_type"], on_damage="skip").read_all()
        is_old = [kind == -1 for kind in table["timestamp_type"].to_pylist()]
        assert all(table["timestamp"][row].as_py() is None for row, is_none in enumerate(is_old) if is_none)
        num_rows += sum(is_old)
    assert num_rows >= 300


def test_headers_of_batches(data: bytes) -> None:
    none = bytes(kafka_segments.encode_records(rows([None, -1])))
    with open_segment(data + none) as segment:
        table = segment.read_headers()
    assert table["max_timestamp"].cast(pa.int64()).to_pylist()[-1] is None
    assert table["base_timestamp"].cast(pa.int64()).to_pylist()[-1] is None
    assert table["max_timestamp"].null_count <= 3 and table.num_rows in (2, 7)


def test_null_and_none_go_round(tmp_path: Path) -> None:
    """What was read is written again, by either column, and read as the same."""
    first = tmp_path / f"{0:020}.log"
    first.write_bytes(bytes(kafka_segments.encode_records(rows(TIMES))))
    usual = read_table(first)
    numbers = read_table(first, columns=["offset", "timestamp_ms", "key", "value", "headers"])
    for number, table in enumerate((usual, numbers)):
        again = tmp_path / str(number) / f"{0:020}.log"
        again.parent.mkdir()
        kafka_segments.write_segment(again, table)
        assert read_table(again).equals(usual)
        assert bytes(kafka_segments.encode_records(table)) == first.read_bytes()


def test_only_one_of_the_two_is_written() -> None:
    table = pa.table({"value": [b"v"], "timestamp": [1], "timestamp_ms": [1]})
    with pytest.raises(OptionError, match="each once"):
        kafka_segments.encode_records(table)
    with pytest.raises(OptionError, match="column timestamp_ms is of type binary"):
        kafka_segments.encode_records(pa.table({"value": [b"v"], "timestamp_ms": [b"1"]}))


def test_times_that_datetime_can_say_are_such() -> None:
    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    data = bytes(kafka_segments.encode_records(rows([round(moment.timestamp() * 1000), None])))
    with open_segment(data) as segment:
        assert segment.read_batches(["timestamp"]).read_all()["timestamp"].to_pylist() == [moment, None]
