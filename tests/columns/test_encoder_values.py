"""Any columns are written as an encoder writes them that knows nothing of ours, and read as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.columns import kaitai_rows
from tests.columns.driver import scan, support_of
from tests.columns.encoding import entry_of, payload_of
from tests.columns.samples import BATCHES, MESSAGES, header_of, table_row
from tests.made.encoder import Batch, Message, Record

from kafka_segments.core.formats import increment_sequence
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record
from kafka_segments_generated.columns.support import store

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
NAMES = kafka_log_segment.BATCH_COLUMNS
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
DELTAS = st.one_of(st.integers(0, 300), st.integers(-(1 << 31), (1 << 31) - 1))
STEPS = st.one_of(st.integers(-200, 20_000), LONGS)
VALUES = st.one_of(st.none(), st.binary(max_size=40), st.sampled_from([b"x" * 63, b"y" * 64, b"z" * 9000]))
HEADERS = st.lists(st.tuples(st.binary(max_size=20), VALUES), max_size=4).map(tuple)
RECORDS = st.builds(Record, DELTAS, STEPS, VALUES, VALUES, HEADERS, st.just(0))
FLAGS = {name: st.booleans() for name in ("is_transactional", "is_control", "has_delete_horizon")}
PRODUCERS = {
    "producer_id": LONGS,
    "producer_epoch": st.integers(-(1 << 15), (1 << 15) - 1),
    "base_sequence": st.integers(-(1 << 31), (1 << 31) - 1),
    "leader_epoch": st.integers(-(1 << 31), (1 << 31) - 1),
}
ANY_BATCH = st.builds(
    Batch,
    base_offset=LONGS,
    records=st.lists(RECORDS, max_size=6).map(tuple),
    timestamp_type=st.sampled_from([0, 0, 0, 1]),
    base_timestamp=LONGS,
    **FLAGS,
    **PRODUCERS,
)
ANY_MESSAGE = st.builds(
    Message,
    offset=LONGS,
    magic=st.sampled_from([0, 1]),
    key=VALUES,
    value=VALUES,
    timestamp=LONGS,
    timestamp_type=st.sampled_from([0, 1]),
)
FEW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(FEW, max_examples=400)


def row_of_table(batch: Batch) -> Any:
    """A row of the table, so far as it is not the encoder's to fill."""
    values = {
        **header_of(batch),
        "content": 1,
        "magic": 2,
        "partition_leader_epoch": batch.leader_epoch,
        "is_transactional": int(batch.is_transactional),
        "has_delete_horizon": int(batch.has_delete_horizon),
        **{name: getattr(batch, name) for name in ("producer_id", "producer_epoch", "base_sequence")},
    }
    return np.array(table_row(kafka_log_segment, **values), np.int64)


def rows_of_batch(batch: Batch) -> list[dict[str, Any]]:
    """The records by column. Where the broker has set the time, they have those of their producers."""
    return [
        {
            "key": record.key,
            "value": record.value,
            "headers": record.headers,
            "offset": kaitai_rows.wrap(batch.base_offset + record.offset_delta),
            "timestamp": kaitai_rows.wrap(batch.base_timestamp + record.timestamp_delta),
        }
        for record in batch.records
    ]


def check_batch(batch: Batch, compiled: bool) -> None:
    """The bytes of the other encoder, but for the last offset, of which ours takes the last record's."""
    table, rows = row_of_table(batch), rows_of_batch(batch)
    last = batch.records[-1].offset_delta if batch.records else 0
    expected = Batch(
        **{**{name: getattr(batch, name) for name in batch.__slots__}, "last_offset_delta": last}
    )
    assert payload_of(kafka_record, rows, table, compiled=compiled) == batch.content()
    entry = entry_of(kafka_log_segment, kafka_record, rows, table, compiled=compiled)
    assert entry == expected.encode()
    (header,), end = kaitai_rows.headers_of(entry, check_crc=True)
    assert end == len(entry)
    told = dict(zip(NAMES, table.tolist(), strict=True))
    same = told.keys() & header.keys() - {"position", "end_position"}
    assert {name: told[name] for name in same} == {name: header[name] for name in same}
    read, damaged = kaitai_rows.record_rows(entry[len(entry) - len(batch.content()) :], header)
    given = [tuple(row.values()) for row in rows]
    if batch.timestamp_type:
        given = [(*row[:4], header["max_timestamp"]) for row in given]
    assert damaged is None and [row[:5] for row in read] == given


@FEW
@given(ANY_BATCH)
def test_any_batch(batch: Batch) -> None:
    check_batch(batch, compiled=False)


@MANY
@given(ANY_BATCH)
def test_any_batch_compiled(batch: Batch) -> None:
    check_batch(batch, compiled=True)


@WAYS
@pytest.mark.parametrize("batch", BATCHES, ids=range(len(BATCHES)))
def test_samples(batch: Batch, compiled: bool) -> None:
    check_batch(batch, compiled)


def check_messages(messages: list[Message], compiled: bool) -> None:
    for message in messages:
        kind = message.timestamp_type if message.magic else 0
        values = {"content": 0, "magic": message.magic, "timestamp_type": kind}
        table = table_row(kafka_log_segment, **values)
        row = {
            "key": message.key,
            "value": message.value,
            "offset": message.offset,
            "timestamp": message.timestamp,
        }
        assert payload_of(kafka_message_legacy, [row], table, compiled=compiled) == message.encode()
        assert payload_of(kafka_message_legacy, [row] * 3, table, compiled=compiled) == message.encode() * 3


@FEW
@given(ANY_MESSAGE)
def test_any_message(message: Message) -> None:
    check_messages([message], compiled=False)


@MANY
@given(ANY_MESSAGE)
def test_any_message_compiled(message: Message) -> None:
    check_messages([message, *MESSAGES], compiled=True)


@WAYS
def test_all_bits_of_attributes(compiled: bool) -> None:
    seen = set()
    flags = ("has_delete_horizon", "is_control", "is_transactional", "timestamp_type")
    for bits in range(16):
        batch = Batch(records=(Record(),), **{name: bool(bits >> n & 1) for n, name in enumerate(flags)})
        for codec in range(5):
            table = row_of_table(batch)
            table[NAMES.index("compression")] = codec
            entry = entry_of(kafka_log_segment, kafka_record, rows_of_batch(batch), table, compiled=compiled)
            (row,) = scan(kafka_log_segment, entry, compiled=compiled).rows
            assert [row[name] for name in flags] == [bits >> n & 1 for n in range(4)]
            assert row["compression"] == codec
            seen.add(entry[21:23])
    assert len(seen) == 80


@pytest.mark.parametrize("value", [-2147483651, 2147483648, -(1 << 40) - 3, 5, -1])
def test_lowest_bits_are_kept(value: int) -> None:
    array = np.zeros(1, np.int32)
    store(array, 0, value)
    assert int(array[0]) == int(np.array([value], np.int64).astype(np.int32)[0])


def test_sequence_wraps_as_kafka_adds_it_up() -> None:
    """DefaultRecordBatch.incrementSequence, in ints, with a delta that no producer writes."""
    sequence, delta = 2147483645, -2147483648
    array = np.zeros(1, np.int32)
    store(array, 0, delta - (2147483647 - sequence) - 1)
    assert int(array[0]) == increment_sequence(sequence, delta)
