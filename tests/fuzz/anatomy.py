"""Where the fields of an entry are: by `tests/made/parts.py`, which knows the formats by heart.

Only the row, which kernels are given for records that are damaged, is of the generated scanner.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from tests.made.edits import Field
from tests.made.encoder import LOG_OVERHEAD
from tests.made.parts import OFS_BODY, OFS_CRC_REGION, OFS_CRC_REGION_V2, Piece, head_of, records_of

from kafka_segments_generated.columns import kafka_log_segment, support

STATE = 64
MAGIC_AT, LEN_AT = 16, 8
VARINTS = ("length", "_delta", "_count")
"""How the names of numbers of several bytes end, in records."""


@dataclass(frozen=True)
class Anatomy:
    """An entry of a segment, and where things are in it.

    Attributes:
        data: its bytes.
        content: number in `kafka_log_segment.CONTENTS`.
        codec: number of its codec.
        row: the scanner's, with positions from the entry's beginning.
        fields: all numbers of the header, and of the records if these are not compressed.
        payload: where the bytes begin and end that the codec is of.
    """

    data: bytes
    content: int
    codec: int
    row: tuple[int, ...]
    fields: tuple[Field, ...]
    payload: tuple[int, int]
    len_at: int = LEN_AT
    len_overhead: int = LOG_OVERHEAD

    @property
    def crc_start(self) -> int:
        """Where the region begins that the checksum is of; it ends with the entry."""
        return OFS_CRC_REGION if self.data[MAGIC_AT] < 2 else OFS_CRC_REGION_V2

    @property
    def crc_at(self) -> int:
        """Where the checksum is."""
        return OFS_BODY if self.data[MAGIC_AT] < 2 else MAGIC_AT + 1

    @property
    def codec_at(self) -> int:
        """The byte that has the codec's number in its lowest bits."""
        return MAGIC_AT + 1 if self.data[MAGIC_AT] < 2 else OFS_CRC_REGION_V2 + 1


def scanned(data: bytes) -> tuple[int, ...] | None:
    """The scanner's row of the entry that `data` is; None if it is not sound."""
    scan = kafka_log_segment.scanner(check_crc=True, whole=True)
    state, table = np.zeros(STATE, np.int64), np.zeros(kafka_log_segment.WIDTH, np.int64)
    state[support.MAX_ROWS], state[support.FILE] = 1, -1
    state[support.SIZE] = state[support.LEN_WINDOW] = len(data)
    scan(np.frombuffer(data, np.uint8), state, table)
    return tuple(table.tolist()) if state[support.ROW] == 1 and state[support.AT] == len(data) else None


def dissect(data: bytes) -> Anatomy | None:
    """The anatomy of a sound entry; None if it is not one."""
    row = scanned(data)
    if row is None:
        return None
    start, end = row[support.PAYLOAD], row[support.END_PAYLOAD]
    try:
        fields = list(located(head_of(data), 0))
    except struct.error:  # a message whose lengths lead beyond its end
        fields = [
            Field(0, 8),
            Field(LEN_AT, 4),
            Field(OFS_BODY, 4),
            Field(MAGIC_AT, 1),
            Field(MAGIC_AT + 1, 1),
        ]
    if row[support.CODEC] == 0 and data[MAGIC_AT] >= 2:
        fields += record_fields(data[start:end], start)
    return Anatomy(data, row[support.CONTENT], row[support.CODEC], row, tuple(fields), (start, end))


def record_fields(payload: bytes, start: int = 0) -> list[Field]:
    """The numbers of records, up to what is damaged."""
    found: list[Field] = []
    at = start
    try:
        for unit in records_of(payload):
            found += located(unit, at)
            at += sum(len(piece.data) for piece in unit)
    except (AssertionError, IndexError, struct.error):
        pass
    return found


def located(pieces: Iterable[Piece], at: int) -> Iterator[Field]:
    """The places of pieces that are numbers."""
    for name, data in pieces:
        kind, _, field = name.partition(".")
        is_varint = kind == "record" and field.endswith(VARINTS)
        if data and not field.endswith(("key", "value")):
            yield Field(at, len(data), is_varint)
        at += len(data)
