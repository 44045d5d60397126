"""Decoders as `codegen.py` would make them, of one building block each."""

from __future__ import annotations

from kafka_segments.core.native.kernels import equal_pairs
from kafka_segments_generated.columns.support import (
    Bytes,
    Longs,
    clear_bit,
    copy_bytes,
    crc32,
    crc32c,
    length,
    load,
    load_bit,
    load_s2be,
    load_s2le,
    load_s4be,
    load_s8be,
    load_s8le,
    load_u1,
    load_u4le,
    read_at,
    store,
    store_1,
    store_2be,
    store_2le,
    store_4be,
    store_4le,
    store_8be,
    store_8le,
)


def checksums(*, castagnoli: bool):
    """`out[0]` becomes the checksum of `data[out[1]:out[2]]`."""

    def run(data: Bytes, out: Longs):
        if castagnoli:
            value = crc32c(data, load(out, 1), load(out, 2))
        else:
            value = crc32(data, load(out, 1), load(out, 2))
        store(out, 0, value)
        return 0

    return run


def copies(*, backwards: bool):
    """Copies `source[numbers[0]:][:numbers[2]]` to `target[numbers[1]:]`, or the other way round."""

    def run(source: Bytes, target: Bytes, numbers: Longs):
        start, to, size = load(numbers, 0), load(numbers, 1), load(numbers, 2)
        if backwards:
            copy_bytes(source, start, target, to, size)
        else:
            copy_bytes(target, to, source, start, size)
        return size

    return run


def loads(*, unused: bool):
    """Reads every sort of integer at position `out[0]` into `out`."""

    def run(data: Bytes, out: Longs):
        at = load(out, 0)
        store(out, 1, load_u1(data, at))
        store(out, 2, load_s2be(data, at))
        store(out, 3, load_s2le(data, at))
        store(out, 4, load_s4be(data, at))
        store(out, 5, load_u4le(data, at))
        store(out, 6, load_s8be(data, at))
        store(out, 7, load_s8le(data, at))
        return 7

    return run


def stores(*, unused: bool):
    """Writes the number `numbers[1]` in every way, one behind the other, from position `numbers[0]` on."""

    def run(data: Bytes, numbers: Longs):
        at, value = load(numbers, 0), load(numbers, 1)
        store_1(data, at, value)
        store_2be(data, at + 1, value)
        store_2le(data, at + 3, value)
        store_4be(data, at + 5, value)
        store_4le(data, at + 9, value)
        store_8be(data, at + 13, value)
        store_8le(data, at + 21, value)
        return length(data)

    return run


def bit(*, unused: bool):
    """Bit `numbers[0]`."""

    def run(bitmap: Bytes, numbers: Longs):
        return load_bit(bitmap, load(numbers, 0))

    return run


def bits(*, unused: bool):
    """Clears bit `numbers[0]`."""

    def run(bitmap: Bytes, numbers: Longs):
        clear_bit(bitmap, load(numbers, 0))
        return 0

    return run


def files(*, unused: bool):
    """Fills `data` from file `numbers[0]`, position `numbers[1]`."""

    def run(data: Bytes, numbers: Longs):
        return read_at(load(numbers, 0), load(numbers, 1), data, 0, length(data))

    return run


def pairs(*, unused: bool):
    """Compares bytes from `numbers[0]` and `numbers[2]` on with `numbers[1]` and `numbers[3]`."""

    def run(data: Bytes, numbers: Longs):
        found = equal_pairs(data, load(numbers, 0), load(numbers, 1), load(numbers, 2), load(numbers, 3))
        store(numbers, 4, found)
        return 0

    return run
