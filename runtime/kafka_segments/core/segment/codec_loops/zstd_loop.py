"""Loop over zstd payloads, by libzstd."""

from __future__ import annotations

from typing import Any

from kafka_segments.core.codecs.zstd import FRAME_NUMBER, LEN_JAVA_READ, LEN_JAVA_ROOM, LEN_MAGIC
from kafka_segments.core.native.kernels import Bytes, Longs, call, load, load_u4le, store
from kafka_segments.core.segment.codec_loops.clibs import (
    INT,
    SIZE,
    VOID,
    Held,
    find_address,
    find_function,
    find_library,
)
from kafka_segments.core.segment.codec_loops.loops import (
    AT,
    COUNT,
    ENOUGH,
    FIRST,
    OWN,
    ROOM,
    SOURCE,
    TARGET,
    USED,
    WORD,
)

__all__ = ["loop", "loop_needs"]

# Slots of the loop's state: addresses of functions and contexts, and the two buffer structures of the
# library's streams: address, size, bytes done.
_WHOLE, _LEN_FRAME, _CLAIMED, _STREAM, _RESET, _CONTEXT, _STREAM_CONTEXT = range(FIRST, FIRST + 7)
_OUT, _IN = FIRST + 7, FIRST + 10
_SESSION = 1  # ZSTD_reset_session_only
_STABLE_OUTPUT = 1001  # ZSTD_d_stableOutBuffer: the output is one piece of memory, so nothing is copied


def _at_once(state: Longs, source: int, length: int, to: int, room: int) -> int:
    """Decompress a frame with a small content size; return its size, or a negative number."""
    if call(load(state, _LEN_FRAME), source, length, 0, 0, 0, 0, 0) != length:
        return -1
    return call(load(state, _WHOLE), load(state, _CONTEXT), to, room, source, length, 0, 0)


def _as_stream(state: Longs, source: int, length: int, to: int, room: int) -> int:
    """Decompress a frame as `ZstdCodec` does; return its size, or a negative number."""
    stream, context = load(state, _STREAM), load(state, _STREAM_CONTEXT)
    out, into = load(state, OWN) + WORD * _OUT, load(state, OWN) + WORD * _IN
    store(state, _OUT, to)
    store(state, _OUT + 1, room)
    store(state, _OUT + 2, 0)
    store(state, _IN, source)
    store(state, _IN + 1, LEN_MAGIC)  # see `ZstdCodec`: else it may take the frame in one go
    store(state, _IN + 2, 0)
    call(load(state, _RESET), context, _SESSION, 0, 0, 0, 0, 0)
    left = call(stream, context, out, into, 0, 0, 0, 0)
    if left > 0:
        store(state, _IN + 1, length)
        left = call(stream, context, out, into, 0, 0, 0, 0)
    return load(state, _OUT + 2) if left == 0 and load(state, _IN + 2) == length else -1


def loop() -> Any:
    """Return the loop over ordinary payloads, see `loops`: one frame, nothing after it."""

    def expand(data: Bytes, places: Longs, state: Longs) -> int:
        used, at = 0, load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            source, length = load(state, SOURCE) + here, end - here
            to, room = load(state, TARGET) + used, load(state, ROOM) - used
            if length <= LEN_MAGIC or load_u4le(data, here) != FRAME_NUMBER:
                break
            claimed = call(load(state, _CLAIMED), source, length, 0, 0, 0, 0, 0)
            if 0 <= claimed <= LEN_JAVA_ROOM and length <= LEN_JAVA_READ:
                size = _at_once(state, source, length, to, room)
            else:
                size = _as_stream(state, source, length, to, room)
            if size < 0:  # errors are the last numbers of a C size_t
                break
            store(places, 2 * at, used)
            store(places, 2 * at + 1, used + size)
            used += size
            at += 1
        store(state, AT, at)
        store(state, USED, used)
        return at

    return expand


def loop_needs(_magic: int) -> tuple[list[int], Any] | None:
    """Return the values for the state of `loop`: the library's functions, and contexts."""
    library = find_library("zstandard", "_cffi") or find_library("zstandard", "backend_c")
    names = (
        "decompressDCtx",
        "findFrameCompressedSize",
        "getFrameContentSize",
        "decompressStream",
        "DCtx_reset",
    )
    words = [find_address(library, f"ZSTD_{name}") for name in names]
    create = find_function(library, "ZSTD_createDCtx", VOID)
    free = find_function(library, "ZSTD_freeDCtx", SIZE, VOID)
    set_parameter = find_function(library, "ZSTD_DCtx_setParameter", SIZE, VOID, INT, INT)
    if not all(words) or create is None or free is None or set_parameter is None:
        return None
    contexts = [Held(create(), free), Held(create(), free)]
    if set_parameter(contexts[1].context, _STABLE_OUTPUT, 1) != 0:
        return None
    return [*words, *(one.context for one in contexts)], contexts
