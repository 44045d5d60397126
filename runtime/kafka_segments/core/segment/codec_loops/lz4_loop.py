"""Loop over lz4 payloads, by liblz4."""

from __future__ import annotations

from typing import Any

from kafka_segments.core.codecs.lz4 import (
    BLOCK_SIZE_MASK,
    BLOCK_SIZES,
    LEN_BLOCK_SIZE,
    LEN_SHORTEST_HEADER,
    plain_headers,
)
from kafka_segments.core.native.kernels import (
    Bytes,
    Longs,
    call,
    copy_bytes,
    load,
    load_u4le,
    load_u8le,
    store,
)
from kafka_segments.core.segment.codec_loops.clibs import find_address, find_library
from kafka_segments.core.segment.codec_loops.loops import AT, COUNT, ENOUGH, FIRST, ROOM, SOURCE, TARGET, USED

__all__ = ["loop", "loop_needs"]

_HASH = FIRST + 1  # in the loop's state, as what follows
_HEADERS = FIRST + 2
_END_OF_HEADERS = _HEADERS + 3 * (2 * len(BLOCK_SIZES) + 1)
_NO_HEADER = -1  # in slots that are not used: no header, which are of 7 bytes, is negative
_HEADER_MASK = (1 << 8 * LEN_SHORTEST_HEADER) - 1


def find_header(state: Longs, header: int) -> int:
    """Return where a frame header stands in the state; 0 if it is not one of `plain_headers`."""
    for number in range(_HEADERS, _END_OF_HEADERS, 3):
        if load(state, number) == header:
            return number
    return 0


def expand_block(data: Bytes, target: Bytes, state: Longs, here: int, size: int, to: int, most: int) -> int:  # noqa: PLR0917
    """Write a block's content to a place in `target`; return its size, negative if the block is wrong.

    Args:
        data: the bytes that hold the payloads.
        target: memory for their contents.
        state: see `loops`.
        here: where the block begins in `data`.
        size: of the block; with the top bit set if it is stored.
        to: where the content begins in `target`.
        most: bytes that a block's content may have.
    """
    length = size & BLOCK_SIZE_MASK
    if size != length:
        copy_bytes(target, to, data, here, length)
        return length
    source, place = load(state, SOURCE) + here, load(state, TARGET) + to
    # A C int: negative if the block is wrong.
    written = call(load(state, FIRST), source, place, length, most, 0, 0, 0) & 0xFFFF_FFFF
    return written if written <= most else -1


def is_right(data: Bytes, state: Longs, here: int, end: int, len_checksum: int) -> bool:
    """Return whether a block from `here` to `end` has the checksum after it, if there is to be one."""
    if len_checksum == 0:
        return True
    computed = call(load(state, _HASH), load(state, SOURCE) + here, end - here, 0, 0, 0, 0, 0) & 0xFFFF_FFFF
    return computed == load_u4le(data, end)


def loop() -> Any:
    """Return the loop over ordinary payloads, see `loops`: frames with one of `plain_headers`."""

    def expand(data: Bytes, places: Longs, target: Bytes, state: Longs) -> int:
        used, room, at = 0, load(state, ROOM), load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            number = 0
            if end - here >= LEN_SHORTEST_HEADER + LEN_BLOCK_SIZE:
                number = find_header(state, load_u8le(data, here) & _HEADER_MASK)
            max_block, len_checksum = load(state, number + 1), load(state, number + 2)
            here += LEN_SHORTEST_HEADER
            size = -1 if number == 0 else 0
            while size >= 0:
                if end - here < LEN_BLOCK_SIZE:
                    size = -1
                    break
                word = load_u4le(data, here)
                length = word & BLOCK_SIZE_MASK
                here += LEN_BLOCK_SIZE
                if length == 0:
                    break
                written = -1
                if length <= min(end - here - len_checksum, max_block) and used + size + max_block <= room:
                    written = expand_block(data, target, state, here, word, used + size, max_block)
                if written < 0 or not is_right(data, state, here, here + length, len_checksum):
                    size = -1
                    break
                size += written
                here += length + len_checksum
                if written == 0:  # the end for Kafka, see `iter_blocks`
                    break
            if size < 0:
                break
            store(places, 2 * at, used)
            store(places, 2 * at + 1, used + size)
            used += size
            at += 1
        store(state, AT, at)
        store(state, USED, used)
        return at

    return expand


def loop_needs(magic: int) -> tuple[list[int], Any] | None:
    """Return the values for the state of `loop`: the library's functions, and `plain_headers`."""
    library, frames = find_library("lz4.block", "_block"), find_library("lz4.frame", "_frame")
    function, checksum = find_address(library, "LZ4_decompress_safe"), find_address(frames, "XXH32")
    if not function:
        return None
    headers = [one for one in plain_headers(magic) if checksum or not one[2]]
    words = [word for header in headers for word in header]
    words += [_NO_HEADER] * (_END_OF_HEADERS - _HEADERS - len(words))
    return [function, checksum, *words], (library, frames)
