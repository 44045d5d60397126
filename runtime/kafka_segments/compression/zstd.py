"""zstd (codec 4): frames one after the other, with or without a content size, skippable ones among them.

No bytes at all are an empty result, and a last frame that breaks off ends the stream silently if an earlier
frame ended within the same read of the source: so does Kafka's reader, zstd-jni's ZstdInputStream.

A frame may ask for a window of up to 128 MiB (the library's limit, and zstd-jni's). The window is reserved at
once but touched only as output fills it, so that memory in use stays within the bound.

Kafka has room for 16 KiB whenever a frame begins. The library decompresses one that claims no more in one go:
then any window will do, and the claim must be right; else it does not look at it before an empty last block.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import zstandard

from kafka_segments.compression.libraries import SIZE, VOID, Held, find_address, find_function, find_library
from kafka_segments.compression.loops import AT, COUNT, ENOUGH, FIRST, ROOM, SOURCE, TARGET, USED
from kafka_segments.compression.output import BoundedOutput, malformed
from kafka_segments.native.blocks import call
from kafka_segments_generated.columns._support import Bytes, Longs, load, load_u1, load_u4le, store

__all__ = ["CODEC", "LARGEST_WINDOW", "ZstdCodec", "loop", "loop_needs"]

LARGEST_WINDOW = 1 << 27
"""The library's limit, and zstd-jni's, for readers of streams; a reader with all of the output has none."""

# RFC 8878, section 3.1.1. No schema: it is Zstandard's container, not a format of Kafka's.
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_FRAME_NUMBER = int.from_bytes(_FRAME_MAGIC, "little")
_OFS_DESCRIPTOR, _OFS_WINDOW = 4, 5
_SINGLE_SEGMENT = 0b0010_0000
_WINDOW_EXPONENT_SHIFT = 3
_LARGEST_PLAIN_EXPONENT = 15  # a window of 2^25 * 1.875 at most

# A run-length block, four bytes, yields up to 128 KiB; nothing in RFC 8878 yields more for a byte.
_LARGEST_EXPANSION = (128 << 10) // 4

_LEN_JAVA_ROOM = 16 << 10  # ZstdCompression.decompressionOutputSize
_ANY_WINDOW = 1 << 31  # what is said of windows; the memory for it follows from the claim

# ZstdInputStream reads its source in pieces of ZSTD_DStreamInSize.
_LEN_JAVA_READ = zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE


class ZstdCodec:
    """The zstd library, fed so slowly that no step can pass the bound by more than one block."""

    name = "zstd"
    errors = (zstandard.ZstdError,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """See `kafka_segments.compression.decompress`."""
        output = BoundedOutput(self.name, max_size)
        position = 0
        while position < len(data):
            frame_position, size_before = position, output.size
            claimed = _claimed_size(data[position:])
            window = 0 if claimed is None else _ANY_WINDOW
            frame = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
            # Without the whole frame before its eyes the library does not take it in one go.
            len_step = len(_FRAME_MAGIC)
            while not frame.eof:
                if position == len(data):
                    return self._end_within_frame(frame_position, len(data), output)
                step = data[position : position + len_step]
                output.add(frame.decompress(step))
                position += len(step)
                len_step = min(max(output.room // _LARGEST_EXPANSION, 1), _LEN_JAVA_READ)
            position -= len(frame.unused_data)
            if claimed not in (None, output.size - size_before):
                raise malformed(self.name, f"a frame has not the {claimed} bytes of content that it claims")
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


def _claimed_size(frame: memoryview) -> int | None:
    """The size of content that a frame claims, where Kafka has so much room; None for all others."""
    if frame[: len(_FRAME_MAGIC)] != _FRAME_MAGIC:
        return None
    try:
        size: int = zstandard.get_frame_parameters(frame).content_size
    except zstandard.ZstdError:
        return None  # too short, or no frame: decompressing says so
    return size if size <= _LEN_JAVA_ROOM else None


class _Compressors(threading.local):
    """A thread's compressors: making one costs more than compressing a batch with it."""

    def __init__(self) -> None:
        self.of = lru_cache(maxsize=4)(lambda level: zstandard.ZstdCompressor(level=level))


_compressors = _Compressors()


def _compressor(level: int) -> zstandard.ZstdCompressor:
    return _compressors.of(level)


def loop() -> Any:
    """Makes the loop over ordinary payloads, see `loops`: one frame, a plain window, nothing behind it."""

    def expand(data: Bytes, places: Longs, state: Longs) -> int:
        used, at = 0, load(state, AT)
        while at < load(state, COUNT) and used < load(state, ENOUGH):
            here, end = load(places, 2 * at), load(places, 2 * at + 1)
            if end - here <= _OFS_WINDOW or load_u4le(data, here) != _FRAME_NUMBER:
                break
            exponent = load_u1(data, here + _OFS_WINDOW) >> _WINDOW_EXPONENT_SHIFT
            is_single = load_u1(data, here + _OFS_DESCRIPTOR) & _SINGLE_SEGMENT != 0
            if exponent > _LARGEST_PLAIN_EXPONENT and not is_single:
                break
            source = load(state, SOURCE) + here
            if call(load(state, FIRST + 1), source, end - here, 0, 0, 0, 0, 0) != end - here:
                break
            to, room = load(state, TARGET) + used, load(state, ROOM) - used
            len_source, context = end - here, load(state, FIRST + 2)
            size = call(load(state, FIRST), context, to, room, source, len_source, 0, 0)
            if size < 0 or size > LARGEST_WINDOW:  # errors are the last numbers of a C size_t
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
    """What `loop` needs in its state: the library's functions, and a context of its own."""
    library = find_library("zstandard", "_cffi") or find_library("zstandard", "backend_c")
    names = "ZSTD_decompressDCtx", "ZSTD_findFrameCompressedSize"
    words = [find_address(library, name) for name in names]
    create = find_function(library, "ZSTD_createDCtx", VOID)
    free = find_function(library, "ZSTD_freeDCtx", SIZE, VOID)
    if not all(words) or create is None or free is None:
        return None
    context = create()
    return [*words, context], Held(context, free)


CODEC = ZstdCodec()
