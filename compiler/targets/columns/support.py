"""What the generated decoders are built from, in plain Python.

`kafka_segments.native` puts machine code in the place of each of these functions when it compiles a decoder;
run as they are, over numpy arrays, they say what that machine code has to do. All positions and numbers are
integers of 64 bits. Nothing here checks that a place is within its array: the decoders do.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "AT",
    "BATCH",
    "CODEC",
    "COLUMNS",
    "CONTENT",
    "DAMAGED",
    "DONE",
    "END_PAYLOAD",
    "END_POSITION",
    "FILE",
    "FULL",
    "LEN_WINDOW",
    "MAX_BYTES",
    "MAX_ITEMS",
    "MAX_ROWS",
    "NUM_BATCHES",
    "NUM_BYTES",
    "PAYLOAD",
    "PLACE",
    "POSITION",
    "RECORD",
    "RECORD_MAX_ROWS",
    "RECORD_ROW",
    "ROW",
    "SHORT",
    "SIZE",
    "WINDOW",
    "Bytes",
    "Content",
    "Decode",
    "Ints",
    "Longs",
    "Scan",
    "Tinies",
    "clear_bit",
    "copy_bytes",
    "crc32",
    "crc32c",
    "load",
    "load_s1",
    "load_s2be",
    "load_s2le",
    "load_s4be",
    "load_s4le",
    "load_s8be",
    "load_s8le",
    "load_u1",
    "load_u2be",
    "load_u2le",
    "load_u4be",
    "load_u4le",
    "load_u8be",
    "load_u8le",
    "rare",
    "read_at",
    "store",
    "wrap",
]

# Arrays, by what their elements are: unsigned bytes, signed bytes, signed integers of 32 and of 64 bits.
Bytes: TypeAlias = Any
Tinies: TypeAlias = Any
Ints: TypeAlias = Any
Longs: TypeAlias = Any

Scan: TypeAlias = Callable[[Bytes, Longs, Longs], int]
"""Of data, state and table; returns one of the four below."""
Decode: TypeAlias = Callable[..., int]
"""Of data, spans, batches, state and the arrays of columns; returns one of the four below."""

# What a scan or a decoder returns.
DONE = 0  # everything there was
FULL = 1  # no room for another batch, row, byte or item: empty the columns and go on
SHORT = 2  # scan: the entry at `state[AT]` is not all in `data`, or not as much of it as is needed
DAMAGED = -1  # the entry at `state[AT]` is not sound, or the record `state[RECORD]` of `state[BATCH]`

# Scan: what `state` holds. Before: the position to begin at, the next row, rows that there are, the size of
# the source, its file descriptor (-1: none), and which of its bytes are in `data` (position and number, with
# a file -1 and 0 if there are none yet). After it: the position of the entry that comes next, the next row,
# and what is in `data`; a negative number of bytes says that the file could not be read.
AT, ROW, MAX_ROWS, SIZE, FILE, WINDOW, LEN_WINDOW = range(7)

# Scan: the columns of its table that no schema has, before those that they have. Positions are in the source.
# The payload is what the codec is of; without one the records, or the message that is one.
POSITION, END_POSITION, CONTENT, PAYLOAD, END_PAYLOAD, CODEC = range(6)

# Decoders: what `state` holds. Where it is (number of the batch in `spans`, of the record in it, place in
# `data`), what is used (rows, bytes of records), what there is room for, and how many batches there are.
# From COLUMNS on, column by column: two of a binary one (bytes used, nulls), one of a list (items used) and
# then its members'. Rows begin at the counts given; the first offset of each array has to be there.
BATCH, RECORD, PLACE, RECORD_ROW, NUM_BYTES = range(5)
RECORD_MAX_ROWS, MAX_BYTES, MAX_ITEMS, NUM_BATCHES, COLUMNS = range(5, 10)


class Content(NamedTuple):
    """What an entry may hold, by the column `content` of the table.

    Attributes:
        schema: stem of its schema.
        decoder: name of the module here that decodes its records.
        is_repeated: whether it has records; else it is one, and its span is all of it.
        codecs: what the numbers in the column `codec` are called.
        columns: those of the table that it fills, beside the first six. What is in the others is left over.
    """

    schema: str
    decoder: str
    is_repeated: bool
    codecs: dict[int, str]
    columns: tuple[str, ...]


def load_u1(data: Bytes, at: int) -> int:
    """The byte at `at`. As in all that follow, the name says: signed or not, how many bytes, their order."""
    return int(data[at])


def load_s1(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 1].tobytes(), "big", signed=True)


def load_u2be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2].tobytes(), "big")


def load_u2le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2].tobytes(), "little")


def load_s2be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2].tobytes(), "big", signed=True)


def load_s2le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2].tobytes(), "little", signed=True)


def load_u4be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4].tobytes(), "big")


def load_u4le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4].tobytes(), "little")


def load_s4be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4].tobytes(), "big", signed=True)


def load_s4le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4].tobytes(), "little", signed=True)


def load_u8be(data: Bytes, at: int) -> int:
    """Wrapped, as a Java long has it."""
    return int.from_bytes(data[at : at + 8].tobytes(), "big", signed=True)


def load_u8le(data: Bytes, at: int) -> int:
    """Wrapped, as a Java long has it."""
    return int.from_bytes(data[at : at + 8].tobytes(), "little", signed=True)


def load_s8be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8].tobytes(), "big", signed=True)


def load_s8le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8].tobytes(), "little", signed=True)


def wrap(value: int) -> int:
    """A sum as a Java long has it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def rare(condition: bool) -> bool:
    """The condition, of which is said that it is hardly ever true."""
    return condition


def load(array: Longs, at: int) -> int:
    """An element of an array of integers."""
    return int(array[at])


def store(array: Longs, at: int, value: int) -> None:
    """Set an element of an array of integers, which has to be wide enough."""
    array[at] = value


def clear_bit(bitmap: Bytes, at: int) -> None:
    """Mark row `at` as null in an Arrow validity bitmap (least significant bit first)."""
    bitmap[at >> 3] &= ~(1 << (at & 7)) & 0xFF


def copy_bytes(target: Bytes, to: int, source: Bytes, start: int, size: int) -> None:
    """Copy bytes. Both places must be within their arrays; bytes of `target` behind them may change too."""
    target[to : to + size] = source[start : start + size]


def crc32c(data: Bytes, start: int, end: int) -> int:
    """CRC-32C (Castagnoli) of `data[start:end]`."""
    import crc32c

    return int(crc32c.crc32c(data[start:end]))


def crc32(data: Bytes, start: int, end: int) -> int:
    """CRC-32 (zlib's) of `data[start:end]`."""
    return zlib.crc32(data[start:end])


def read_at(file: int, position: int, data: Bytes) -> int:
    """Fill `data` from an open file; returns the number of bytes, negative if it cannot be read."""
    try:
        return os.preadv(file, [data], position)
    except OSError:
        return -1
