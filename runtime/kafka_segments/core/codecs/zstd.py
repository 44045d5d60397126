"""Codec zstd (4): consecutive frames, with or without a content size, also skippable ones.

As in Kafka's reader (ZstdInputStream of zstd-jni), an empty payload has an empty result, and a truncated last
frame ends the stream silently if an earlier frame ended within the same read of the source.

A frame may have a window of up to 128 MiB (the limit of the library and of zstd-jni). The window is allocated
at once but touched only as output fills it, so that memory in use stays within the bound.

Kafka has an output buffer of 16 KiB whenever a frame begins. A frame with no greater content size that is
complete in Kafka's input buffer is decompressed in one call: its window and block sizes do not matter, and
the content size must be right. In other frames, no block may be larger than the window (or 128 KiB), and the
library checks the content size only at a last block that is not empty.
"""

from __future__ import annotations

import threading
from functools import lru_cache

import zstandard

from kafka_segments.core.codecs.bounds import BoundedOutput, malformed

__all__ = ["CODEC", "FRAME_NUMBER", "LEN_JAVA_READ", "LEN_JAVA_ROOM", "LEN_MAGIC", "ZstdCodec"]

# RFC 8878, section 3.1.1. No schema: it is Zstandard's container, not a format of Kafka's.
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
FRAME_NUMBER = int.from_bytes(_FRAME_MAGIC, "little")
LEN_MAGIC = len(_FRAME_MAGIC)
_LEN_BLOCK_HEADER = 3
_RLE, _RESERVED = 1, 3  # types of blocks
_LEN_CHECKSUM = 4

# A run-length block of four bytes yields up to 128 KiB, the most for a byte in RFC 8878.
_LARGEST_EXPANSION = (128 << 10) // 4

LEN_JAVA_ROOM = 16 << 10  # ZstdCompression.decompressionOutputSize

# ZstdInputStream reads its source in steps of ZSTD_DStreamInSize.
LEN_JAVA_READ = zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE


class ZstdCodec:
    """Codec by the zstd library, in steps that exceed the bound by one block at most."""

    name = "zstd"
    errors = (zstandard.ZstdError,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress a payload, as `kafka_segments.core.codecs.decompress` does."""
        output = BoundedOutput(self.name, max_size)
        position = 0
        while position < len(data):
            frame_position = position
            frame = zstandard.ZstdDecompressor().decompressobj()
            read = data[position : (position // LEN_JAVA_READ + 1) * LEN_JAVA_READ]
            # The library needs the whole frame to decompress it in one call.
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
        """Write one frame with its content size, which Kafka's streaming writer does not know."""
        return _compressor(level).compress(data)

    def _end_within_frame(self, frame_position: int, len_data: int, output: BoundedOutput) -> bytes:
        """Return the output where Java takes a truncated frame for the end of the stream; else raise."""
        last_read = (len_data - 1) // LEN_JAVA_READ
        if frame_position == 0 or (frame_position - 1) // LEN_JAVA_READ != last_read:
            raise malformed(self.name, "it ends within a frame")
        return output.join()


def _len_at_once(read: memoryview) -> int | None:
    """Length of a frame that the library decompresses in one call; None for others."""
    try:
        parameters = zstandard.get_frame_parameters(read)
        position = zstandard.frame_header_size(read)
    except zstandard.ZstdError:
        return None  # too short, or no frame: reported by decompressing
    if read[:LEN_MAGIC] != _FRAME_MAGIC or parameters.content_size > LEN_JAVA_ROOM:
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
    """Compressors of a thread: creating one costs more than compressing a batch with it."""

    def __init__(self) -> None:
        self.of = lru_cache(maxsize=4)(lambda level: zstandard.ZstdCompressor(level=level))


_compressors = _Compressors()


def _compressor(level: int) -> zstandard.ZstdCompressor:
    return _compressors.of(level)


CODEC = ZstdCodec()
