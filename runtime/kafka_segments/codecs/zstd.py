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

import zstandard

from kafka_segments.codecs.bounds import BoundedOutput, malformed

__all__ = ["CODEC", "FRAME_MAGIC", "FRAME_NUMBER", "LEN_JAVA_READ", "LEN_JAVA_ROOM", "LEN_MAGIC", "ZstdCodec"]

# RFC 8878, section 3.1.1. No schema: it is Zstandard's container, not a format of Kafka's.
FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
FRAME_NUMBER = int.from_bytes(FRAME_MAGIC, "little")
LEN_MAGIC = len(FRAME_MAGIC)
_LEN_BLOCK_HEADER = 3
_RLE, _RESERVED = 1, 3  # types of blocks
_LEN_CHECKSUM = 4

# A run-length block, four bytes, yields up to 128 KiB; nothing in RFC 8878 yields more for a byte.
_LARGEST_EXPANSION = (128 << 10) // 4

LEN_JAVA_ROOM = 16 << 10  # ZstdCompression.decompressionOutputSize

# ZstdInputStream reads its source in pieces of ZSTD_DStreamInSize.
LEN_JAVA_READ = zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE


class ZstdCodec:
    """The zstd library, fed so slowly that no step can pass the bound by more than one block."""

    name = "zstd"
    errors = (zstandard.ZstdError,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress a payload, as `kafka_segments.codecs.decompress` does."""
        output = BoundedOutput(self.name, max_size)
        position = 0
        while position < len(data):
            frame_position = position
            frame = zstandard.ZstdDecompressor().decompressobj()
            read = data[position : (position // LEN_JAVA_READ + 1) * LEN_JAVA_READ]
            # Without the whole frame before its eyes the library does not take it in one go.
            len_step = _len_at_once(read) or LEN_MAGIC
            while not frame.eof:
                if position == len(data):
                    return self._end_within_frame(frame_position, len(data), output)
                step = data[position : position + len_step]
                output.add(frame.decompress(step))
                position += len(step)
                len_step = min(max(output.room // _LARGEST_EXPANSION, 1), LEN_JAVA_READ)
            position -= len(frame.unused_data)
        return output.join()

    def compress(self, data: memoryview, level: int) -> bytes:
        """One frame with its content size; Kafka's own writer, which does not know the size yet, has none."""
        return _compressor(level).compress(data)

    def _end_within_frame(self, frame_position: int, len_data: int, output: BoundedOutput) -> bytes:
        """What there is, if Java takes the unfinished frame for the end of the stream; else an error."""
        last_read = (len_data - 1) // LEN_JAVA_READ
        if frame_position == 0 or (frame_position - 1) // LEN_JAVA_READ != last_read:
            raise malformed(self.name, "it ends within a frame")
        return output.join()


def _len_at_once(read: memoryview) -> int | None:
    """The length of a frame that the library decompresses in one go; None for all others."""
    try:
        parameters = zstandard.get_frame_parameters(read)
        position = zstandard.frame_header_size(read)
    except zstandard.ZstdError:
        return None  # too short, or no frame: decompressing says so
    if read[:LEN_MAGIC] != FRAME_MAGIC or parameters.content_size > LEN_JAVA_ROOM:
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


CODEC = ZstdCodec()
