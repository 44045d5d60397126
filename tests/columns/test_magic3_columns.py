"""Generated scanner, decoder and encoder of the discarded magic 3, as plain Python and as machine code."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests import forms
from tests.columns.driver import decode, scan, support_of
from tests.columns.encoding import entry_of
from tests.columns.samples import table_row
from tests.made.edits import edited
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

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.errors import CorruptBatchError
from kafka_segments_generated.columns import kafka_log_segment_experimental, kafka_record, kafka_record_v3

SEGMENT = kafka_log_segment_experimental
SUPPORT = support_of(SEGMENT)
COMPILED = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
ROWS = (
    Row(0, 0, b"key", b"value"),
    Row(1, 5, None, b""),
    Row(2, -70_000, b"", None, ((b"h", b"1"), (b"", None), (b"long" * 40, b"x" * 200))),
    Row(3, 1 << 40, b"k" * 70, b"v" * 300, ((b"trace", b""),)),
)
NAMES = ("key", "value", "headers", "offset", "timestamp", "timestamp_type", "leader_epoch")
NUMBER = next(at for at, content in enumerate(SEGMENT.CONTENTS) if content.cases == (3,))


def made(rows: Sequence[Row] = ROWS, *, attributes: int = IGNORES_ATTRIBUTES, base_offset: int = 7) -> bytes:
    return batch(
        records(rows, has_attributes=not attributes & IGNORES_ATTRIBUTES),
        len(rows),
        base_offset=base_offset,
        attributes=attributes,
        leader_epoch=4,
        producer=(1 << 40, 3, 2147483645),
        last_offset_delta=rows[-1].delta if rows else 0,
        max_timestamp_delta=max((row.timestamp_delta for row in rows), default=0),
    )


@COMPILED
def test_the_table_has_the_header(compiled: bool) -> None:
    found = scan(SEGMENT, MAGIC_2 + MAGIC_3 + made(), compiled=compiled)
    assert (found.status, found.position) == (SUPPORT.DONE, len(MAGIC_2 + MAGIC_3 + made()))
    old, new, last = found.rows
    assert (old["magic"], new["magic"], last["magic"]) == (2, 3, 3)
    assert (old["payload"], new["payload"]) == (61, 85 + 49)
    same = (
        "base_offset",
        "last_offset_delta",
        "base_timestamp",
        "max_timestamp",
        "num_records",
        "producer_id",
    )
    assert [old[name] for name in same] == [new[name] for name in same]
    assert last["max_timestamp"] == TIME + (1 << 40)
    assert (old["ignores_message_attributes"], new["ignores_message_attributes"]) == (0, 1)
    assert last["base_sequence"] == 2147483645


@COMPILED
def test_metadata_first_is_left_to_others(compiled: bool) -> None:
    other = batch(metadata_first(ROWS), 4, attributes=IGNORES_ATTRIBUTES | METADATA_FIRST)
    found = scan(SEGMENT, MAGIC_3 + other + MAGIC_3, compiled=compiled)
    assert (len(found.rows), found.status, found.position) == (1, SUPPORT.DAMAGED, len(MAGIC_3))


@COMPILED
@pytest.mark.parametrize("attributes", [0, IGNORES_ATTRIBUTES, IGNORES_ATTRIBUTES | 8])
def test_records_are_decoded(compiled: bool, attributes: int) -> None:
    data = made(attributes=attributes)
    found = scan(SEGMENT, data, compiled=compiled)
    spans = [(found.rows[0]["payload"], found.rows[0]["end_payload"], 0)]
    decoded = decode(kafka_record_v3, data, spans, found.table, compiled=compiled, columns=NAMES)
    last = TIME + (1 << 40)
    assert decoded.damage is None
    assert [row[:3] for row in decoded.rows] == [(row.key, row.value, row.headers) for row in ROWS]
    assert [row[3:] for row in decoded.rows] == [
        (7 + row.delta, last if attributes & 8 else TIME + row.timestamp_delta, int(bool(attributes & 8)), 4)
        for row in ROWS
    ]


@COMPILED
@pytest.mark.parametrize("attributes", [0, IGNORES_ATTRIBUTES, IGNORES_ATTRIBUTES | 0x70])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ()], ids=["four", "one", "none"])
def test_an_entry_is_encoded(compiled: bool, attributes: int, rows: Sequence[Row]) -> None:
    data = made(rows, attributes=attributes)
    (expected,) = scan(SEGMENT, data, compiled=False).rows
    given = [
        {
            "key": row.key,
            "value": row.value,
            "headers": row.headers,
            "offset": 7 + row.delta,
            "timestamp": TIME + row.timestamp_delta,
        }
        for row in rows
    ]
    derived = ("len_body", "crc", "last_offset_delta", "max_timestamp", "num_records", "payload")
    values = {name: value for name, value in expected.items() if name not in derived} | {"content": NUMBER}
    table = [table_row(SEGMENT, **values)]
    assert entry_of(SEGMENT, kafka_record_v3, given, table, compiled=compiled) == data


def test_a_header_of_any_length_says_where_it_ends() -> None:
    for delta in (0, 63, 64, 1 << 13, 1 << 40, -(1 << 62), (1 << 63) - 1):
        for base in (-1, 0, 64, TIME, (1 << 63) - 1, -(1 << 63)):
            data = batch(records([Row()]), 1, base_timestamp=base, max_timestamp_delta=delta)
            (row,) = scan(SEGMENT, data, compiled=False).rows
            assert row["end_payload"] - row["payload"] == len(records([Row()]))
            wrapped = (base + delta + (1 << 63)) % (1 << 64) - (1 << 63)
            assert (row["base_timestamp"], row["max_timestamp"]) == (base, wrapped)
            with open_segment(data, experimental_magic3=True) as segment:
                header, _record = segment.iter_events()
            assert (header.len_head, header.max_timestamp) == (row["payload"], wrapped)


@pytest.mark.parametrize("cut", range(1, 50))
def test_a_header_that_is_cut_off_is_short_or_damaged(cut: int) -> None:
    found = scan(SEGMENT, MAGIC_3[:cut], compiled=False)
    assert (found.rows, found.position) == ([], 0)
    found = scan(SEGMENT, MAGIC_3[:cut], compiled=False, check_crc=False, whole=False, size=len(MAGIC_3))
    assert found.status == (SUPPORT.SHORT if cut < 49 else SUPPORT.DONE)


@pytest.mark.long
def test_damaged_batches_are_read_as_by_the_kaitai_classes() -> None:
    """Rows and damage of the compiled way are those of the exact way, without checksums."""
    dice, num_sound, num_damaged = random.Random(3), 0, 0
    for _ in range(forms.pick(400, 8_000)):
        attributes = dice.choice((0, IGNORES_ATTRIBUTES, IGNORES_ATTRIBUTES | METADATA_FIRST))
        data = MAGIC_2 + edited(dice, made(attributes=attributes, base_offset=2)) + made(base_offset=90)
        damaged: list[Damage] = []
        with open_segment(data, experimental_magic3=True, check_crc=False) as segment:
            events = list(segment.iter_events(on_damage="skip"))
            table = segment.read_batches(
                columns=["offset", "key", "value"], on_damage=damaged.append
            ).read_all()
        assert [tuple(row.values()) for row in table.to_pylist()] == _data_records(events)
        expected = [one for one in events if isinstance(one, Damage)]
        assert [(one.position, one.end_position) for one in damaged] == [
            (one.position, one.end_position) for one in expected
        ]
        num_sound += not expected
        num_damaged += len(expected)
    assert num_sound > 20 and num_damaged > 100


def _data_records(events: list[object]) -> list[tuple[object, ...]]:
    """Offset, key and value of the records that are not of a control batch, as no table has these."""
    found, is_control = [], False
    for event in events:
        if isinstance(event, Batch):
            is_control = event.is_control
        elif isinstance(event, Record) and not is_control:
            found.append((event.offset, event.key, event.value))
    return found


def test_a_decoder_goes_by_the_bit_of_the_batch() -> None:
    """That of magic 3 reads records with attributes, those of magic 2; the other one no record without."""
    data = MAGIC_2 + MAGIC_3
    found = scan(SEGMENT, data, compiled=False)
    old, new = ((row["payload"], row["end_payload"], at) for at, row in enumerate(found.rows))
    for module, span in ((kafka_record, old), (kafka_record_v3, old), (kafka_record_v3, new)):
        decoded = decode(module, data, [span], found.table, compiled=False, columns=["value"])
        assert decoded.rows == [(b"hello",), (b"world",)]
    assert decode(kafka_record, data, [new], found.table, compiled=False).damage == (0, 0)


def test_a_wrong_count_is_an_error_with_a_place() -> None:
    data = batch(records(ROWS), 9)
    with open_segment(data, experimental_magic3=True) as segment, pytest.raises(CorruptBatchError) as caught:
        segment.read_batches().read_all()
    assert caught.value.position == 0
