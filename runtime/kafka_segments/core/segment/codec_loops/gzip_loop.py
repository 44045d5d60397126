"""Loop over gzip payloads, by libdeflate."""

from __future__ import annotations

from typing import Any

from kafka_segments.core.codecs.gzip import LEN_FIXED_HEADER, PLAIN_START
from kafka_segments.core.native.kernels import Bytes, Longs, call, load, load_u4le, store
from kafka_segments.core.segment.codec_loops.clibs import (
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

_CONSUMED, _WRITTEN = FIRST + 2, FIRST + 3  # words of the loop's state that the library writes to
_OFS_CONSUMED, _OFS_WRITTEN = (WORD * place for place in (_CONSUMED, _WRITTEN))


def loop_needs(_magic: int) -> tuple[list[int], Any] | None:
    """Return the values for the state of `loop`: the library's function, and a context."""
    library = find_library("deflate", "_deflate")
    function = find_address(library, "libdeflate_gzip_decompress_ex")
    create = find_function(library, "libdeflate_alloc_decompressor", VOID)
    free = find_function(library, "libdeflate_free_decompressor", None, VOID)
    if not function or create is None or free is None:
        return None
    context = create()
    return [function, context], Held(context, free)


def loop() -> Any:
    """Return the loop over ordinary payloads, see `loops`: one member without options, nothing after it."""

    def expand(data: Bytes, places: Longs, state: Longs) -> int:
        used, at = 0, load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            if end - here < LEN_FIXED_HEADER or load_u4le(data, here) != PLAIN_START:
                break
            to, room, source = (
                load(state, TARGET) + used,
                load(state, ROOM) - used,
                load(state, SOURCE) + here,
            )
            consumed, written = load(state, OWN) + _OFS_CONSUMED, load(state, OWN) + _OFS_WRITTEN
            status = call(
                load(state, FIRST), load(state, FIRST + 1), source, end - here, to, room, consumed, written
            )
            if status & 0xFFFF_FFFF != 0 or load(state, _CONSUMED) != end - here:
                break
            size = load(state, _WRITTEN)
            store(places, 2 * at, used)
            store(places, 2 * at + 1, used + size)
            used += size
            at += 1
        store(state, AT, at)
        store(state, USED, used)
        return at

    return expand
