"""Blocks of snappy, decompressed by compiled code.

Strategy: snappy's package has no entry for compiled code, and a call from Python for each block costs a
third of the block. Nearly all elements are a literal or none and then a copy, both short. They are taken
together, without a branch that the CPU may mispredict: a table says of each tag what follows it, and 32 bytes
are copied of which fewer may count. What is not exactly a block is left to the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_segments.core.native.kernels import (
    Bytes,
    Longs,
    copy_bytes,
    length,
    load,
    load_u1,
    load_u4le,
    load_u8le,
    rare,
    store_1,
    store_8le,
)
from kafka_segments_generated.columns.kafka_unsigned_varint import read as read_varint

__all__ = ["expand_block", "table_of"]

# Columns of the table, one after the other, with a number for each tag: of a short literal the size, and with
# its tag, else 0; distance, size; bytes of tag and number, and by how many bits four bytes that end with the
# number are more than it.
_LITERAL, _LEN_LITERAL, _DISTANCE, _SIZE, _LEN_ELEMENT, _MORE, _LEN_TABLE = range(0, 7 * 256, 256)
_LONGEST_NUMBER = 4  # at most
_SHORT, _WORD = 32, 8  # bytes
_LONGEST_SIZE = 5  # a varint
# Bytes that a literal and a copy read of a block, and write at most, when taken together.
_FAR_READ, _FAR_WRITTEN = _SHORT + 6, 2 * _SHORT


def table_of(elements: Sequence[tuple[int, int, int]]) -> Iterator[int]:
    """The numbers of the table: of `codecs.snappy.ELEMENTS`."""
    rows = []
    for width, size, distance in elements:
        literal = size if distance < 0 and width == 0 and size <= _SHORT else 0
        rows.append(
            (literal, literal + (literal > 0), distance, size, 1 + width, 8 * (_LONGEST_NUMBER - width))
        )
    for column in zip(*rows, strict=True):
        yield from column


def copy_short(target: Bytes, to: int, source: Bytes, start: int) -> None:
    """Copy `_SHORT` bytes, all loaded before any is stored."""
    second = start + _WORD
    third = second + _WORD
    fourth = third + _WORD
    one, two = load_u8le(source, start), load_u8le(source, second)
    three, four = load_u8le(source, third), load_u8le(source, fourth)
    for word in (one, two, three, four):
        store_8le(target, to, word)
        to += _WORD


def repeat(target: Bytes, to: int, distance: int, size: int) -> None:
    """Append bytes that stand `distance` before; if these are fewer, they repeat themselves."""
    if distance >= size:
        copy_bytes(target, to, target, to - distance, size)
    else:
        for at in range(to, to + size):
            store_1(target, at, load_u1(target, at - distance))


def expand_block(data: Bytes, target: Bytes, table: Longs, here: int, end: int, to: int) -> int:  # noqa: PLR0917
    """Write a block's content to a place in `target`; return its size, -1 if it is wrong or does not fit.

    Args:
        data: the bytes that hold the block.
        target: memory for its content.
        table: ends with that of `table_of`.
        here: where the block begins in `data`.
        end: where it ends.
        to: where the content begins in `target`.
    """
    table_at = length(table) - _LEN_TABLE
    first, start = to, here
    size, here = read_varint(data, here, end)
    limit = to + size
    is_long = here - start == _LONGEST_SIZE  # of which some bits may be lost
    if here > end or is_long or limit > length(target) or start < _LONGEST_NUMBER:
        return -1
    while here < end:
        tag = table_at + load_u1(data, here)
        if here <= end - _FAR_READ and to <= limit - _FAR_WRITTEN:
            copy_short(target, to, data, here + 1)
            behind = to + load(table, tag + _LITERAL)
            place = here + load(table, tag + _LEN_LITERAL)
            other = table_at + load_u1(data, place)
            place += load(table, other + _LEN_ELEMENT)
            number = load_u4le(data, place - _LONGEST_NUMBER) >> load(table, other + _MORE)
            distance, size = load(table, other + _DISTANCE), load(table, other + _SIZE)
            is_copy = distance >= 0
            distance += number
            if not rare(not is_copy or size > min(distance, _SHORT) or distance > behind - first):
                copy_short(target, behind, target, behind - distance)
                here, to = place, behind + size
                continue
        here += load(table, tag + _LEN_ELEMENT)
        if here > end:
            return -1
        number = load_u4le(data, here - _LONGEST_NUMBER) >> load(table, tag + _MORE)
        size, distance = load(table, tag + _SIZE), load(table, tag + _DISTANCE)
        if distance < 0:
            size += number
            if size > min(end - here, limit - to):
                return -1
            copy_bytes(target, to, data, here, size)
            here += size
        else:
            distance += number
            if distance == 0 or distance > to - first or size > limit - to:
                return -1
            repeat(target, to, distance, size)
        to += size
    return limit - first if to == limit else -1
