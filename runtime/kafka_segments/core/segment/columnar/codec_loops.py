"""Decompression of many ordinary payloads of one codec with one call.

Strategy: the extension modules of lz4, zstandard and deflate export the functions of the C libraries that
they contain. A compiled loop calls them by address, without importing the modules, so that Python does
nothing for each payload. It stops before the first payload that is not ordinary, does not fit, or is invalid;
that one is decompressed by the codec's module, and the loop continues after it.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from kafka_segments.core.codecs.gzip import LEN_FIXED_HEADER, PLAIN_START
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import (
    Bytes,
    Longs,
    address,
    call,
    copy_bytes,
    length,
    load,
    load_s4be,
    load_u4le,
    load_u8le,
    store,
)
from kafka_segments.core.segment.columnar.codec_libraries import (
    VOID,
    Held,
    address_in,
    function_in,
    library_of,
)
from kafka_segments.core.segment.columnar.snappy_blocks import content_of, expand_blocks, table_of

__all__ = ["Loop", "expander", "new_loop"]

# Slots of the loop's state: the codec; bytes that are enough for one call; the bytes of the target that are
# used, and which payload is next; from FIRST on values of the codec: addresses of functions and contexts,
# numbers of its container, what the functions write to.
CODEC, ENOUGH, USED, NEXT, FIRST = range(5)
_WORD = 8  # bytes of a slot
_GZIP, _SNAPPY, _LZ4, _ZSTD = range(4)  # codecs

# Of gzip: a function and a context; two words to write to.
_CONSUMED, _WRITTEN = FIRST + 2, FIRST + 3
# Of snappy: the magic of a stream, the size of its header, that of a chunk's size; the table of elements.
_MAGIC, _LEN_STREAM_HEADER, _LEN_CHUNK_SIZE = range(FIRST, FIRST + 3)
# Of lz4: two functions; sizes of a header and of the size of a block, which has a mask; where the last header
# of a frame ends, and the headers, each with the greatest size of a block and that of its checksum.
_HASH, _LEN_HEADER, _LEN_SIZE, _SIZE_MASK, _END_OF_HEADERS, _HEADERS = range(FIRST + 1, FIRST + 7)
# Of zstd: functions and contexts; the two buffer structures of its streams: address, size, bytes done.
_WHOLE, _LEN_FRAME, _CLAIMED, _STREAM, _RESET, _CONTEXT, _STREAM_CONTEXT = range(FIRST, FIRST + 7)
_FRAME_NUMBER, _LEN_MAGIC, _LEN_JAVA_ROOM, _LEN_JAVA_READ = range(FIRST + 7, FIRST + 11)
_OUT, _IN = FIRST + 11, FIRST + 14
_SESSION = 1  # ZSTD_reset_session_only
_STABLE_OUTPUT = 1001  # ZSTD_d_stableOutBuffer: the output is one piece of memory, so nothing is copied


def expand_gzip(data: Bytes, target: Bytes, state: Longs, here: int, end: int, used: int) -> int:  # noqa: PLR0917
    """Decompress one member without options, with nothing after it; return its size, -1 for others."""
    if end - here < LEN_FIXED_HEADER or load_u4le(data, here) != PLAIN_START:
        return -1
    consumed, written = address(state) + _WORD * _CONSUMED, address(state) + _WORD * _WRITTEN
    to, room, source = address(target) + used, length(target) - used, address(data) + here
    status = call(load(state, FIRST), load(state, FIRST + 1), source, end - here, to, room, consumed, written)
    is_whole = status & 0xFFFF_FFFF == 0 and load(state, _CONSUMED) == end - here
    return load(state, _WRITTEN) if is_whole else -1


def next_block(  # noqa: PLR0917
    data: Bytes, places: Longs, target: Bytes, state: Longs, at: int, here: int, to: int
) -> tuple[int, int, int]:
    """Find a block of snappy: a bare one, or a chunk of a stream.

    Args:
        data: the bytes that hold the payloads.
        places: where these begin and end.
        target: memory for their contents.
        state: of the loop.
        at: the number of the payload.
        here: where the block before it ends, if that is of the same stream, else -1.
        to: where the content begins in `target`.

    Returns:
        Where the elements begin and end, and where the content ends; -1 first if there is no such block.
    """
    if 2 * at >= length(places):
        return -1, 0, to
    end = load(places, 2 * at + 1)
    is_stream = here >= 0
    if not is_stream:
        here, len_header = load(places, 2 * at), load(state, _LEN_STREAM_HEADER)
        is_stream = end - here >= len_header and load_u8le(data, here) == load(state, _MAGIC)
        here += len_header * is_stream
    if is_stream:
        chunk, room = here + load(state, _LEN_CHUNK_SIZE), end
        end = chunk + load_s4be(data, here) if chunk <= room else -1
        here = chunk
        if not here <= end <= room:
            return -1, 0, to
    size, elements = content_of(data, here, end)
    return elements if 0 <= size <= length(target) - to else -1, end, to + size


def behind(places: Longs, at: int, end: int) -> tuple[int, int]:
    """Return the payload of the next block, and where this block ends if it is of the same one, else -1."""
    return (at + 1, -1) if end == load(places, 2 * at + 1) else (at, end)


def expand_snappy(data: Bytes, places: Longs, target: Bytes, state: Longs) -> int:
    """Decompress payloads of a bare block, or of one header and whole chunks: two blocks at a time.

    The CPU waits for one element before it knows where the next begins, and has time for two blocks.
    """
    used, at = load(state, USED), load(state, NEXT)
    enough = used + load(state, ENOUGH)
    here, to = -1, used
    while here >= 0 or to < enough:
        one, one_end, middle = next_block(data, places, target, state, at, here, to)
        if one < 0:
            break
        following, here = behind(places, at, one_end)
        two, two_end, limit = -1, 0, middle
        if here >= 0 or middle < enough:
            two, two_end, limit = next_block(data, places, target, state, following, here, middle)
        last = following
        if two >= 0:
            last, here = behind(places, following, two_end)
        else:
            two, two_end = 0, 0
        num_right = expand_blocks(data, target, state, one, one_end, to, two, two_end, middle, limit)
        if num_right > 0 and following > at:
            used, at = put(places, at, used, middle), following
        if num_right > 1 and last > following:
            used, at = put(places, following, used, limit), last
        if num_right < 2:
            break
        to = limit
    store(state, USED, used)
    return at


def put(places: Longs, at: int, begin: int, end: int) -> int:
    """Store where the content of a payload begins and ends; return its end."""
    store(places, 2 * at, begin)
    store(places, 2 * at + 1, end)
    return end


def find_header(state: Longs, header: int) -> int:
    """Return where a frame header stands in the state; 0 if it is not one of `plain_headers`."""
    for number in range(_HEADERS, load(state, _END_OF_HEADERS), 3):
        if load(state, number) == header:
            return number
    return 0


def expand_lz4_block(  # noqa: PLR0917
    data: Bytes, target: Bytes, state: Longs, here: int, size: int, to: int, most: int
) -> int:
    """Write a block's content to a place in `target`; return its size, negative if the block is wrong.

    Args:
        data: the bytes that hold the payloads.
        target: memory for their contents.
        state: of the loop.
        here: where the block begins in `data`.
        size: of the block; with the top bit set if it is stored.
        to: where the content begins in `target`.
        most: bytes that a block's content may have.
    """
    len_block = size & load(state, _SIZE_MASK)
    if size != len_block:
        copy_bytes(target, to, data, here, len_block)
        return len_block
    source, place = address(data) + here, address(target) + to
    # A C int: negative if the block is wrong.
    written = call(load(state, FIRST), source, place, len_block, most, 0, 0, 0) & 0xFFFF_FFFF
    return written if written <= most else -1


def is_right(data: Bytes, state: Longs, here: int, end: int, len_checksum: int) -> bool:
    """Return whether a block from `here` to `end` has the checksum after it, if there is to be one."""
    if len_checksum == 0:
        return True
    computed = call(load(state, _HASH), address(data) + here, end - here, 0, 0, 0, 0, 0) & 0xFFFF_FFFF
    return computed == load_u4le(data, end)


def expand_lz4(data: Bytes, target: Bytes, state: Longs, here: int, end: int, used: int) -> int:  # noqa: PLR0917
    """Decompress a frame with one of `plain_headers`; return its size, -1 for others."""
    room, len_header, len_size = length(target), load(state, _LEN_HEADER), load(state, _LEN_SIZE)
    number = size = 0
    if end - here >= len_header + len_size:
        number = find_header(state, load_u8le(data, here) & ((1 << 8 * len_header) - 1))
    if number == 0:
        return -1
    max_block, len_checksum = load(state, number + 1), load(state, number + 2)
    here += len_header
    while end - here >= len_size:
        word = load_u4le(data, here)
        len_block = word & load(state, _SIZE_MASK)
        here += len_size
        if len_block == 0:
            return size
        if len_block > min(end - here - len_checksum, max_block) or used + size + max_block > room:
            return -1
        written = expand_lz4_block(data, target, state, here, word, used + size, max_block)
        if written < 0 or not is_right(data, state, here, here + len_block, len_checksum):
            return -1
        size += written
        here += len_block + len_checksum
        if written == 0:  # the end for Kafka, see `codecs.lz4.iter_blocks`
            return size
    return -1


def expand_whole(state: Longs, source: int, len_frame: int, to: int, room: int) -> int:
    """Decompress a zstd frame with a small content size; return its size, or a negative number."""
    if call(load(state, _LEN_FRAME), source, len_frame, 0, 0, 0, 0, 0) != len_frame:
        return -1
    return call(load(state, _WHOLE), load(state, _CONTEXT), to, room, source, len_frame, 0, 0)


def expand_stream(state: Longs, source: int, len_frame: int, to: int, room: int) -> int:
    """Decompress a zstd frame as `ZstdCodec` does; return its size, or a negative number."""
    stream, context = load(state, _STREAM), load(state, _STREAM_CONTEXT)
    out, into = address(state) + _WORD * _OUT, address(state) + _WORD * _IN
    store(state, _OUT, to)
    store(state, _OUT + 1, room)
    store(state, _OUT + 2, 0)
    store(state, _IN, source)
    store(state, _IN + 1, load(state, _LEN_MAGIC))  # see `ZstdCodec`: else it may take the frame in one go
    store(state, _IN + 2, 0)
    call(load(state, _RESET), context, _SESSION, 0, 0, 0, 0, 0)
    left = call(stream, context, out, into, 0, 0, 0, 0)
    if left > 0:
        store(state, _IN + 1, len_frame)
        left = call(stream, context, out, into, 0, 0, 0, 0)
    return load(state, _OUT + 2) if left == 0 and load(state, _IN + 2) == len_frame else -1


def expand_zstd(data: Bytes, target: Bytes, state: Longs, here: int, end: int, used: int) -> int:  # noqa: PLR0917
    """Decompress one frame, with nothing after it; return its size, or a negative number."""
    source, len_frame = address(data) + here, end - here
    to, room = address(target) + used, length(target) - used
    if len_frame <= load(state, _LEN_MAGIC) or load_u4le(data, here) != load(state, _FRAME_NUMBER):
        return -1
    claimed = call(load(state, _CLAIMED), source, len_frame, 0, 0, 0, 0, 0)
    if 0 <= claimed <= load(state, _LEN_JAVA_ROOM) and len_frame <= load(state, _LEN_JAVA_READ):
        return expand_whole(state, source, len_frame, to, room)
    return expand_stream(state, source, len_frame, to, room)  # errors are the last numbers of a C size_t


def expander() -> Callable[..., int]:
    """Return the loop over ordinary payloads; it returns which payload is the next one then."""

    def expand(data: Bytes, places: Longs, target: Bytes, state: Longs) -> int:
        if load(state, CODEC) == _SNAPPY:
            return expand_snappy(data, places, target, state)
        used, at = load(state, USED), load(state, NEXT)
        enough = used + load(state, ENOUGH)
        while 2 * at < length(places) and used < enough:
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            if load(state, CODEC) == _GZIP:
                size = expand_gzip(data, target, state, here, end, used)
            elif load(state, CODEC) == _LZ4:
                size = expand_lz4(data, target, state, here, end, used)
            else:
                size = expand_zstd(data, target, state, here, end, used)
            if size < 0:
                break
            used = put(places, at, used, used + size)
            at += 1
        store(state, USED, used)
        return at

    return expand


class Loop:
    """The loop with one codec, for one thread.

    Args:
        codec: number of the codec in the loop.
        needs: values for the loop's state, and an object that must stay alive.

    Attributes:
        state: of the loop.
        entry: addresses of its code and of its arguments.
    """

    def __init__(self, codec: int, needs: tuple[Sequence[int], Any]) -> None:
        self._kept = needs[1]
        self.state = memoryview(array("q", [codec, 0, 0, 0, *needs[0]]))
        self._run = Compiled(expander)
        self._run.set("state", self.state)
        self.entry = self._run.entry

    def expand(self, source: memoryview, places: Any, target: memoryview, enough: int) -> tuple[int, int]:
        """Decompress payloads one after the other.

        Args:
            source: the bytes that hold the payloads.
            places: pairs of 64-bit numbers, begin and end of each payload in `source`; for those that are
                done, replaced by begin and end of the content in `target`.
            target: the memory to write to.
            enough: bytes to stop at.

        Returns:
            The number of payloads done, and the bytes written.
        """
        self.prepare(source, places, target, enough)
        return self._run(), self.state[USED]

    def prepare(self, source: memoryview, places: Any, target: memoryview, enough: int) -> None:
        """Set what the loop is to decompress, for a caller with a loop around it; see `expand`."""
        for name, memory in (("data", source), ("places", places), ("target", target)):
            self._run.set(name, memory)
        self.state[ENOUGH], self.state[USED], self.state[NEXT] = enough, 0, 0


def new_loop(name: str, magic: int = 2) -> Loop | None:
    """Return the loop of a codec by Kafka's name; None if it has none, or its library is not installed."""
    found = _LOOPS.get(name)
    try:
        needs = found[1](magic) if found else None
    except ImportError:  # the codec reports the missing package
        return None
    return Loop(found[0], needs) if found and needs else None


_Needs = tuple[list[int], Any]


def _gzip_needs(_magic: int) -> _Needs | None:
    library = library_of("deflate", "_deflate")
    function = address_in(library, "libdeflate_gzip_decompress_ex")
    create = function_in(library, "libdeflate_alloc_decompressor", VOID)
    free = function_in(library, "libdeflate_free_decompressor", None, VOID)
    if not function or create is None or free is None:
        return None
    context = create()
    return [function, context, 0, 0], Held(context, free)


def _snappy_needs(_magic: int) -> _Needs:
    from kafka_segments.core.codecs import snappy

    container = snappy.STREAM_NUMBER, snappy.LEN_STREAM_HEADER, snappy.LEN_CHUNK_LENGTH
    return [*container, *table_of(snappy.ELEMENTS)], None


def _lz4_needs(magic: int) -> _Needs | None:
    from kafka_segments.core.codecs import lz4

    library, frames = library_of("lz4.block", "_block"), library_of("lz4.frame", "_frame")
    function, checksum = address_in(library, "LZ4_decompress_safe"), address_in(frames, "XXH32")
    if not function:
        return None
    headers = [one for one in lz4.plain_headers(magic) if checksum or not one[2]]
    words = [word for header in headers for word in header]
    sizes = lz4.LEN_SHORTEST_HEADER, lz4.LEN_BLOCK_SIZE, lz4.BLOCK_SIZE_MASK
    return [function, checksum, *sizes, _HEADERS + len(words), *words], (library, frames)


def _zstd_needs(_magic: int) -> _Needs | None:
    from kafka_segments.core.codecs import zstd

    library = library_of("zstandard", "_cffi") or library_of("zstandard", "backend_c")
    names = "decompressDCtx findFrameCompressedSize getFrameContentSize decompressStream DCtx_reset"
    words = [address_in(library, f"ZSTD_{name}") for name in names.split()]
    create = function_in(library, "ZSTD_createDCtx", VOID)
    free = function_in(library, "ZSTD_freeDCtx", ctypes.c_size_t, VOID)
    option = ctypes.c_size_t, VOID, ctypes.c_int, ctypes.c_int
    set_parameter = function_in(library, "ZSTD_DCtx_setParameter", *option)
    if not all(words) or create is None or free is None or set_parameter is None:
        return None
    contexts = [Held(create(), free), Held(create(), free)]
    if set_parameter(contexts[1].context, _STABLE_OUTPUT, 1) != 0:
        return None
    numbers = zstd.FRAME_NUMBER, zstd.LEN_MAGIC, zstd.LEN_JAVA_ROOM, zstd.LEN_JAVA_READ
    return [*words, *(one.context for one in contexts), *numbers, *[0] * 6], contexts


_LOOPS: dict[str, tuple[int, Callable[[int], _Needs | None]]] = {
    "gzip": (_GZIP, _gzip_needs),
    "snappy": (_SNAPPY, _snappy_needs),
    "lz4": (_LZ4, _lz4_needs),
    "zstd": (_ZSTD, _zstd_needs),
}
