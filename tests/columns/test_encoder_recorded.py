"""What brokers and clients wrote is decoded into columns and encoded again: the same bytes.

Where they are not, the columns do not hold everything that was written. There is one such thing of records
(what producers said before a broker put its own time), and two of heads (what compaction leaves as it was).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.columns.driver import decode, scan, support_of
from tests.columns.encoding import entry_of, payload_of
from tests.columns.test_decoder_recorded import payload_of as plain_payload
from tests.columns.test_decoder_recorded import some

from kafka_segments.core.codecs import decompress
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
NAMES = kafka_log_segment.BATCH_COLUMNS
TIMESTAMP_TYPE = NAMES.index("timestamp_type")
GIVEN_ALL = -1


def rows_of(module: Any, payload: bytes, table: Any) -> list[dict[str, Any]] | None:
    """The records of a payload by column; None if one is damaged."""
    found = decode(module, payload, [(0, len(payload), 0)], table, compiled=True)
    names = [column[0] for column in module.RECORD_COLUMNS]
    return None if found.damage else [dict(zip(names, row, strict=True)) for row in found.rows]


def batches(compiled: bool) -> Iterator[tuple[bytes, dict[str, int], Any, bytes]]:
    """Sound batches of magic 2: a file, the row of the table (twice), the records without compression."""
    for file in some(compiled):
        found = scan(kafka_log_segment, file.data, compiled=True)
        for row, table in zip(found.rows, found.table, strict=True):
            if kafka_log_segment.CONTENTS[row["content"]].is_repeated:
                yield file.data, row, table.copy(), plain_payload(file.data, row)


@WAYS
def test_records_are_written_as_they_were(compiled: bool) -> None:
    seen: Counter[str] = Counter()
    for _data, row, table, payload in batches(compiled):
        rows = rows_of(kafka_record, payload, table)
        assert rows is not None
        if payload_of(kafka_record, rows, table, compiled=compiled) == payload:
            seen["as they were"] += 1
            continue
        assert row["timestamp_type"] == 1
        table[TIMESTAMP_TYPE] = 0  # what the producers said is still there, though no reader is told
        told = rows_of(kafka_record, payload, table)
        assert told is not None and told != rows
        assert payload_of(kafka_record, told, table, compiled=compiled) == payload
        seen["their own timestamps lost"] += 1
    print(dict(seen))
    assert seen["as they were"] > (700 if compiled else 90)
    assert seen["their own timestamps lost"] == 5 if compiled else seen["their own timestamps lost"] < 6


def differences(rows: list[dict[str, Any]], row: dict[str, int]) -> set[str]:
    """What a head says of its records although they do not."""
    found = set()
    deltas = [each["offset"] - row["base_offset"] for each in rows]
    if row["last_offset_delta"] != (deltas[-1] if deltas else 0):
        found.add("last_offset_delta")
    times = [each["timestamp"] for each in rows]
    if row["timestamp_type"] == 0 and row["max_timestamp"] != max(times, default=-1):
        found.add("max_timestamp")
    return found


@WAYS
def test_heads_are_written_as_they_were(compiled: bool) -> None:
    seen: Counter[str] = Counter()
    for data, row, table, payload in batches(compiled):
        rows = rows_of(kafka_record, payload, table)
        assert rows is not None
        stored = data[row["payload"] : row["end_payload"]]
        whole = data[row["position"] : row["end_position"]]
        modules = kafka_log_segment, kafka_record
        again = table.copy()
        again[[NAMES.index(name) for name in ("len_body", "crc")]] = 0
        kept = entry_of(*modules, rows, again, compiled=compiled, payload=stored, given=GIVEN_ALL)
        assert kept == whole
        assert again.tolist() == table.tolist()
        derived = entry_of(*modules, rows, again, compiled=compiled, payload=stored)
        changed = {name for name, now, was in zip(NAMES, again, table, strict=True) if now != was}
        assert changed - {"crc"} == differences(rows, row)
        assert (derived == whole) == (not changed)
        seen.update(changed or {"as they were"})
    print(dict(seen))
    assert seen["as they were"] > (650 if compiled else 80)
    assert seen["last_offset_delta"] >= (22 if compiled else 1)


def messages(compiled: bool) -> Iterator[tuple[bytes, Any, bytes]]:
    """Messages of magic 0 and 1, wrappers too and what is inside: a name, the table's row, the entry."""
    for file in some(compiled):
        found = scan(kafka_log_segment, file.data, compiled=True, whole=False)
        for row, table in zip(found.rows, found.table, strict=True):
            content = kafka_log_segment.CONTENTS[row["content"]]
            if content.is_repeated:
                continue
            yield "outer", table, file.data[row["position"] : row["end_position"]]
            if row["codec"]:
                wrapped = file.data[row["payload"] : row["end_payload"]]
                (message,) = rows_of(kafka_message_legacy, wrapped, table) or [{}]
                inner = decompress(content.codecs[row["codec"]], message["value"], magic=row["magic"])
                inside = scan(kafka_log_segment, inner, compiled=True, whole=False)
                for each, its in zip(inside.rows, inside.table, strict=True):
                    yield "inner", its, inner[each["position"] : each["end_position"]]


@WAYS
def test_messages_are_written_as_they_were(compiled: bool) -> None:
    seen: Counter[tuple[str, int, int]] = Counter()
    for kind, table, entry in messages(compiled):
        row = dict(zip(NAMES, table.tolist(), strict=True))
        body = entry[row["payload"] - row["position"] :]
        rows = rows_of(kafka_message_legacy, body, table)
        assert rows is not None and len(rows) == 1
        assert payload_of(kafka_message_legacy, rows, table, compiled=compiled) == entry
        seen[kind, row["magic"], int(row["codec"] != 0)] += 1
    print(dict(seen))
    assert sum(seen.values()) > (2000 if compiled else 100)
    assert {key[:2] for key in seen} == {(kind, magic) for kind in ("outer", "inner") for magic in (0, 1)}


def test_many_messages_in_a_row() -> None:
    """One call for all messages that have the same magic, timestamp type and no codec."""
    by_kind: dict[tuple[int, ...], list[tuple[Any, bytes]]] = {}
    for _kind, table, entry in messages(True):
        row = dict(zip(NAMES, table.tolist(), strict=True))
        key = row["magic"], row["timestamp_type"], row["codec"]
        by_kind.setdefault(key, []).append((table, entry))
    for entries in by_kind.values():
        position = support.PAYLOAD, support.POSITION
        bodies = [entry[table[position[0]] - table[position[1]] :] for table, entry in entries]
        rows = [rows_of(kafka_message_legacy, body, t) for body, (t, _) in zip(bodies, entries, strict=True)]
        values = [each for found in rows for each in found or []]
        table = np.array(entries[0][0])
        whole = payload_of(kafka_message_legacy, values, table, compiled=True)
        assert whole == b"".join(entry for _, entry in entries)
    assert len(by_kind) >= 5
