"""Messages of magic 0 and 1 by the columns target: its scanner and decoder, unused by the runtime so far.

What they find is brought into the form of trees, so that `legacy` knows what to do with wrappers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.columns.driver import Limits, decode, scan
from tests.properties import legacy
from tests.properties.encoder import LOG_OVERHEAD, Row

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy

LIMITS = Limits(rows=64, size=1 << 18)


@lru_cache(maxsize=1000)
def read(entry: bytes) -> tuple[tuple[Row, ...], str | None]:
    """The records of one entry whose checksum is right, and the name of the error that was met, if any."""
    return legacy.read(entry, _entries)


def _entries(data: bytes) -> list[Any]:
    """Entries as trees would have them; behind one that the scanner does not take, as many as are framed."""
    found: list[Any] = []
    position = 0
    while position < len(data):
        scanned = scan(kafka_log_segment, data[position:], compiled=True, check_crc=False)
        found += _trees(data[position:], scanned.rows)
        position += scanned.position
        if position < len(data):
            found.append(_refused(data[position:]))
            position += LOG_OVERHEAD + max(0, found[-1].len_body)
    return found


def _trees(data: bytes, rows: list[dict[str, int]]) -> list[Any]:
    messages = iter(_messages(data, [row for row in rows if row["magic"] < 2 and row["codec"] == 0]))
    return [_tree(data, row, next(messages) if row["codec"] == 0 else None) for row in rows]


def _messages(data: bytes, rows: list[dict[str, int]]) -> Iterator[tuple[Any, ...] | None]:
    """Messages that are not compressed, None for those that the decoder does not take."""
    table = np.array([list(row.values()) for row in rows], np.int64)
    spans = [(row["payload"], row["end_payload"], number) for number, row in enumerate(rows)]
    while spans:
        decoded = decode(kafka_message_legacy, data, spans, table, compiled=True, limits=LIMITS)
        yield from decoded.rows
        if decoded.damage is None:
            return
        yield None
        spans = spans[decoded.damage[0] + 1 :]


def _tree(data: bytes, row: dict[str, int], message: tuple[Any, ...] | None) -> Any:
    time, kind = row["max_timestamp"], row["timestamp_type"] if row["magic"] else -1
    key, value = None, data[row["payload"] : row["end_payload"]]
    if message is not None:
        key, value, _, time, kind = message
    attributes = SimpleNamespace(compression=row["compression"])
    header = SimpleNamespace(magic=row["magic"], attributes=attributes)
    content = SimpleNamespace(header=header, key=key, value=value, timestamp_value=time, timestamp_type=kind)
    is_there = message is not None or row["codec"] != 0
    body = SimpleNamespace(magic=row["magic"], content=content) if is_there else _Refused(row["magic"])
    return SimpleNamespace(
        base_offset=row["base_offset"], len_body=row["len_body"], has_log_overhead=True, body=body
    )


def _refused(data: bytes) -> Any:
    """An entry that is cut off, or in which something is wrong."""
    if len(data) < LOG_OVERHEAD:
        return SimpleNamespace(has_log_overhead=False, body=None, len_body=len(data))
    offset, size = struct.unpack_from(">qi", data)
    is_whole = legacy.LEAST_BODY <= size <= len(data) - LOG_OVERHEAD
    body = _Refused(data[16]) if is_whole else None
    return SimpleNamespace(base_offset=offset, len_body=size, has_log_overhead=True, body=body)


class _Refused:
    """A body whose content cannot be had."""

    def __init__(self, magic: int) -> None:
        self.magic = magic

    @property
    def content(self) -> Any:
        raise ValueError("the scanner does not take it")
