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

__all__ = ["content_of", "expand_blocks", "table_of"]

# Columns of the table, one after the other, with a number for each tag: of a short literal the size, and with
# its tag, else 0; distance, and from which one on a copy needs no care; size; bytes of tag and number, and by
# how many bits four bytes that end with the number are more than it.
_LITERAL, _LEN_LITERAL, _DISTANCE, _LEAST, _SIZE, _LEN_ELEMENT, _MORE, _LEN_TABLE = range(0, 8 * 256, 256)
_LONGEST_NUMBER = 4  # at most
_SHORT, _WORD = 32, 8  # bytes
_LONGEST_SIZE = 5  # a varint
_NEVER = 1 << 40  # more than any distance
# Bytes that a literal and a copy read of a block, and write at most, when taken together.
_FAR_READ, _FAR_WRITTEN = _SHORT + 6, 2 * _SHORT


def table_of(elements: Sequence[tuple[int, int, int]]) -> Iterator[int]:
    """The numbers of the table: of `codecs.snappy.ELEMENTS`."""
    rows = []
    for width, size, distance in elements:
        is_literal = distance < 0
        literal = size if is_literal and width == 0 and size <= _SHORT else 0
        least = _NEVER if is_literal or size > _SHORT else size
        tag = literal + (literal > 0)
        rows.append((literal, tag, distance, least, size, 1 + width, 8 * (_LONGEST_NUMBER - width)))
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


def content_of(data: Bytes, here: int, end: int) -> tuple[int, int]:
    """Return the size of a block's content, and where its elements begin; the size is -1 if it is wrong."""
    size, elements = read_varint(data, here, end)
    is_long = elements - here == _LONGEST_SIZE  # of which some bits may be lost
    return -1 if elements > end or is_long or here < _LONGEST_NUMBER else size, elements


def append(target: Bytes, to: int, source: Bytes, start: int, size: int, limit: int) -> None:  # noqa: PLR0917
    """Copy bytes, and write none from `limit` on; of `target` itself from at least `_SHORT` before."""
    stop = to + size
    last_to, last_start = limit - _SHORT, length(source) - _SHORT
    while to < stop and to <= last_to and start <= last_start:
        copy_short(target, to, source, start)
        to, start = to + _SHORT, start + _SHORT
    while to < stop:
        store_1(target, to, load_u1(source, start))
        to, start = to + 1, start + 1


def expand_element_slowly(  # noqa: PLR0917
    data: Bytes, target: Bytes, table: Longs, here: int, end: int, to: int, first: int, limit: int
) -> tuple[int, int]:
    """Write what one element says; return as `expand_elements` does."""
    tag = length(table) - _LEN_TABLE + load_u1(data, here)
    here += load(table, tag + _LEN_ELEMENT)
    if here > end:
        return end + 1, to
    number = load_u4le(data, here - _LONGEST_NUMBER) >> load(table, tag + _MORE)
    size, distance = load(table, tag + _SIZE), load(table, tag + _DISTANCE)
    if distance < 0:
        size += number
        if size > min(end - here, limit - to):
            return end + 1, to
        append(target, to, data, here, size, limit)
        return here + size, to + size
    distance += number
    if distance == 0 or distance > to - first or size > limit - to:
        return end + 1, to
    if distance >= _SHORT:
        append(target, to, target, to - distance, size, limit)
    else:
        for at in range(to, to + size):
            store_1(target, at, load_u1(target, at - distance))
    return here, to + size


def expand_elements(  # noqa: PLR0917
    data: Bytes, target: Bytes, table: Longs, here: int, end: int, to: int, first: int, limit: int
) -> tuple[int, int]:
    """Write what the next one or two elements of a block say.

    Args:
        data: the bytes that hold the block.
        target: memory for its content.
        table: ends with that of `table_of`.
        here: where the elements begin in `data`.
        end: where the block ends.
        to: where their content begins in `target`.
        first: where that of the block begins.
        limit: where it ends.

    Returns:
        Where the next elements begin, after `end` if these are wrong, and their content.
    """
    if here <= end - _FAR_READ and to <= limit - _FAR_WRITTEN:
        table_at = length(table) - _LEN_TABLE
        tag = table_at + load_u1(data, here)
        copy_short(target, to, data, here + 1)
        behind = to + load(table, tag + _LITERAL)
        place = here + load(table, tag + _LEN_LITERAL)
        other = table_at + load_u1(data, place)
        place += load(table, other + _LEN_ELEMENT)
        number = load_u4le(data, place - _LONGEST_NUMBER) >> load(table, other + _MORE)
        distance = load(table, other + _DISTANCE) + number
        if not rare(distance < load(table, other + _LEAST) or distance > behind - first):
            copy_short(target, behind, target, behind - distance)
            return place, behind + load(table, other + _SIZE)
    return expand_element_slowly(data, target, table, here, end, to, first, limit)


def expand_blocks(  # noqa: PLR0917
    data: Bytes,
    target: Bytes,
    table: Longs,
    one: int,
    one_end: int,
    first: int,
    two: int,
    two_end: int,
    middle: int,
    limit: int,
) -> int:
    """Write the contents of two blocks, one after the other; return how many are right, up to a wrong one.

    Args:
        data: the bytes that hold the blocks.
        target: memory for their contents.
        table: ends with that of `table_of`.
        one: where the elements of the first block begin in `data`.
        one_end: where they end.
        first: where its content begins in `target`.
        two: where the elements of the second block begin.
        two_end: where they end.
        middle: where its content begins.
        limit: where it ends.
    """
    to, other = first, middle
    while one < one_end and two < two_end:
        one, to = expand_elements(data, target, table, one, one_end, to, first, middle)
        two, other = expand_elements(data, target, table, two, two_end, other, middle, limit)
    while one < one_end:
        one, to = expand_elements(data, target, table, one, one_end, to, first, middle)
    while two < two_end:
        two, other = expand_elements(data, target, table, two, two_end, other, middle, limit)
    if one != one_end or to != middle:
        return 0
    return 1 + (two == two_end and other == limit)
