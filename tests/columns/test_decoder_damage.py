"""Damaged bytes: the same verdict as that of the Kaitai classes, at the same record, whoever decodes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.columns import kaitai_rows
from tests.columns.driver import Limits, decode, scan, support_of
from tests.columns.samples import BATCHES, MESSAGES, header_of, table_row
from tests.made.edits import edited
from tests.made.encoder import Batch, Record

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
LIMITS = Limits(rows=64, size=1 << 14, items=1 << 12)


def decoded(payload: bytes, header: dict[str, int], compiled: bool) -> Any:
    table = np.array(table_row(kafka_log_segment, **header))
    return decode(kafka_record, payload, [(0, len(payload), 0)], table, compiled=compiled, limits=LIMITS)


def check(payload: bytes, header: dict[str, int], compiled: bool) -> int | None:
    """Compare one batch's records with Kaitai's; returns which one is damaged."""
    rows, damaged = kaitai_rows.record_rows(payload, header)
    found = decoded(payload, header, compiled)
    assert found.rows == rows, (payload.hex(), header)
    assert found.damage == (None if damaged is None else (0, damaged)), (payload.hex(), header)
    return damaged


@WAYS
def test_mutated_records_are_damaged_where_kaitai_says(compiled: bool) -> None:
    dice = random.Random(4)
    seen: dict[str, int] = {"sound": 0, "first": 0, "later": 0}
    for _ in range(4000 if compiled else 600):
        batch = dice.choice(BATCHES)
        header = header_of(batch)
        if dice.randrange(8) == 0:
            header["num_records"] += dice.choice((-1, 1, 2, -1000, 1 << 30))
        payload = edited(dice, batch.content()) if dice.randrange(8) else batch.content()
        damaged = check(payload, header, compiled)
        seen["sound" if damaged is None else "later" if damaged else "first"] += 1
    print(seen)
    assert min(seen.values()) > (300 if compiled else 40)


@WAYS
def test_every_prefix_of_records_is_damaged_where_kaitai_says(compiled: bool) -> None:
    batch = BATCHES[0]
    payload = batch.content()
    for size in range(0, len(payload) + 1, 1 if compiled else 7):
        assert (check(payload[:size], header_of(batch), compiled) is None) == (size == len(payload))


LONG = bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x01])  # no varint, but one of 64 bits
CASES = {
    "a length of six bytes": LONG + b"\0" * 40,
    "a negative length": b"\x01" + b"\0" * 40,
    "a length beyond the end": b"\x7e" + b"\0" * 8,
    "an empty body": b"\x00",
    "a length that is longer than needed": b"\x8c\x80\x00" + b"\0\0\0\x01\x01\0",
    "a timestamp of eleven bytes": b"\x20\0" + b"\xff" * 10 + b"\0\0\x01\x01\0",
    "a key beyond the body": b"\x0c\0\0\0\x7e\x01\0",
    "a value beyond the body": b"\x0c\0\0\0\x01\x7e\0",
    "a key of -3 bytes": b"\x0c\0\0\0\x05\x01\0",
    "fewer bytes than the length says": b"\x0e\0\0\0\x01\x01\0\0",
    "negative headers": b"\x0c\0\0\0\x01\x01\x01",
    "more headers than bytes": b"\x0c\0\0\0\x01\x01\x7e",
    "as many headers as bytes": b"\x10\0\0\0\x01\x01\x04\0\x01",
    "a header without value": b"\x0e\0\0\0\x01\x01\x02\0",
    "a header's key that is null": b"\x10\0\0\0\x01\x01\x02\x01\x01",
    "a header's key beyond the body": b"\x10\0\0\0\x01\x01\x02\x7e\x01",
    "a header's value beyond the body": b"\x10\0\0\0\x01\x01\x02\0\x7e",
    "a count of headers of six bytes": b"\x16\0\0\0\x01\x01" + LONG,
}


@WAYS
@pytest.mark.parametrize("case", CASES)
def test_cases_of_damage(case: str, compiled: bool) -> None:
    sound = Batch(records=(Record(0, 0, b"k", b"v"),)).content()
    header = header_of(Batch()) | {"num_records": 2}
    damaged = check(sound + CASES[case], header, compiled)
    is_sound = case in ("a length that is longer than needed", "a key of -3 bytes")
    assert damaged == (None if is_sound else 1)


@WAYS
def test_damage_in_a_later_batch_leaves_the_rows_before_it(compiled: bool) -> None:
    payloads = [batch.content() for batch in BATCHES[:3]]
    data = b"".join(payloads[:2]) + payloads[2][:-1]
    table = np.array([table_row(kafka_log_segment, **header_of(batch)) for batch in BATCHES[:3]])
    starts = [0, len(payloads[0]), len(payloads[0]) + len(payloads[1])]
    spans = [
        (start, end, row)
        for row, (start, end) in enumerate(zip(starts, [*starts[1:], len(data)], strict=True))
    ]
    found = decode(kafka_record, data, spans, table, compiled=compiled, limits=LIMITS)
    records = len(BATCHES[2].records)
    assert found.damage == (2, records - 1)
    assert len(found.rows) == len(BATCHES[0].records) + len(BATCHES[1].records) + records - 1


@WAYS
def test_mutated_messages_are_damaged_when_kaitai_says(compiled: bool) -> None:
    dice = random.Random(5)
    seen = {True: 0, False: 0}
    for _ in range(3000 if compiled else 500):
        body = edited(dice, dice.choice(MESSAGES).encode()[12:])
        expected = kaitai_rows.message_row(body, 9)
        table = np.array(table_row(kafka_log_segment, base_offset=9))
        found = decode(
            kafka_message_legacy, body, [(0, len(body), 0)], table, compiled=compiled, limits=LIMITS
        )
        assert found.rows == ([] if expected is None else [expected]), body.hex()
        assert found.damage == ((0, 0) if expected is None else None)
        seen[expected is None] += 1
    print(seen)
    assert min(seen.values()) > 100


@WAYS
@pytest.mark.parametrize("check_crc", [False, True], ids=["crc unchecked", "crc checked"])
def test_mutated_segments_end_where_kaitai_says(compiled: bool, check_crc: bool) -> None:
    dice = random.Random(6)
    entries = [each.encode() for each in (*BATCHES, *MESSAGES)]
    seen: dict[int, int] = {}
    for _ in range(2000 if compiled else 300):
        segment = b"".join(dice.choices(entries, k=3))
        data = edited(dice, segment) if dice.randrange(10) else segment
        headers, end = kaitai_rows.headers_of(data, check_crc=check_crc)
        found = scan(kafka_log_segment, data, compiled=compiled, check_crc=check_crc)
        assert (found.position, len(found.rows)) == (end, len(headers)), data.hex()
        assert found.status == (support.DONE if end == len(data) else support.DAMAGED)
        seen[len(headers)] = seen.get(len(headers), 0) + 1
    print(seen)
    assert {0, 1, 2, 3} <= seen.keys()
