"""Building blocks of generated decoders and encoders, in plain Python, and the slots of their state arrays.

`core.native` replaces each of these functions by machine code when it compiles a decoder; run as
they are, over numpy arrays, they define what that machine code does. All positions and numbers are integers
of 64 bits. Nothing here checks that a position is within its array: decoders and encoders do.

Encoders are the way back: a row of the table and arrays of columns become bytes.

    records    encoder(writes=...) -> encode(batches, state, arrays of ENCODED_COLUMNS..., out) -> status
    segments   head_encoder(writes=...) -> encode_head(batches, state, out) -> status

Arrays of columns are Arrow's: offsets that need not begin at 0, bits of validity where 1 is there; validity
without any element says that there are no nulls. The first appends records; where the content of an entry is
one record itself, each becomes a whole entry. The second writes what stands in front of the records once they
are there, so that one pass over them is enough, and completes the row of the table. With `writes=False`
nothing is written, and all is counted that otherwise would be.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = [
    "AT",
    "BATCH",
    "BUFFER",
    "CODEC",
    "COLUMNS",
    "CONTENT",
    "DAMAGED",
    "DONE",
    "ENC_AT",
    "ENC_BATCH",
    "ENC_COLUMNS",
    "ENC_COUNT",
    "ENC_DERIVED",
    "ENC_END_ROW",
    "ENC_GIVEN",
    "ENC_HEAD",
    "ENC_LIMIT",
    "ENC_PAYLOAD",
    "ENC_ROW",
    "END_PAYLOAD",
    "END_POSITION",
    "FILE",
    "FULL",
    "LEN_VIEW",
    "LEN_WINDOW",
    "MAX_BYTES",
    "MAX_ITEMS",
    "MAX_ROWS",
    "MOST_INLINE",
    "MOST_VIEWED",
    "NUM_BATCHES",
    "NUM_BYTES",
    "PAYLOAD",
    "PLACE",
    "POSITION",
    "RECORD",
    "RECORD_MAX_ROWS",
    "RECORD_ROW",
    "REFUSED",
    "ROW",
    "SHORT",
    "SIZE",
    "WINDOW",
    "Bytes",
    "Content",
    "Decode",
    "Encode",
    "Ints",
    "Longs",
    "Scan",
    "Tinies",
    "clear_bit",
    "copy_bytes",
    "crc32",
    "crc32c",
    "length",
    "load",
    "load_bit",
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
    "store_1",
    "store_2be",
    "store_2le",
    "store_4be",
    "store_4le",
    "store_8be",
    "store_8le",
    "store_view",
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
Encode: TypeAlias = Callable[..., int]
"""Of batches, state, the arrays of columns, and out; returns DONE, FULL or REFUSED."""

# What a scan, a decoder or an encoder returns.
DONE = 0  # everything there was
FULL = 1  # no room for another batch, row, byte or item: empty the columns and go on
SHORT = 2  # scan: the entry at `state[AT]` is not all in `data`, or not as much of it as is needed
DAMAGED = -1  # the entry at `state[AT]` is not sound, or the record `state[RECORD]` of `state[BATCH]`
REFUSED = -2  # values that cannot be written: those of the row `state[ENC_ROW]`, or of the table's row

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
# Views say that their bytes are in the buffer with the number BUFFER, which has to be `data`.
# From COLUMNS on, column by column: two of a binary one (bytes used, nulls), one of a list (items used) and
# then its members'. Rows begin at the counts given; the first offset of each array has to be there.
BATCH, RECORD, PLACE, RECORD_ROW, NUM_BYTES = range(5)
RECORD_MAX_ROWS, MAX_BYTES, MAX_ITEMS, NUM_BATCHES, BUFFER, COLUMNS = range(5, 11)

# Arrow's views of bytes: how many bytes one has, and how many of the bytes themselves fit in it.
LEN_VIEW, MOST_INLINE = 16, 12
# Where records with views may end: places in a buffer are integers of 32 bits. A record's size does not count
# the few bytes before it.
MOST_VIEWED = (1 << 31) - 64


# Encoders: what `state` holds.
# ENC_ROW      the next row; after FULL or REFUSED the one that was not written
# ENC_END_ROW  the row after the last
# ENC_AT       where in `out` the next record goes; for the head, where the payload ends
# ENC_LIMIT    what no record may exceed: FULL. Bytes of `out` after it may change, none after its end
# ENC_BATCH    the row of `batches` which the records are of
# ENC_HEAD     where the entry begins, whose head is to be written
# ENC_PAYLOAD  where the payload begins, which is where the head has to end. Without writing, the payload is
#              moved (this and ENC_AT) to where it would
# ENC_GIVEN    bits: what is taken from the row instead of derived from records. Bit n is for the n-th name of
#              the content in DERIVED; -1 is for all
# ENC_COUNT    records written since it was set to 0, which begins a batch
# ENC_DERIVED  what is derived from these records so far: at most eight values
# ENC_COLUMNS  for each of ENCODED_COLUMNS, each before its members: where row 0 is in its arrays, which is
#              what Arrow calls an array's `offset`
ENC_ROW, ENC_END_ROW, ENC_AT, ENC_LIMIT, ENC_BATCH, ENC_HEAD, ENC_PAYLOAD, ENC_GIVEN, ENC_COUNT = range(9)
ENC_DERIVED, ENC_COLUMNS = 9, 17


class Content(NamedTuple):
    """A kind of content of entries; the column `content` of the table has its number.

    Attributes:
        schema: stem of its schema.
        decoder: name of the module here that decodes its records.
        cases: the values by which the schema chooses it, such as magics.
        is_repeated: whether it has records; else it is one, and its span is all of it.
        codecs: what the numbers in the column `codec` are called.
        columns: those of the table that it fills, beside the first six. What is in the others is left over.
    """

    schema: str
    decoder: str
    cases: tuple[int, ...]
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
    """Wrapped, as a Java long."""
    return int.from_bytes(data[at : at + 8].tobytes(), "big", signed=True)


def load_u8le(data: Bytes, at: int) -> int:
    """Wrapped, as a Java long."""
    return int.from_bytes(data[at : at + 8].tobytes(), "little", signed=True)


def load_s8be(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8].tobytes(), "big", signed=True)


def load_s8le(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8].tobytes(), "little", signed=True)


def wrap(value: int) -> int:
    """A sum, wrapped as a Java long."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def rare(condition: bool) -> bool:
    """The condition, which the compiler takes for unlikely."""
    return condition


def load(array: Longs, at: int) -> int:
    """An element of an array of integers."""
    return int(array[at])


def store(array: Longs, at: int, value: int) -> None:
    """Set an element of an array of integers: to the lowest bits of `value`, as Java's casts do."""
    try:
        array[at] = value
    except OverflowError:
        half = 1 << (8 * array.itemsize - 1)
        array[at] = (value + half) % (2 * half) - half


def store_1(data: Bytes, at: int, value: int) -> None:
    """Set the byte at `at` to an integer's lowest; those that follow set more of them, in the order named."""
    data[at] = value & 0xFF


def store_2be(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 2, "big")


def store_2le(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 2, "little")


def store_4be(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 4, "big")


def store_4le(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 4, "little")


def store_8be(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 8, "big")


def store_8le(data: Bytes, at: int, value: int) -> None:
    _store(data, at, value, 8, "little")


def _store(data: Bytes, at: int, value: int, size: int, order: Literal["big", "little"]) -> None:
    wrapped = value & ((1 << 8 * size) - 1)
    data[at : at + size] = list(wrapped.to_bytes(size, order))


def length(array: Longs) -> int:
    """How many elements an array has."""
    return len(array)


def load_bit(bitmap: Bytes, at: int) -> int:
    """The bit of row `at` in an Arrow bitmap (least significant bit first)."""
    return load_u1(bitmap, at >> 3) >> (at & 7) & 1


def clear_bit(bitmap: Bytes, at: int) -> None:
    """Mark row `at` as null in an Arrow validity bitmap (least significant bit first)."""
    store_1(bitmap, at >> 3, load_u1(bitmap, at >> 3) & ~(1 << (at & 7)))


def copy_bytes(target: Bytes, to: int, source: Bytes, start: int, size: int) -> None:
    """Copy bytes. Both ranges must be within their arrays; bytes of `target` after its own may change."""
    target[to : to + size] = source[start : start + size]


def store_view(views: Bytes, row: int, data: Bytes, start: int, size: int, buffer: int) -> None:  # noqa: PLR0917
    """Set a row's view, an Arrow BinaryView, of bytes of `data`, which is the buffer of that number."""
    rest = data[start : start + min(size, MOST_INLINE)].tobytes().ljust(MOST_INLINE, b"\0")
    if size > MOST_INLINE:
        rest = rest[:4] + buffer.to_bytes(4, "little") + start.to_bytes(4, "little")
    views[LEN_VIEW * row : LEN_VIEW * (row + 1)] = list(size.to_bytes(4, "little") + rest)


def crc32c(data: Bytes, start: int, end: int) -> int:
    """CRC-32C (Castagnoli) of `data[start:end]`."""
    import crc32c

    return int(crc32c.crc32c(data[start:end]))


def crc32(data: Bytes, start: int, end: int) -> int:
    """CRC-32 (zlib's) of `data[start:end]`."""
    return zlib.crc32(data[start:end])


def read_at(file: int, position: int, data: Bytes, start: int, size: int) -> int:
    """Read an open file into `data`; returns the number of bytes, negative if it cannot be read."""
    try:
        return os.preadv(file, [data[start : start + size]], position)
    except OSError:
        return -1
