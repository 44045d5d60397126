"""Batches of the discarded magic 3 from the generated encoders are those that were made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import forms
from tests.made.magic3 import MAGIC_2, MAGIC_3, TIME, Row, batch, records
from tests.made.shapes import QUICK

from kafka_segments import (
    Record,
    encode_batch,
    encode_records,
    iter_encoded,
    open_segment,
    open_writer,
    predicted_size,
    read_table,
)
from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.errors import EncodeError, OptionError

HELLO = [{"timestamp": TIME, "value": b"hello"}, {"timestamp": TIME, "value": b"world"}]
BYTES = st.none() | st.binary(max_size=20)
ROWS = st.lists(
    st.builds(
        Row,
        delta=st.integers(0, 3),
        timestamp_delta=st.integers(0, 1 << 40),
        key=BYTES,
        value=BYTES,
        headers=st.lists(st.tuples(st.binary(max_size=9), BYTES), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


def test_the_example_of_both_magics() -> None:
    assert encode_records(HELLO) == MAGIC_2
    assert encode_records(HELLO, magic=3, experimental_magic3=True) == MAGIC_3
    assert b"".join(iter_encoded(HELLO, magic=3, experimental_magic3=True)) == MAGIC_3


@pytest.mark.long
@forms.examples(QUICK, 60, 5000)
@given(rows=ROWS, base_offset=st.integers(0, 1 << 50), more=st.integers(0, 1 << 20))
def test_the_bytes_are_those_made_by_hand(rows: list[Row], base_offset: int, more: int) -> None:
    first, last, made = rows[0].timestamp_delta, -1, []
    for row in rows:
        last += 1 + row.delta
        made.append(Row(last, row.timestamp_delta - first, row.key, row.value, row.headers))
    data = [
        {
            "offset": base_offset + row.delta,
            "timestamp": TIME + first + row.timestamp_delta,
            "key": row.key,
            "value": row.value,
            "headers": row.headers,
        }
        for row in made
    ]
    encoded = encode_batch(
        data,
        magic=3,
        experimental_magic3=True,
        base_offset=base_offset,
        last_offset=base_offset + last + more,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        partition_leader_epoch=4,
    )
    assert encoded == batch(
        records(made),
        len(made),
        base_offset=base_offset,
        leader_epoch=4,
        producer=(7, 1, 3),
        last_offset_delta=last + more,
        base_timestamp=TIME + first,
        max_timestamp_delta=max(row.timestamp_delta for row in made),
    )


@pytest.mark.parametrize("compression", ["none", *CODEC_NAMES])
def test_many_batches_of_each_codec_are_read_again(compression: str) -> None:
    rows = [
        {"timestamp": TIME + at * 7, "key": None if at % 3 else b"k%d" % at, "value": b"x" * (at % 300)}
        for at in range(2000)
    ]
    options = {"magic": 3, "experimental_magic3": True, "compression": compression, "batch_size": 5000}
    data = encode_records(rows, **options)
    with open_segment(data, experimental_magic3=True) as segment:
        found = [one for one in segment.iter_events() if isinstance(one, Record)]
        table = segment.read_batches(columns=["timestamp_ms", "key", "value"]).read_all().to_pylist()
        sizes = [entry.size for entry in segment.iter_entries()]
    assert len(sizes) > 30
    assert compression != "none" or max(sizes) <= 5000
    expected = [(row["timestamp"], row["key"], row["value"]) for row in rows]
    assert [(one.timestamp, one.key, one.value) for one in found] == expected
    assert [tuple(row.values()) for row in table] == expected
    assert [one.offset for one in found] == list(range(2000))


def test_the_time_of_the_broker_and_a_delete_horizon() -> None:
    data = encode_records(
        HELLO,
        magic=3,
        experimental_magic3=True,
        timestamp_type="LogAppendTime",
        log_append_time=TIME + 9,
        delete_horizon_ms=TIME - (1 << 40),
    )
    with open_segment(data, experimental_magic3=True) as segment:
        header, *found = segment.iter_events()
    assert (header.delete_horizon_ms, header.max_timestamp) == (TIME - (1 << 40), TIME + 9)
    assert [one.timestamp for one in found] == [TIME + 9, TIME + 9]


def test_only_where_it_is_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="experimental_magic3=True allows 3"):
        encode_records(HELLO, magic=3)
    with pytest.raises(OptionError, match="experimental_magic3 is 1; it must be True or False"):
        encode_records(HELLO, magic=3, experimental_magic3=1)  # type: ignore[typeddict-item]
    with pytest.raises(OptionError, match="magic is 4"):
        encode_records(HELLO, magic=4, experimental_magic3=True)
    with pytest.raises(OptionError, match="cannot be predicted"):
        predicted_size(HELLO, magic=3, experimental_magic3=True)
    with pytest.raises(OptionError, match="no segment of Kafka holds magic 3"):
        open_writer(tmp_path / "x.log", magic=3, experimental_magic3=True)
    assert list(tmp_path.iterdir()) == []


def test_what_kafka_refuses_is_refused() -> None:
    with pytest.raises(EncodeError, match="timestamp"):
        encode_records([{"timestamp": -2, "value": b""}], magic=3, experimental_magic3=True)
    with pytest.raises(EncodeError, match="max_message_bytes is 50"):
        encode_records(HELLO, magic=3, experimental_magic3=True, max_message_bytes=50)


def test_other_readers_do_not_take_it() -> None:
    with pytest.raises(Exception, match="magic 3 is not 0, 1 or 2"):
        read_table(MAGIC_3)
