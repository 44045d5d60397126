"""Scanners and decoders give the same as the Kaitai classes, of every recorded file, compiled or not."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.columns import kaitai_rows
from tests.columns.driver import Limits, decode, scan, support_of
from tests.made.recorded import Recorded, distinct

from kafka_segments.core.codecs import decompress
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
DECODERS: dict[str, Any] = {"kafka_record": kafka_record, "kafka_message_legacy": kafka_message_legacy}
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


@cache
def files() -> list[Recorded]:
    return distinct()


def some(compiled: bool) -> list[Recorded]:
    """All of them for machine code, the small ones for plain Python, which is slow."""
    return [file for file in files() if compiled or len(file.data) < 4000]


@WAYS
def test_every_header_is_as_kaitai_reads_it(compiled: bool) -> None:
    num_rows = 0
    for file in some(compiled):
        found = scan(kafka_log_segment, file.data, compiled=compiled)
        expected, end = kaitai_rows.headers_of(file.data, check_crc=True)
        assert (found.position, len(found.rows)) == (end, len(expected)), file.name
        assert found.status == (support.DONE if end == len(file.data) else support.DAMAGED)
        for row, header in zip(found.rows, expected, strict=True):
            assert {name: row[name] for name in header if name in row} == {
                name: value for name, value in header.items() if name in row
            }, file.name
            columns = kafka_log_segment.CONTENTS[row["content"]].columns
            assert {*columns} <= header.keys()
        num_rows += len(expected)
    print(f"{num_rows} entries")
    assert num_rows > (1500 if compiled else 500)


@WAYS
def test_a_window_that_moves_over_a_file_sees_the_same_headers(compiled: bool, tmp_path: Any) -> None:
    import os

    from tests.columns.driver import STATE, Runner

    run = Runner(kafka_log_segment.scanner, compiled, check_crc=False, whole=False)
    for file in some(compiled)[:40]:
        path = tmp_path / "segment"
        path.write_bytes(file.data)
        descriptor = os.open(path, os.O_RDONLY)
        state, table = np.zeros(STATE, np.int64), np.zeros(kafka_log_segment.WIDTH * 5000, np.int64)
        state[support.MAX_ROWS], state[support.SIZE], state[support.FILE] = 5000, len(file.data), descriptor
        state[support.WINDOW] = -1
        status = run({"data": np.zeros(100, np.uint8), "state": state, "table": table})
        os.close(descriptor)
        expected, end = kaitai_rows.headers_of(file.data, check_crc=False)
        assert state[support.AT] == end and state[support.ROW] == len(expected), file.name
        assert status == (support.DONE if end == len(file.data) else support.DAMAGED)
        positions = table.reshape(-1, kafka_log_segment.WIDTH)[: len(expected), support.POSITION]
        assert positions.tolist() == [header["position"] for header in expected]


def payload_of(data: bytes, row: dict[str, int]) -> bytes:
    payload = data[row["payload"] : row["end_payload"]]
    content = kafka_log_segment.CONTENTS[row["content"]]
    if row["codec"] == 0 or (content.is_repeated and row["num_records"] == 0):
        return payload
    return decompress(content.codecs[row["codec"]], payload, magic=row["magic"])


@WAYS
def test_every_record_is_as_kaitai_reads_it(compiled: bool) -> None:
    num_rows = 0
    for file in some(compiled):
        found = scan(kafka_log_segment, file.data, compiled=compiled, check_crc=False)
        for number, row in enumerate(found.rows):
            content = kafka_log_segment.CONTENTS[row["content"]]
            if not content.is_repeated:
                continue
            payload = payload_of(file.data, row)
            spans = [(0, len(payload), number)]
            rows = decode(DECODERS[content.decoder], payload, spans, found.table, compiled=compiled)
            expected, damaged = kaitai_rows.record_rows(payload, row)
            assert rows.rows == expected, (file.name, row)
            assert rows.damage == (None if damaged is None else (0, damaged))
            num_rows += len(expected)
    print(f"{num_rows} records")
    assert num_rows > (3500 if compiled else 400)


@WAYS
def test_every_message_is_as_kaitai_reads_it(compiled: bool) -> None:
    num_rows = num_inner = 0
    for file in some(compiled):
        found = scan(kafka_log_segment, file.data, compiled=compiled)
        rows = [row for row in found.rows if not kafka_log_segment.CONTENTS[row["content"]].is_repeated]
        num_rows += check_messages(file.data, rows, compiled)
        for row in rows:
            if row["codec"]:
                inner = payload_of(file.data, row)
                inside = scan(kafka_log_segment, inner, compiled=compiled)
                assert inside.status == support.DONE
                num_inner += check_messages(inner, inside.rows, compiled)
    print(f"{num_rows} messages, {num_inner} inside others")
    assert num_rows > (600 if compiled else 50) and num_inner > (1400 if compiled else 50)


def check_messages(data: bytes, rows: list[dict[str, int]], compiled: bool) -> int:
    plain = [row for row in rows if row["codec"] == 0]
    spans = [(row["payload"], row["end_payload"], number) for number, row in enumerate(plain)]
    table = np.array([list(row.values()) for row in plain], np.int64)
    found = decode(kafka_message_legacy, data, spans, table, compiled=compiled, limits=Limits(rows=64))
    expected = [
        kaitai_rows.message_row(data[start:end], row["base_offset"])
        for (start, end, _), row in zip(spans, plain, strict=True)
    ]
    assert found.damage is None and found.rows == expected
    return len(expected)
