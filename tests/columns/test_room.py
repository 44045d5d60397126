"""What is not wanted costs nothing, and what has no room comes next: always the same rows."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.columns.driver import Limits, decode
from tests.columns.samples import BATCHES, MESSAGES, further_of, header_of, table_row

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
NAMES = [column[0] for column in kafka_record.RECORD_COLUMNS]


def laid_out(parts: list[bytes]) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Payloads one behind the other, and their spans."""
    spans, at = [], 0
    for row, part in enumerate(parts):
        spans.append((at, at + len(part), row))
        at += len(part)
    return b"".join(parts), spans


DATA, SPANS = laid_out([batch.content() for batch in BATCHES])
TABLE = np.array([table_row(kafka_log_segment, **header_of(batch)) for batch in BATCHES])
ROWS = [
    (row.key, row.value, row.headers, row.offset, row.timestamp, row.timestamp_type, *further)
    for batch in BATCHES
    for row, further in zip(batch.rows(), further_of(batch), strict=True)
]
LARGEST = max(len(batch.content()) for batch in BATCHES)


def all_rows(compiled: bool, limits: Limits, columns: list[str] | None = None) -> Any:
    found = decode(kafka_record, DATA, SPANS, TABLE, compiled=compiled, limits=limits, columns=columns)
    assert found.damage is None
    return found


@WAYS
@pytest.mark.parametrize(
    "limits",
    [
        Limits(rows=1),
        Limits(rows=2),
        Limits(rows=7),
        Limits(size=700),
        Limits(size=900),
        Limits(items=3),
        Limits(items=4),
        Limits(rows=3, size=800, items=5),
    ],
    ids=str,
)
def test_decoding_goes_on_where_it_stopped(limits: Limits, compiled: bool) -> None:
    found = all_rows(compiled, limits)
    assert found.rows == ROWS
    assert found.runs > 2


@WAYS
def test_room_for_all_takes_one_run(compiled: bool) -> None:
    found = all_rows(compiled, Limits(rows=len(ROWS), size=len(DATA), items=sum(len(row[2]) for row in ROWS)))
    assert (found.rows, found.runs) == (ROWS, 1)


@pytest.mark.parametrize("field", ["size", "items"])
def test_a_record_that_has_no_room_at_all_is_not_taken(field: str) -> None:
    with pytest.raises(AssertionError, match="no room"):
        all_rows(False, Limits(**{field: 1}))


def test_columns_that_are_not_wanted_are_not_touched() -> None:
    """In plain Python for all choices: a column that is not wanted has arrays without any element."""
    usual, further = NAMES[:6], NAMES[6:]
    choices = [columns for size in range(len(usual) + 1) for columns in combinations(usual, size)]
    choices += [(*usual[:number], name) for number, name in enumerate(further)]
    for columns in [*choices, tuple(further), tuple(NAMES)]:
        expected = [tuple(row[NAMES.index(name)] for name in columns) for row in ROWS]
        assert all_rows(False, Limits(), list(columns)).rows == expected


@pytest.mark.parametrize("columns", [[], ["offset"], ["value"], ["headers"], ["key", "timestamp"]], ids=str)
def test_columns_that_are_not_wanted_compiled(columns: list[str]) -> None:
    wanted = [name for name in NAMES if name in columns]
    expected = [tuple(row[NAMES.index(name)] for name in wanted) for row in ROWS]
    room = {} if "value" in columns or "headers" in columns or "key" in columns else {"size": 0}
    items = {} if "headers" in columns else {"items": 0}
    assert all_rows(True, Limits(**room, **items), columns).rows == expected


@WAYS
@pytest.mark.parametrize("limits", [Limits(rows=1), Limits(rows=3), Limits(size=160), Limits()], ids=str)
def test_messages_go_on_where_they_stopped(limits: Limits, compiled: bool) -> None:
    bodies = [message.encode()[12:] for message in MESSAGES]
    data, spans = laid_out(bodies)
    table = np.array([table_row(kafka_log_segment, base_offset=message.offset) for message in MESSAGES])
    found = decode(kafka_message_legacy, data, spans, table, compiled=compiled, limits=limits)
    rows = [message.rows()[0] for message in MESSAGES]
    assert found.rows == [(row.key, row.value, row.offset, row.timestamp, row.timestamp_type) for row in rows]
    assert found.damage is None
    only = decode(
        kafka_message_legacy, data, spans, table, compiled=compiled, limits=limits, columns=["offset"]
    )
    assert only.rows == [(row.offset,) for row in rows]
