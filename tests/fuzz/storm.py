"""Inputs by the million: a loop that makes them and hands them to compiled kernels, compiled like these.

Strategy: what `inputs` does in Python costs more than decoding does. So here the same sort of damage is done
by a loop in plain Python over the building blocks of generated decoders; `native` makes machine code of it as
it does of those, with its accesses checked where theirs are. It puts each input at the very end of readable
memory, calls the scanner, and the decoder for what that found. Run uncompiled (`plain`) it does the same.

An input depends on the seed and its number alone.
"""

from __future__ import annotations

from typing import Any

from kafka_segments.core.native.kernels import call
from kafka_segments_generated.columns.support import (
    AT,
    BATCH,
    CODEC,
    COLUMNS,
    CONTENT,
    END_PAYLOAD,
    FILE,
    FULL,
    LEN_WINDOW,
    MAX_ROWS,
    NUM_BATCHES,
    NUM_BYTES,
    PAYLOAD,
    PLACE,
    RECORD,
    RECORD_ROW,
    ROW,
    SIZE,
    WINDOW,
    Bytes,
    Longs,
    copy_bytes,
    crc32,
    crc32c,
    load,
    load_s1,
    load_u1,
    store,
    wrap,
)

__all__ = ["storm"]

# What the loop's state holds. Three functions, each with the address of its arguments (as
# `native_chain` has it); where they put what they return. Then what is asked for, and what is told.
SCANNER, _, LEGACY, _, REPEATED, _, RETURNED, RETURNED_AT = range(8)
SEED, NUMBER, END_NUMBER, RANDOM, NUM_ITEMS, NUM_VALUES, WIDTH, DATA_END, NUM_ROWS, MAGIC_AT = range(8, 18)
ITEM, LEN_INPUT, NUM_SOUND, NUM_RAW, NUM_SEALED, NUM_RECORDS, WRONG, DIGEST = range(18, 26)
NUM_STATE = 64
COUNTS = 32
"""From here on: how often the scanner, and either decoder, returned what; -1 to 2, four words each."""

# Of each item, the entry of a seed: where it is in `corpus`, its content and magic, where its checksum is,
# where the region begins that this is of, and where its length is; bytes that the length does not count,
# where its payload begins, and which of `fields` are its. A field has a place and a width, which is negative
# for a varint.
START, END, KIND, MAGIC, CRC_AT, CRC_START, LEN_AT, OVERHEAD, PAYLOAD_AT, FIELDS, END_FIELDS = range(11)
LEN_ITEM = 11

LARGEST = 4096
MOST_CALLS = 40


def draw(state: Longs) -> int:
    """The next number of a generator (xorshift, 64 bits), as 48 bits."""
    value = load(state, RANDOM)
    value ^= wrap(value << 13)
    value ^= (value >> 7) & 0x1FF_FFFF_FFFF_FFFF
    value ^= wrap(value << 17)
    store(state, RANDOM, value)
    return (value >> 11) & 0xFFFF_FFFF_FFFF


def below(state: Longs, limit: int) -> int:
    """A number from 0 to below `limit`."""
    return draw(state) % limit


def begin_slowly(state: Longs) -> None:
    """Start the generator for an input."""
    value = wrap(load(state, SEED) * 0x2545_F491_4F6C_DD1D + load(state, NUMBER) * 0x1E37_79B9_7F4A_7C15)
    store(state, RANDOM, value ^ ((value >> 29) & 0xFFFF_FFFF) ^ 0x5DEE_CE66)
    draw(state)
    draw(state)


def shift_slowly(work: Bytes, at: int, size: int, by: int) -> int:
    """Make room at a place for `by` bytes, or close it; returns the new size."""
    if by > 0:
        if size + by > LARGEST:
            return size
        for place in range(size - 1, at - 1, -1):
            store(work, place + by, load_u1(work, place))
        return size + by
    for place in range(at - by, size):
        store(work, place + by, load_u1(work, place))
    return max(at, size + by)


def set_number_slowly(work: Bytes, at: int, width: int, value: int) -> None:
    """Write a number, most significant byte first."""
    for place in range(at + width - 1, at - 1, -1):
        store(work, place, value & 0xFF)
        value >>= 8


def set_varint_slowly(work: Bytes, at: int, size: int, width: int, value: int) -> int:
    """Write a varint in the place of another; returns the new size."""
    rest, length = wrap(value << 1) ^ (value >> 63), 1
    probe = (rest >> 7) & 0x1FF_FFFF_FFFF_FFFF
    while probe != 0:
        probe >>= 7
        length += 1
    if length > width:
        size = shift_slowly(work, at + width, size, length - width)
    elif length < width:
        size = shift_slowly(work, at + length, size, length - width)
    for place in range(at, min(at + length, size)):
        more = 0x80 if place < at + length - 1 else 0
        store(work, place, (rest & 0x7F) | more)
        rest = (rest >> 7) & 0x1FF_FFFF_FFFF_FFFF
    return size


def set_field_slowly(state: Longs, values: Longs, items: Longs, fields: Longs, work: Bytes, size: int) -> int:
    """Another number in one of the item's fields; returns the new size."""
    item = load(state, ITEM) * LEN_ITEM
    first, end = load(items, item + FIELDS), load(items, item + END_FIELDS)
    field = 2 * (first + below(state, end - first))
    at, width = load(fields, field), load(fields, field + 1)
    value = load(values, below(state, load(state, NUM_VALUES)))
    if below(state, 4) == 0:
        value = size - at - below(state, 4)
    if at + max(width, -width) > size:
        return size
    if width < 0:
        return set_varint_slowly(work, at, size, -width, value)
    set_number_slowly(work, at, width, value)
    return size


def change_slowly(state: Longs, values: Longs, work: Bytes, size: int) -> int:
    """One edit anywhere; returns the new size."""
    at = below(state, min(size, 100) if below(state, 2) == 0 else size)
    kind = below(state, 9)
    some = 1 + below(state, 8)
    value = load(values, below(state, load(state, NUM_VALUES)))
    if kind < 2:
        store(work, at, load_u1(work, at) ^ (1 << below(state, 8)))
    elif kind == 2:
        store(work, at, value & 0xFF)
    elif kind == 3:
        store(work, at, below(state, 256))
    elif kind == 4:
        size = at
    elif kind == 5:
        size = shift_slowly(work, at, size, -min(some, size - at))
    elif kind == 6:
        before = size
        size = shift_slowly(work, at, size, some)
        for place in range(at, at + size - before):
            store(work, place, below(state, 256))
    elif kind == 7:
        for place in range(at, min(at + some * 4, size)):
            store(work, place, 0x80 if some < 5 else 0)
    else:
        size = set_varint_slowly(work, at, size, 1, value)
    return size


def splice_slowly(state: Longs, corpus: Bytes, items: Longs, work: Bytes, size: int) -> int:
    """The end of another item in the place of this one's; returns the new size."""
    at = below(state, size)
    other = below(state, load(state, NUM_ITEMS)) * LEN_ITEM
    start, end = load(items, other + START), load(items, other + END)
    start += below(state, end - start)
    length = min(end - start, LARGEST - at)
    copy_bytes(work, at, corpus, start, length)
    return at + length


def seal_slowly(state: Longs, items: Longs, work: Bytes, size: int) -> int:
    """Make length and checksum right, as long as the magic is what it was; returns the size."""
    item = load(state, ITEM) * LEN_ITEM
    start, at = load(items, item + CRC_START), load(items, item + LEN_AT)
    if size <= start or load_s1(work, load(state, MAGIC_AT)) != load(items, item + MAGIC):
        return size
    if below(state, 16) != 0:
        set_number_slowly(work, at, 4, size - load(items, item + OVERHEAD))
    value = crc32(work, start, size) if load(items, item + KIND) == 0 else crc32c(work, start, size)
    set_number_slowly(work, load(items, item + CRC_AT), 4, value)
    store(state, NUM_SEALED, load(state, NUM_SEALED) + 1)
    return size


def make_slowly(state: Longs, corpus: Bytes, items: Longs, fields: Longs, values: Longs, work: Bytes) -> int:
    """Make the input of the state's number; returns its size."""
    begin_slowly(state)
    store(state, ITEM, below(state, load(state, NUM_ITEMS)))
    item = load(state, ITEM) * LEN_ITEM
    start, size = load(items, item + START), load(items, item + END) - load(items, item + START)
    copy_bytes(work, 0, corpus, start, size)
    for _ in range(1 + below(state, 3) * below(state, 2)):
        if size == 0:
            break
        kind = below(state, 8)
        if kind < 3:
            size = set_field_slowly(state, values, items, fields, work, size)
        elif kind < 7:
            size = change_slowly(state, values, work, size)
        else:
            size = splice_slowly(state, corpus, items, work, size)
    if below(state, 8) != 0:
        size = seal_slowly(state, items, work, size)
    if below(state, 4) == 0:
        other = below(state, load(state, NUM_ITEMS)) * LEN_ITEM
        length = min(load(items, other + END) - load(items, other + START), LARGEST - size)
        copy_bytes(work, size, corpus, load(items, other + START), length)
        size += length
    return size


def count(state: Longs, which: int, status: int) -> None:
    """Count what a function has returned; what it must not return is noted as wrong."""
    if status < -1 or status > 2:
        store(state, WRONG, 1)
    else:
        place = COUNTS + 4 * which + status + 1
        store(state, place, load(state, place) + 1)
    store(state, DIGEST, wrap(load(state, DIGEST) * 31 + status))


def run(state: Longs, which: int) -> int:
    """Call one of the functions; returns what it returns."""
    call(load(state, which), load(state, RETURNED_AT), 0, load(state, which + 1), 0, 0, 0, 0)
    return load(state, RETURNED)


def scan_slowly(state: Longs, scan: Longs, scan_arguments: Longs, size: int) -> int:
    """Have the input scanned; returns the number of sound entries."""
    store(scan_arguments, 0, load(state, DATA_END) - size)
    store(scan_arguments, 1, size)
    store(scan, AT, 0)
    store(scan, ROW, 0)
    store(scan, MAX_ROWS, load(state, NUM_ROWS))
    store(scan, SIZE, size + (below(state, 9000) if below(state, 8) == 0 else 0))
    store(scan, FILE, -1)
    store(scan, WINDOW, 0)
    store(scan, LEN_WINDOW, size)
    count(state, 0, run(state, SCANNER))
    rows = load(scan, ROW)
    if rows < 0 or rows > load(state, NUM_ROWS) or load(scan, AT) < 0 or load(scan, AT) > load(scan, SIZE):
        store(state, WRONG, 2)
    return rows


def decode_slowly(state: Longs, which: int, decode: Longs, arguments: Longs, spans: int, size: int) -> None:
    """Have some spans decoded to their end, emptying the columns whenever they are full."""
    store(arguments, 0, load(state, DATA_END) - size)
    store(arguments, 1, size)
    store(decode, BATCH, 0)
    store(decode, RECORD, 0)
    store(decode, PLACE, 0)
    store(decode, NUM_BATCHES, spans)
    status, calls = FULL, 0
    while status == FULL and calls < MOST_CALLS:
        store(decode, RECORD_ROW, 0)
        store(decode, NUM_BYTES, 0)
        for place in range(COLUMNS, COLUMNS + 12):
            store(decode, place, 0)
        status = run(state, which)
        calls += 1
        store(state, NUM_RECORDS, load(state, NUM_RECORDS) + load(decode, RECORD_ROW))
        done = load(decode, BATCH) * 65537 + load(decode, RECORD) * 257 + load(decode, RECORD_ROW)
        store(state, DIGEST, wrap(load(state, DIGEST) * 31 + done + load(decode, COLUMNS)))
        if load(decode, RECORD_ROW) == 0:
            calls = MOST_CALLS
        if load(decode, BATCH) < 0 or load(decode, BATCH) > spans:
            store(state, WRONG, 3)
    count(state, which >> 1, status)


def note_spans_slowly(state: Longs, table: Longs, spans: Longs, rows: int, content: int, size: int) -> int:
    """Note where sound entries of a content have their records; returns how many there are."""
    num_spans = 0
    for row in range(rows):
        place = row * load(state, WIDTH)
        start, end = load(table, place + PAYLOAD), load(table, place + END_PAYLOAD)
        is_plain = content == 1 or load(table, place + CODEC) == 0
        if load(table, place + CONTENT) == content and is_plain and end <= size:
            store(spans, 3 * num_spans, start)
            store(spans, 3 * num_spans + 1, end)
            store(spans, 3 * num_spans + 2, row)
            num_spans += 1
    return num_spans


def take_raw_slowly(state: Longs, items: Longs, rows: Longs, table: Longs, spans: Longs, size: int) -> int:
    """What is not sound goes to the decoder all the same, with the header that was; returns the content."""
    item = load(state, ITEM)
    for place in range(load(state, WIDTH)):
        store(table, place, load(rows, item * load(state, WIDTH) + place))
    store(spans, 0, min(load(items, item * LEN_ITEM + PAYLOAD_AT), size))
    store(spans, 1, size)
    store(spans, 2, 0)
    store(state, NUM_RAW, load(state, NUM_RAW) + 1)
    return load(items, item * LEN_ITEM + KIND)


def storm() -> Any:
    """Makes the loop, of which the state says from which number to which it goes."""

    def blow(
        state: Longs,
        corpus: Bytes,
        items: Longs,
        fields: Longs,
        values: Longs,
        rows: Longs,
        work: Bytes,
        data: Bytes,
        scan: Longs,
        scan_arguments: Longs,
        table: Longs,
        spans: Longs,
        legacy: Longs,
        legacy_arguments: Longs,
        repeated: Longs,
        repeated_arguments: Longs,
        len_data: Longs,
    ) -> int:
        while load(state, NUMBER) < load(state, END_NUMBER):
            size = make_slowly(state, corpus, items, fields, values, work)
            store(state, LEN_INPUT, size)
            copy_bytes(data, load(len_data, 0) - size, work, 0, size)
            sound = scan_slowly(state, scan, scan_arguments, size)
            store(state, NUM_SOUND, load(state, NUM_SOUND) + (1 if sound > 0 else 0))
            old = note_spans_slowly(state, table, spans, sound, 0, size)
            if old > 0:
                decode_slowly(state, LEGACY, legacy, legacy_arguments, old, size)
            new = note_spans_slowly(state, table, spans, sound, 1, size)
            if new > 0:
                decode_slowly(state, REPEATED, repeated, repeated_arguments, new, size)
            if sound == 0:
                if take_raw_slowly(state, items, rows, table, spans, size) == 0:
                    decode_slowly(state, LEGACY, legacy, legacy_arguments, 1, size)
                else:
                    decode_slowly(state, REPEATED, repeated, repeated_arguments, 1, size)
            store(state, NUMBER, load(state, NUMBER) + 1)
        return 0

    return blow
