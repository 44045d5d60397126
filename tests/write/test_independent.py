"""Any records, and others who know the format: an encoder that shares no code with us, and kafka-python's
reader.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords
from tests import forms
from tests.made import encoder
from tests.made.shapes import QUICK
from tests.write.cases import Case, cases
from tests.write.test_roundtrip import expected, records

import kafka_segments
from kafka_segments.core.codecs import CODEC_NAMES

BYTES = st.none() | st.binary(max_size=300) | st.binary(max_size=3).map(lambda data: data * 5000)
HEADERS = st.lists(st.tuples(st.binary(max_size=20), BYTES), max_size=4)
TIMES = st.integers(-1, 2**63 - 1) | st.integers(0, 100)
GAPS = st.integers(1, 3) | st.integers(1, 2**20)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records with any values, with offsets that rise by some steps."""
    offset = draw(st.integers(0, 2**62))
    found = []
    for gap in draw(st.lists(GAPS, min_size=1, max_size=12)):
        row = {"offset": offset, "timestamp": draw(TIMES), "key": draw(BYTES), "value": draw(BYTES)}
        found.append({**row, "headers": draw(HEADERS)})
        offset += gap
    return found


def wrapped(number: int) -> int:
    """As Java subtracts longs: from -1 to the greatest timestamp are 2^63 milliseconds, one too many."""
    return (number + 2**63) % 2**64 - 2**63


FAR_APART = [
    {"offset": offset, "timestamp": timestamp, "key": None, "value": b"", "headers": []}
    for offset, timestamp in ((0, -1), (1, 2**63 - 1))
]


@pytest.mark.long
@example(FAR_APART, False, -1)
@given(rows(), st.booleans(), st.integers(-1, 2**31 - 1))
@settings(forms.examples(QUICK, 200, 3000), database=None)
def test_one_batch_as_another_encoder_writes_it(
    given_rows: list[dict[str, Any]], is_append_time: bool, epoch: int
) -> None:
    first = given_rows[0]
    batch = encoder.Batch(
        base_offset=first["offset"],
        records=tuple(
            encoder.Record(
                row["offset"] - first["offset"],
                wrapped(row["timestamp"] - first["timestamp"]),
                row["key"],
                row["value"],
                tuple(row["headers"]),
            )
            for row in given_rows
        ),
        timestamp_type=int(is_append_time),
        base_timestamp=first["timestamp"],
        max_timestamp=5 if is_append_time else max(row["timestamp"] for row in given_rows),
        leader_epoch=epoch,
    )
    options: dict[str, Any] = {"partition_leader_epoch": epoch, "max_message_bytes": None}
    if is_append_time:
        options |= {"timestamp_type": "LogAppendTime", "log_append_time": 5}
    assert kafka_segments.encode_batch(given_rows, **options) == batch.encode()


@pytest.mark.long
@given(rows(), st.sampled_from((0, 1)), st.sampled_from(("none", "gzip", "snappy", "lz4")))
@settings(forms.examples(QUICK, 200, 3000), database=None)
def test_old_messages_as_another_encoder_writes_them(
    given_rows: list[dict[str, Any]], magic: int, codec: str
) -> None:
    """Wrappers are compared by what is in them: other libraries compress otherwise."""
    messages = tuple(
        encoder.Message(row["offset"], magic, row["key"], row["value"], row["timestamp"] if magic else -1)
        for row in given_rows
    )
    bare = [{**row, "headers": []} for row in given_rows]
    options: dict[str, Any] = {"magic": magic, "batch_size": 2**31 - 1, "max_message_bytes": None}
    ours = kafka_segments.encode_records(bare, compression=codec, **options)
    if codec == "none":
        assert ours == encoder.encode_segment(messages)
        return
    latest = max(message.timestamp for message in messages)
    wrapper = encoder.Wrapper(messages, magic, codec, latest)
    assert records(ours) == records(wrapper.encode())
    with kafka_segments.open_segment(ours) as segment:
        (batch,) = list(segment.iter_entries())
    assert isinstance(batch, kafka_segments.Batch)
    assert (batch.last_offset, batch.max_timestamp) == (given_rows[-1]["offset"], latest)


@pytest.mark.long
@given(rows(), st.sampled_from(("none", *CODEC_NAMES)), st.integers(0, 3000))
@settings(forms.examples(QUICK, 200, 3000), database=None)
def test_anything_comes_back(given_rows: list[dict[str, Any]], codec: str, batch_size: int) -> None:
    data = kafka_segments.encode_records(
        given_rows, compression=codec, batch_size=batch_size, max_message_bytes=None
    )
    assert records(data) == [(*list(row.values())[:4], tuple(row["headers"])) for row in given_rows]


# kafka-python knows no delete horizon, and for LZ4 in magic 0 wants a package that nobody else here needs.
READABLE = [
    case
    for case in cases()
    if "delete_horizon_ms" not in case.options
    and (case.options.get("magic"), case.options["compression"]) != (0, "lz4")
]


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_kafka_python_reads_it(case: Case) -> None:
    """Headers' keys are text there, and times of magic 0 null."""
    data = kafka_segments.encode_records(case.rows, **case.options)
    found, entries = [], MemoryRecords(data)
    while (batch := entries.next_batch()) is not None:
        assert batch.validate_crc()
        for record in batch:
            timestamp = -1 if record.timestamp is None else record.timestamp
            headers = tuple((key.encode("utf-8"), value) for key, value in record.headers)
            found.append((record.offset, timestamp, record.key, record.value, headers))
    assert found == expected(case)
