"""Batches of the discarded magic 3 are read as they were written, and only where asked for by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import forms
from tests.made.build import batch as batch_v2
from tests.made.magic3 import (
    IGNORES_ATTRIBUTES,
    MAGIC_2,
    MAGIC_3,
    METADATA_FIRST,
    TIME,
    Row,
    batch,
    metadata_first,
    records,
)
from tests.made.shapes import QUICK

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.codecs import CODEC_NAMES, compress
from kafka_segments.core.formats.entries import ExperimentalBatch
from kafka_segments.errors import CorruptBatchError, OptionError, UnsupportedMagicError

BYTES = st.none() | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.binary(max_size=9), BYTES), max_size=3).map(tuple)
ROWS = st.lists(
    st.builds(
        Row,
        timestamp_delta=st.integers(-(1 << 40), 1 << 40),
        key=BYTES,
        value=BYTES,
        headers=HEADERS,
        attributes=st.integers(0, 255),
    ),
    max_size=6,
)
PLAIN, FIRST = (records, IGNORES_ATTRIBUTES), (metadata_first, IGNORES_ATTRIBUTES | METADATA_FIRST)


def events(data: bytes) -> list[Batch | Record | Damage]:
    with open_segment(data, experimental_magic3=True) as segment:
        return list(segment.iter_events(on_damage="skip"))


@pytest.mark.long
@forms.examples(QUICK, 60, 5000)
@given(
    rows=ROWS,
    layout=st.sampled_from([PLAIN, FIRST]),
    codec=st.sampled_from([None, *CODEC_NAMES]),
    has_attributes=st.booleans(),
    base_offset=st.integers(0, 1 << 50),
    is_append_time=st.booleans(),
)
def test_what_was_written_is_read(
    rows: list[Row],
    layout: tuple,  # type: ignore[type-arg]
    codec: str | None,
    has_attributes: bool,
    base_offset: int,
    is_append_time: bool,
) -> None:
    write, attributes = layout
    rows = [replace(row, delta=at) for at, row in enumerate(rows)]
    payload = write(rows, has_attributes=has_attributes)
    if codec is not None:
        payload = compress(codec, payload)
        attributes |= CODEC_NAMES.index(codec) + 1
    attributes ^= IGNORES_ATTRIBUTES if has_attributes else 0
    data = batch(
        payload,
        len(rows),
        base_offset=base_offset,
        attributes=attributes | (8 if is_append_time else 0),
        last_offset_delta=max(0, len(rows) - 1),
        max_timestamp_delta=77,
        producer=(5, 6, 7),
    )
    header, *found = events(data)
    assert isinstance(header, ExperimentalBatch)
    assert (header.magic, header.num_records, header.producer_id) == (3, len(rows), 5)
    assert header.ignores_message_attributes != has_attributes
    assert header.has_metadata_first == (write is metadata_first)
    assert header.max_timestamp == TIME + 77
    assert [(one.offset, one.key, one.value, one.headers) for one in found] == [
        (base_offset + at, row.key, row.value, row.headers) for at, row in enumerate(rows)
    ]
    times = [TIME + 77 if is_append_time else TIME + row.timestamp_delta for row in rows]
    assert [one.timestamp for one in found] == times
    assert [one.sequence for one in found] == [7 + at for at in range(len(rows))]


def test_without_the_option_it_is_an_unsupported_magic_that_names_the_option() -> None:
    with open_segment(MAGIC_2 + MAGIC_3) as segment:
        *sound, damage = segment.iter_events(on_damage="skip")
    assert len(sound) == 3
    assert isinstance(damage, Damage) and isinstance(damage.error, UnsupportedMagicError)
    assert (damage.position, damage.error.magic) == (len(MAGIC_2), 3)
    assert damage.error.detail.startswith("magic 3 is not 0, 1 or 2: ")
    assert "experimental_magic3=True" in damage.error.detail
    assert "--experimental-magic3" in damage.error.detail


def test_magics_2_and_3_are_read_from_one_segment() -> None:
    assert [type(one).__name__ for one in events(MAGIC_2 + MAGIC_3)] == [
        "Batch", "Record", "Record", "ExperimentalBatch", "Record", "Record",
    ]  # fmt: skip


def test_a_magic_beyond_is_refused_as_ever() -> None:
    (damage,) = events(batch_v2(0, magic=4))
    assert isinstance(damage, Damage)
    assert damage.error.detail.startswith("magic 4 is not 0, 1, 2 or 3: ")


@pytest.mark.parametrize("layout", [PLAIN, FIRST], ids=["plain", "metadata first"])
@pytest.mark.parametrize("count", [-1, 1, 3])
def test_a_wrong_count_is_damage(layout: tuple, count: int) -> None:  # type: ignore[type-arg]
    write, attributes = layout
    data = batch(write([Row(0), Row(1)]), count, attributes=attributes, last_offset_delta=1)
    *_before, damage = events(data + MAGIC_2)[:-3]
    assert isinstance(damage, Damage)
    assert isinstance(damage.error, CorruptBatchError)
    assert (damage.position, damage.end_position) == (0, len(data))


def test_a_wrong_bit_is_found_by_the_checksum_and_the_next_batch_after_it() -> None:
    damaged = bytearray(MAGIC_3)
    damaged[-2] ^= 1
    found = events(bytes(damaged) + batch(records([Row()]), 1, base_offset=2))
    assert [type(one).__name__ for one in found] == [
        "ExperimentalBatch", "Damage", "ExperimentalBatch", "Record",
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [17, 30, 45, 53, 60])
def test_a_batch_that_is_cut_off(cut: int) -> None:
    *_sound, damage = events(MAGIC_2 + MAGIC_3[:cut])
    assert isinstance(damage, Damage)
    assert (damage.position, damage.end_position) == (len(MAGIC_2), len(MAGIC_2) + cut)


def test_the_search_after_damage_finds_a_batch_of_magic_3() -> None:
    noise = b"\x01" * 5000
    found = events(MAGIC_2 + noise + batch(records([Row()]), 1, base_offset=9))
    assert [one.base_offset for one in found if isinstance(one, Batch)] == [0, 9]


def test_the_least_batch_and_one_without_records_but_a_time() -> None:
    least = batch(b"", 0, base_timestamp=-1)
    emptied = batch(b"", 0, base_timestamp=-1, max_timestamp_delta=TIME + 1, base_offset=1)
    assert len(least) == 44
    assert [(one.num_records, one.base_timestamp, one.max_timestamp) for one in events(least + emptied)] == [
        (0, -1, -1),
        (0, -1, TIME),
    ]


def test_a_control_batch_and_a_delete_horizon() -> None:
    marker = Row(0, -TIME, bytes.fromhex("00000001"), bytes.fromhex("000000000007"))
    for write, attributes in (PLAIN, FIRST):
        data = batch(write([marker]), 1, attributes=attributes | 0x70, producer=(1, 0, -1))
        header, record = events(data)
        assert header.is_control and header.is_transactional and header.delete_horizon_ms == TIME
        assert (record.timestamp, record.control.type) == (0, "COMMIT")
        assert record.control.value == {"coordinator_epoch": 7}


def test_arrow_has_the_same_records() -> None:
    rows = [Row(at, at, b"k%d" % at, None if at % 3 else b"v", ((b"h", b"x"),) * (at % 2)) for at in range(9)]
    data = MAGIC_2
    for number, (write, attributes) in enumerate((PLAIN, FIRST, PLAIN)):
        payload = compress("zstd", write(rows)) if number == 2 else write(rows)
        codec = 4 if number == 2 else 0
        data += batch(
            payload, 9, attributes=attributes | codec, base_offset=2 + 9 * number, last_offset_delta=8
        )
    with open_segment(data, experimental_magic3=True) as segment:
        one_by_one = [one for one in segment.iter_events() if isinstance(one, Record)]
        table = segment.read_batches(columns=["offset", "timestamp_ms", "key", "value", "headers"]).read_all()
        with pytest.raises(OptionError, match="Kafka's own formats only"):
            segment.read_headers()
    assert table["offset"].to_pylist() == [one.offset for one in one_by_one] == list(range(29))
    assert table["timestamp_ms"].to_pylist() == [one.timestamp for one in one_by_one]
    assert table["key"].to_pylist() == [one.key for one in one_by_one]
    assert table["value"].to_pylist() == [one.value for one in one_by_one]


def test_a_record_with_more_headers_than_the_reader_takes() -> None:
    row = Row(0, headers=((b"", None),) * 10_001)
    header, damage = events(batch(metadata_first([row]), 1, attributes=FIRST[1]))
    assert isinstance(header, Batch)
    assert "10001 headers are more than the 10000 that this experimental reader takes" in damage.error.detail
