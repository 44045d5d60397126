"""zstd (codec 4): frames one after the other, with or without a content size, skippable ones among them.

No bytes at all are an empty result, and a last frame that breaks off ends the stream silently if an earlier
frame ended within the same read of the source: so does Kafka's reader, zstd-jni's ZstdInputStream.

A frame may ask for a window of up to 128 MiB (the library's limit, and zstd-jni's). The window is reserved at
once but touched only as output fills it, so that memory in use stays within the bound.

Kafka has room for 16 KiB whenever a frame begins. One that claims no more, and that is whole in what Kafka
has read so far, the library decompresses in one go: then its window and the sizes of its blocks do not
matter, and the claim must be right. Of all others no block may be larger than the window (or 128 KiB), and
the library does not look at the claim before an empty last block.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import zstandard

from kafka_segments.codecs.batched import AT, COUNT, ENOUGH, FIRST, OWN, ROOM, SOURCE, TARGET, USED, WORD
from kafka_segments.codecs.bounded_output import BoundedOutput, malformed
from kafka_segments.codecs.clibs import INT, SIZE, VOID, Held, find_address, find_function, find_library
from kafka_segments.native.blocks import call
from kafka_segments_generated.columns._support import Bytes, Longs, load, load_u4le, store

__all__ = ["CODEC", "ZstdCodec", "loop", "loop_needs"]

# RFC 8878, section 3.1.1. No schema: it is Zstandard's container, not a format of Kafka's.
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_FRAME_NUMBER = int.from_bytes(_FRAME_MAGIC, "little")
_LEN_MAGIC = len(_FRAME_MAGIC)
_LEN_BLOCK_HEADER = 3
_RLE, _RESERVED = 1, 3  # types of blocks
_LEN_CHECKSUM = 4

# A run-length block, four bytes, yields up to 128 KiB; nothing in RFC 8878 yields more for a byte.
_LARGEST_EXPANSION = (128 << 10) // 4

_LEN_JAVA_ROOM = 16 << 10  # ZstdCompression.decompressionOutputSize

# ZstdInputStream reads its source in pieces of ZSTD_DStreamInSize.
_LEN_JAVA_READ = zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE


class ZstdCodec:
    """The zstd library, fed so slowly that no step can pass the bound by more than one block."""

    name = "zstd"
    errors = (zstandard.ZstdError,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """See `kafka_segments.codecs.decompress`."""
        output = BoundedOutput(self.name, max_size)
        position = 0
        while position < len(data):
            frame_position = position
            frame = zstandard.ZstdDecompressor().decompressobj()
            read = data[position : (position // _LEN_JAVA_READ + 1) * _LEN_JAVA_READ]
            # Without the whole frame before its eyes the library does not take it in one go.
            len_step = _len_at_once(read) or _LEN_MAGIC
            while not frame.eof:
                if position == len(data):
                    return self._end_within_frame(frame_position, len(data), output)
                step = data[position : position + len_step]
                output.add(frame.decompress(step))
                position += len(step)
                len_step = min(max(output.room // _LARGEST_EXPANSION, 1), _LEN_JAVA_READ)
            position -= len(frame.unused_data)
        return output.join()

    def compress(self, data: memoryview, level: int) -> bytes:
        """One frame with its content size; Kafka's own writer, which does not know the size yet, has none."""
        return _compressor(level).compress(data)

    def _end_within_frame(self, frame_position: int, len_data: int, output: BoundedOutput) -> bytes:
        """What there is, if Java takes the unfinished frame for the end of the stream; else an error."""
        last_read = (len_data - 1) // _LEN_JAVA_READ
        if frame_position == 0 or (frame_position - 1) // _LEN_JAVA_READ != last_read:
            raise malformed(self.name, "it ends within a frame")
        return output.join()


def _len_at_once(read: memoryview) -> int | None:
    """The length of a frame that the library decompresses in one go; None for all others."""
    try:
        parameters = zstandard.get_frame_parameters(read)
        position = zstandard.frame_header_size(read)
    except zstandard.ZstdError:
        return None  # too short, or no frame: decompressing says so
    if read[:_LEN_MAGIC] != _FRAME_MAGIC or parameters.content_size > _LEN_JAVA_ROOM:
        return None
    is_last = False
    while not is_last and position + _LEN_BLOCK_HEADER <= len(read):
        header = int.from_bytes(read[position : position + _LEN_BLOCK_HEADER], "little")
        is_last, kind, size = header & 1 == 1, header >> 1 & 3, header >> 3
        if kind == _RESERVED:
            return None
        position += _LEN_BLOCK_HEADER + (1 if kind == _RLE else size)
    position += _LEN_CHECKSUM if parameters.has_checksum else 0
    return position if is_last and position <= len(read) else None


class _Compressors(threading.local):
    """A thread's compressors: making one costs more than compressing a batch with it."""

    def __init__(self) -> None:
        self.of = lru_cache(maxsize=4)(lambda level: zstandard.ZstdCompressor(level=level))


_compressors = _Compressors()


def _compressor(level: int) -> zstandard.ZstdCompressor:
    return _compressors.of(level)


# What the loop has in its state: addresses of functions and contexts, and the two structures of buffers of
# which the library's streams are told: address, size, bytes done.
_WHOLE, _LEN_FRAME, _CLAIMED, _STREAM, _RESET, _CONTEXT, _STREAM_CONTEXT = range(FIRST, FIRST + 7)
_OUT, _IN = FIRST + 7, FIRST + 10
_SESSION = 1  # ZSTD_reset_session_only
_STABLE_OUTPUT = 1001  # ZSTD_d_stableOutBuffer: the output is one piece of memory, so nothing is copied


def _at_once(state: Longs, source: int, length: int, to: int, room: int) -> int:
    """One frame that claims little: the bytes of its content, or a number below 0."""
    if call(load(state, _LEN_FRAME), source, length, 0, 0, 0, 0, 0) != length:
        return -1
    return call(load(state, _WHOLE), load(state, _CONTEXT), to, room, source, length, 0, 0)


def _as_stream(state: Longs, source: int, length: int, to: int, room: int) -> int:
    """One frame as `ZstdCodec` reads it; the same is returned."""
    stream, context = load(state, _STREAM), load(state, _STREAM_CONTEXT)
    out, into = load(state, OWN) + WORD * _OUT, load(state, OWN) + WORD * _IN
    store(state, _OUT, to)
    store(state, _OUT + 1, room)
    store(state, _OUT + 2, 0)
    store(state, _IN, source)
    store(state, _IN + 1, _LEN_MAGIC)  # see `ZstdCodec`: else it may take the frame in one go
    store(state, _IN + 2, 0)
    call(load(state, _RESET), context, _SESSION, 0, 0, 0, 0, 0)
    left = call(stream, context, out, into, 0, 0, 0, 0)
    if left > 0:
        store(state, _IN + 1, length)
        left = call(stream, context, out, into, 0, 0, 0, 0)
    return load(state, _OUT + 2) if left == 0 and load(state, _IN + 2) == length else -1


def loop() -> Any:
    """Makes the loop over ordinary payloads, see `batched`: one frame, nothing behind it."""

    def expand(data: Bytes, places: Longs, state: Longs) -> int:
        used, at = 0, load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            source, length = load(state, SOURCE) + here, end - here
            to, room = load(state, TARGET) + used, load(state, ROOM) - used
            if length <= _LEN_MAGIC or load_u4le(data, here) != _FRAME_NUMBER:
                break
            claimed = call(load(state, _CLAIMED), source, length, 0, 0, 0, 0, 0)
            if 0 <= claimed <= _LEN_JAVA_ROOM and length <= _LEN_JAVA_READ:
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
    """What `loop` needs in its state: the library's functions, and contexts of its own."""
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


CODEC = ZstdCodec()
