"""Loop over lz4 payloads, by liblz4."""

from __future__ import annotations

from typing import Any

from kafka_segments.codecs.lz4 import (
    BLOCK_SIZE_MASK,
    BLOCK_SIZES,
    LEN_BLOCK_SIZE,
    LEN_SHORTEST_HEADER,
    plain_headers,
)
from kafka_segments.native.kernels import (
    Bytes,
    Longs,
    call,
    copy_bytes,
    load,
    load_u4le,
    load_u8le,
    store,
)
from kafka_segments.segment.codec_loops.clibs import find_address, find_library
from kafka_segments.segment.codec_loops.loops import AT, COUNT, ENOUGH, FIRST, ROOM, SOURCE, TARGET, USED

__all__ = ["loop", "loop_needs"]

_END_OF_HEADERS = FIRST + 1 + 2 * (len(BLOCK_SIZES) + 1)  # in the loop's state
_HEADER_MASK = (1 << 8 * LEN_SHORTEST_HEADER) - 1


def loop() -> Any:
    """Return the loop over ordinary payloads, see `loops`: frames with one of `plain_headers`."""

    def expand(data: Bytes, places: Longs, target: Bytes, state: Longs) -> int:
        used, room, at = 0, load(state, ROOM), load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            max_block = 0
            if end - here >= LEN_SHORTEST_HEADER + LEN_BLOCK_SIZE:
                header = load_u8le(data, here) & _HEADER_MASK
                for number in range(FIRST + 1, _END_OF_HEADERS, 2):
                    if load(state, number) == header:
                        max_block = load(state, number + 1)
            here += LEN_SHORTEST_HEADER
            size = -1 if max_block == 0 else 0
            while size >= 0:
                if end - here < LEN_BLOCK_SIZE:
                    size = -1
                    break
                word = load_u4le(data, here)
                length = word & BLOCK_SIZE_MASK
                here += LEN_BLOCK_SIZE
                if length == 0:
                    break
                if length > end - here or length > max_block or used + size + max_block > room:
                    size = -1
                    break
                if word != length:
                    copy_bytes(target, used + size, data, here, length)
                    written = length
                else:
                    to = load(state, TARGET) + used + size
                    found = call(
                        load(state, FIRST), load(state, SOURCE) + here, to, length, max_block, 0, 0, 0
                    )
                    written = found & 0xFFFF_FFFF  # a C int: negative if the block is wrong
                if written > max_block:
                    size = -1
                    break
                size += written
                here += length
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
    """Return the values for the state of `loop`: the library's function, and headers with block sizes."""
    library = find_library("lz4.block", "_block")
    function = find_address(library, "LZ4_decompress_safe")
    if not function:
        return None
    words = [function, *(word for pair in plain_headers(magic) for word in pair)]
    return words, library
