"""What cannot be written is refused, with the row that it is in, and nothing of that row is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.columns.driver import STATE, Runner, support_of
from tests.columns.encoding import Encoder, arrays_of
from tests.columns.samples import table_row
from tests.columns.test_encoder_room import BASE, OLD_ROWS, OLD_TABLE, ROWS, row_of, table_of

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
INT32 = 1 << 31
FIRST_LONG = -(1 << 63)


def at_row(number: int, **values: Any) -> list[dict[str, Any]]:
    return [{**row, **(values if at == number else {})} for at, row in enumerate(ROWS)]


ROWS_REFUSED = {
    "an offset too far on": (at_row(3, offset=100 + INT32), 3),
    "an offset too far back": (at_row(4, offset=99 - INT32), 4),
    "the first of two": (at_row(1, offset=1 << 62), 1),
    "the key of a header that is null": (at_row(2, headers=((b"a", None), (None, b""))), 2),
}
ROWS_WRITTEN = {
    "the largest offset delta": at_row(4, offset=99 + INT32),
    "the least": at_row(4, offset=100 - INT32),
    "any timestamp": at_row(4, timestamp=FIRST_LONG),
    "the last timestamp": at_row(4, timestamp=(1 << 63) - 1),
}


@WAYS
@pytest.mark.parametrize(("rows", "number"), ROWS_REFUSED.values(), ids=ROWS_REFUSED)
def test_values_that_do_not_fit(rows: list[dict[str, Any]], number: int, compiled: bool) -> None:
    for writes in (False, True):
        encoder = Encoder(kafka_record, compiled, writes)
        encoder.give(rows, table_of())
        found = encoder.encode(10_000)
        assert (found.status, found.row) == (support.REFUSED, number)
        assert found.state[support.ENC_COUNT] == number
        sound = Encoder(kafka_record, compiled, writes)
        sound.give(rows[:number], table_of())
        before = sound.encode(10_000)
        assert (before.status, before.at, before.data) == (support.DONE, found.at, found.data)
        assert before.state[support.ENC_DERIVED] == found.state[support.ENC_DERIVED]


@WAYS
@pytest.mark.parametrize("rows", ROWS_WRITTEN.values(), ids=ROWS_WRITTEN)
def test_values_that_just_fit(rows: list[dict[str, Any]], compiled: bool) -> None:
    encoder = Encoder(kafka_record, compiled)
    encoder.give(rows, table_of())
    assert encoder.encode(10_000).status == support.DONE


@pytest.mark.parametrize("compiled", [True])
def test_a_record_of_more_than_two_gigabytes(compiled: bool) -> None:
    """Two values that Arrow can hold, and no record can. Only counting: nothing is there to be copied."""
    most = INT32 - 1
    arrays = arrays_of(kafka_record, [row_of(0, b"", b"")])
    for name in ("key", "value"):
        arrays[f"{name}_offsets"] = np.array([0, most], np.int32)
        arrays[f"{name}_bytes"] = np.broadcast_to(np.zeros(1, np.uint8), (most,))
    encoder = Encoder(kafka_record, compiled, writes=False)
    encoder.give_arrays(arrays, 1, table_of())
    assert encoder.encode(1 << 40).status == support.REFUSED
    arrays["key_offsets"] = np.array([0, 0], np.int32)
    for size, status in ((most - 10, support.DONE), (most - 9, support.REFUSED)):
        arrays["value_offsets"] = np.array([0, size], np.int32)
        encoder.give_arrays(arrays, 1, table_of())
        assert encoder.encode(1 << 40).status == status
    old = Encoder(kafka_message_legacy, compiled, writes=False)
    for size, status in ((most - 22, support.DONE), (most - 21, support.REFUSED)):
        arrays["value_offsets"] = np.array([0, size], np.int32)
        old.give_arrays(arrays, 1, OLD_TABLE)
        assert old.encode(1 << 40).status == status


def changed(name: str, at: int, value: int) -> Callable[[dict[str, Any]], None]:
    """Have another number in an array."""

    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][at] = value

    return change


def cut(name: str, size: int) -> Callable[[dict[str, Any]], None]:
    """Take elements from the end of an array."""

    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name][: len(arrays[name]) - size]

    return change


# Arrays that Arrow calls invalid: what is done, and the first row that is not written (None: none is).
ARRAYS_REFUSED = {
    "offsets that go back": (changed("key_offsets", 2, -1), 1),
    "offsets that begin below 0": (changed("value_offsets", 0, -9), 0),
    "offsets behind the bytes": (changed("value_offsets", 5, 1 << 20), 4),
    "too few bytes": (cut("value_bytes", 1), 4),
    "too few offsets": (cut("key_offsets", 1), None),
    "too few numbers": (cut("offset_values", 1), None),
    "too few times": (cut("timestamp_values", 2), None),
    "too few lists": (cut("headers_offsets", 1), None),
    "lists that go back": (changed("headers_offsets", 3, 1), 2),
    "a list that begins below 0": (changed("headers_offsets", 0, -1), 0),
    "a list behind the items": (changed("headers_offsets", 4, 9), 3),
    "too few items": (cut("headers_value_offsets", 1), 3),
    "an item's offsets that go back": (changed("headers_key_offsets", 2, 0), 1),
    "an item's offsets behind the bytes": (changed("headers_value_offsets", 3, 5000), 1),
}


@WAYS
@pytest.mark.parametrize(("change", "number"), ARRAYS_REFUSED.values(), ids=ARRAYS_REFUSED)
def test_arrays_that_are_not_sound(
    change: Callable[[dict[str, Any]], None], number: int | None, compiled: bool
) -> None:
    arrays = arrays_of(kafka_record, ROWS)
    change(arrays)
    encoder = Encoder(kafka_record, compiled)
    encoder.give_arrays(arrays, len(ROWS), table_of())
    found = encoder.encode(10_000)
    assert (found.status, found.row) == (support.REFUSED, number or 0)
    assert found.state[support.ENC_COUNT] == (number or 0)


@WAYS
@pytest.mark.parametrize(("name", "number"), [("value_validity", 0), ("headers_value_validity", 11)])
def test_too_few_bits(name: str, number: int, compiled: bool) -> None:
    """Fifteen rows with twelve items, and bits for eight of them."""
    arrays = arrays_of(kafka_record, ROWS * 3)
    cut(name, 1)(arrays)
    encoder = Encoder(kafka_record, compiled)
    encoder.give_arrays(arrays, len(ROWS) * 3, table_of())
    found = encoder.encode(50_000)
    assert (found.status, found.row) == (support.REFUSED, number)


@WAYS
@pytest.mark.parametrize(
    ("slot", "value"),
    [("ENC_BATCH", 1), ("ENC_BATCH", -1), ("ENC_ROW", -1), ("ENC_COLUMNS", -1), ("ENC_COLUMNS", 1)],
)
def test_places_outside_of_what_is_given(slot: str, value: int, compiled: bool) -> None:
    for module, rows, table in (
        (kafka_record, ROWS, table_of()),
        (kafka_message_legacy, OLD_ROWS, OLD_TABLE),
    ):
        encoder = Encoder(module, compiled)
        encoder.give(rows, table)
        encoder.state[getattr(support, slot)] = value
        assert encoder.encode(10_000).status == support.REFUSED


@WAYS
@pytest.mark.parametrize(
    "values", [{"magic": 2}, {"magic": -1}, {"timestamp_type": 2}, {"compression": 8}], ids=str
)
def test_messages_of_another_format(values: dict[str, int], compiled: bool) -> None:
    encoder = Encoder(kafka_message_legacy, compiled)
    encoder.give(OLD_ROWS, table_row(kafka_log_segment, **{"magic": 1, **values}))
    found = encoder.encode(10_000)
    assert (found.status, found.row, found.data) == (support.REFUSED, 0, b"")


HEADS_REFUSED: dict[str, dict[str, int]] = {
    "another magic": {"magic": 1},
    "a flag that is none": {"is_control": 2},
    "a codec beyond the bits": {"compression": 8},
    "a timestamp type beyond the bit": {"timestamp_type": -1},
    "an epoch of more than 16 bits": {"producer_epoch": 1 << 15},
    "a sequence of more than 32 bits": {"base_sequence": INT32},
    "a leader epoch of more than 32 bits": {"partition_leader_epoch": -INT32 - 1},
    "a count of more than 32 bits": {"num_records": INT32},
    "a last offset of more than 32 bits": {"last_offset_delta": INT32},
    "a content without a head": {"content": 0},
    "a content that there is not": {"content": 2},
}


def head(values: dict[str, int], compiled: bool, **slots: int) -> tuple[int, bytes]:
    """The status of a head for 20 bytes of payload that the row says all of, and what was written."""
    len_head = kafka_log_segment.LEN_HEADS[1]
    state = np.zeros(STATE, np.int64)
    slots = {"ENC_PAYLOAD": len_head, "ENC_AT": len_head + 20, "ENC_GIVEN": -1, **slots}
    for name, value in slots.items():
        state[getattr(support, name)] = value
    table = np.array(table_row(kafka_log_segment, **{"content": 1, "magic": 2, **BASE, **values}), np.int64)
    out = np.zeros(len_head + 20, np.uint8)
    status = Runner(kafka_log_segment.head_encoder, compiled, writes=True)(
        {"batches": table, "state": state, "out": out}
    )
    return status, out.tobytes()


@WAYS
@pytest.mark.parametrize("values", HEADS_REFUSED.values(), ids=HEADS_REFUSED)
def test_heads_that_cannot_be(values: dict[str, int], compiled: bool) -> None:
    status, written = head(values, compiled)
    assert (status, written) == (support.REFUSED, bytes(len(written)))
    assert head({}, compiled)[0] == support.DONE


@WAYS
@pytest.mark.parametrize(
    "slots",
    [
        {"ENC_PAYLOAD": 60},
        {"ENC_PAYLOAD": 62},
        {"ENC_HEAD": 1},
        {"ENC_HEAD": -1, "ENC_PAYLOAD": 60},
        {"ENC_AT": 60},
        {"ENC_AT": 82},
        {"ENC_BATCH": 1},
        {"ENC_BATCH": -1},
    ],
    ids=str,
)
def test_heads_that_do_not_meet_their_payload(slots: dict[str, int], compiled: bool) -> None:
    status, written = head({}, compiled, **slots)
    assert (status, written) == (support.REFUSED, bytes(len(written)))


@WAYS
def test_what_is_given_is_chosen_name_by_name(compiled: bool) -> None:
    """Of no records: each name either from the row, or what follows from there being none."""
    names = kafka_log_segment.DERIVED[1]
    assert names == ("last_offset_delta", "max_timestamp", "num_records")
    row = {"last_offset_delta": 5, "max_timestamp": 9, "num_records": 3}
    none = {"last_offset_delta": 0, "max_timestamp": -1, "num_records": 0}
    for bits in range(8):
        status, written = head(row, compiled, ENC_GIVEN=bits)
        assert status == support.DONE
        expected = [row[name] if bits >> at & 1 else none[name] for at, name in enumerate(names)]
        found = [written[23:27], written[35:43], written[57:61]]
        assert [int.from_bytes(part, "big", signed=True) for part in found] == expected
