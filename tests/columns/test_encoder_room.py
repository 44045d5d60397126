"""Where encoding stops and goes on, and how arrays may be given: for each kind of record."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.columns.driver import support_of
from tests.columns.encoding import Encoder, arrays_of, columns_in_order, payload_of
from tests.columns.samples import MESSAGES, table_row

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
BASE = {"base_offset": 100, "base_timestamp": 1_700_000_000_000}


def table_of(**values: int) -> Any:
    return np.array(table_row(kafka_log_segment, content=1, magic=2, **BASE, **values), np.int64)


def row_of(number: int, key: bytes | None, value: bytes | None, headers: Any = ()) -> dict[str, Any]:
    return {
        "key": key,
        "value": value,
        "headers": headers,
        "offset": 100 + number,
        "timestamp": BASE["base_timestamp"] + 7 * number,
    }


ROWS = [
    row_of(0, b"key", b"value"),
    row_of(1, None, b"", ((b"h", b"1"), (b"", None), (b"long" * 40, b"x" * 300))),
    row_of(2, b"", None),
    row_of(3, b"k" * 70, b"v" * 3000, ((b"trace", b""),)),
    row_of(90, b"\x80\xff", b"\x00" * 17),
]
OLD_ROWS = [
    {"key": each.key, "value": each.value, "offset": each.offset, "timestamp": each.timestamp}
    for each in MESSAGES[2:]
]
OLD_TABLE = table_row(kafka_log_segment, magic=1)
KINDS = {
    "records": (kafka_record, ROWS, table_of()),
    "messages": (kafka_message_legacy, OLD_ROWS, OLD_TABLE),
}
EACH_KIND = pytest.mark.parametrize(("module", "rows", "table"), KINDS.values(), ids=KINDS)


def ends_of(module: ModuleType, rows: list[dict[str, Any]], table: Any) -> list[int]:
    """Where each record ends, if they begin at 0."""
    return [len(payload_of(module, rows[:n], table, compiled=False)) for n in range(1, len(rows) + 1)]


@WAYS
@pytest.mark.parametrize("writes", [False, True], ids=["counts", "writes"])
@EACH_KIND
def test_every_limit(
    module: ModuleType, rows: list[dict[str, Any]], table: Any, writes: bool, compiled: bool
) -> None:
    """FULL comes before the first record that would go beyond."""
    ends = ends_of(module, rows, table)
    whole = payload_of(module, rows, table, compiled=compiled)
    for limit in range(0, ends[-1] + 2, 1 if compiled else 7):
        encoder = Encoder(module, compiled, writes)
        encoder.give(rows, table)
        found = encoder.encode(ends[-1] + 1, limit)
        number = sum(end <= limit for end in ends)
        assert found.status == (support.DONE if number == len(rows) else support.FULL)
        assert (found.row, found.at) == (number, [0, *ends][number])
        assert found.state[support.ENC_COUNT] == number
        if writes:
            assert found.data == whole[: found.at]


@WAYS
@EACH_KIND
def test_it_goes_on_where_it_stopped(
    module: ModuleType, rows: list[dict[str, Any]], table: Any, compiled: bool
) -> None:
    """In new bytes for each record, whose end is a limit of its own, whatever the caller says."""
    ends = ends_of(module, rows, table)
    encoder, parts = Encoder(module, compiled), []
    encoder.give(rows, table)
    for number, (start, end) in enumerate(pairwise([0, *ends]), 1):
        found = encoder.encode(5 + end - start, 1 << 40, at=5)
        assert (found.row, found.state[support.ENC_COUNT]) == (number, number)
        assert found.status == (support.DONE if number == len(rows) else support.FULL)
        parts.append(found.data)
    assert b"".join(parts) == payload_of(module, rows, table, compiled=compiled)


@WAYS
def test_what_is_derived_is_of_all_records_since_the_beginning(compiled: bool) -> None:
    encoder = Encoder(kafka_record, compiled)
    encoder.give(ROWS, table_of())
    state = encoder.state
    for end_row in range(1, len(ROWS) + 1):
        state[support.ENC_END_ROW] = end_row
        assert encoder.encode(5000).status == support.DONE
    derived = state[support.ENC_DERIVED : support.ENC_DERIVED + 2].tolist()
    assert derived == [90, BASE["base_timestamp"] + 7 * 90]
    state[support.ENC_COUNT] = state[support.ENC_ROW] = 0
    state[support.ENC_END_ROW] = 2
    encoder.encode(5000)
    derived = state[support.ENC_DERIVED : support.ENC_DERIVED + 2].tolist()
    assert derived == [1, BASE["base_timestamp"] + 7]


@WAYS
@EACH_KIND
@pytest.mark.parametrize("lead", [1, 3, 8, 13])
def test_rows_behind_others(
    module: ModuleType, rows: list[dict[str, Any]], table: Any, lead: int, compiled: bool
) -> None:
    expected = payload_of(module, rows, table, compiled=compiled)
    encoder = Encoder(module, compiled)
    encoder.give(rows, table, lead=lead)
    found = encoder.encode(len(expected))
    assert (found.status, found.data) == (support.DONE, expected)


@WAYS
@EACH_KIND
def test_nothing_to_write(module: ModuleType, rows: list[dict[str, Any]], table: Any, compiled: bool) -> None:
    """Arrow's arrays without any row may be without their first offset too."""
    arrays = {name: array[:0] for name, array in arrays_of(module, rows).items()}
    encoder = Encoder(module, compiled)
    encoder.give_arrays(arrays, 0, table)
    found = encoder.encode(0)
    assert (found.status, found.at, found.row) == (support.DONE, 0, 0)


def sliced(start: int, number: int) -> tuple[dict[str, Any], list[int]]:
    """Slices of Arrow arrays, each with an offset of its own: their buffers, and where rows begin in them."""
    item = pa.struct([("key", pa.binary()), ("value", pa.binary())])
    types = {"key": pa.binary(), "value": pa.binary(), "headers": pa.list_(item)}
    arrays: dict[str, Any] = {}
    firsts: list[int] = []
    for column, (name, _described) in enumerate(columns_in_order(kafka_record)):
        if name in ("headers_key", "headers_value"):
            continue
        values = [row[name] for row in ROWS]
        if name == "headers":
            values = [[{"key": key, "value": value} for key, value in each] for each in values]
        lead = [values[1]] * (column + 2)
        whole = pa.array([*lead, *values, *lead], types.get(name, pa.int64()))
        part = whole.slice(len(lead)).slice(start, number)
        firsts.append(part.offset)
        buffers = part.buffers()
        if name == "headers":
            arrays["headers_offsets"] = np.frombuffer(buffers[1], np.int32)
            for at, member in enumerate(("key", "value")):
                child = part.values.field(at)
                firsts.append(part.values.offset + child.offset)
                arrays |= binary_buffers(f"headers_{member}", child.buffers())
        elif name in types:
            arrays |= binary_buffers(name, buffers)
        else:
            arrays[f"{name}_values"] = np.frombuffer(buffers[1], np.int64)
    return arrays, firsts


def binary_buffers(name: str, buffers: Any) -> dict[str, Any]:
    validity, offsets, data = buffers
    return {
        f"{name}_validity": np.frombuffer(validity or b"", np.uint8),
        f"{name}_offsets": np.frombuffer(offsets, np.int32),
        f"{name}_bytes": np.frombuffer(data or b"", np.uint8),
    }


@WAYS
@pytest.mark.parametrize(("start", "number"), [(0, 5), (1, 3), (3, 2), (4, 1)])
def test_slices_of_arrow_arrays(start: int, number: int, compiled: bool) -> None:
    arrays, firsts = sliced(start, number)
    expected = payload_of(kafka_record, ROWS[start : start + number], table_of(), compiled=compiled)
    encoder = Encoder(kafka_record, compiled)
    encoder.give_arrays(arrays, number, table_of())
    assert min(firsts[:3]) >= 2
    encoder.state[support.ENC_COLUMNS : support.ENC_COLUMNS + len(firsts)] = firsts
    found = encoder.encode(len(expected))
    assert (found.status, found.data) == (support.DONE, expected)
