"""zstd (codec 4): frames one after the other, with or without a content size, skippable ones among them.

No bytes at all are an empty result, and a last frame that breaks off ends the stream silently if an earlier
frame ended within the same read of the source: so does Kafka's reader, zstd-jni's ZstdInputStream.

A frame may ask for a window of up to 128 MiB (the library's limit, and zstd-jni's). The window is reserved at
once but touched only as output fills it, so that memory in use stays within the bound.
"""

from __future__ import annotations

import zstandard

from kafka_segments.compression.output import BoundedOutput, malformed

__all__ = ["CODEC", "LARGEST_WINDOW", "ZstdCodec", "has_plain_window"]

LARGEST_WINDOW = 1 << 27
"""The library's limit, and zstd-jni's, for readers of streams; a reader with all of the output has none."""

# RFC 8878, section 3.1.1. No schema: it is Zstandard's container, not a format of Kafka's.
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_OFS_DESCRIPTOR, _OFS_WINDOW = 4, 5
_SINGLE_SEGMENT = 0b0010_0000
_WINDOW_EXPONENT_SHIFT = 3
_PLAIN_WINDOW_EXPONENTS = range(16)  # up to 2^25 * 1.875

# A run-length block, four bytes, yields up to 128 KiB; nothing in RFC 8878 yields more for a byte.
_LARGEST_EXPANSION = (128 << 10) // 4

# ZstdInputStream reads its source in pieces of ZSTD_DStreamInSize.
_LEN_JAVA_READ = zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE


class ZstdCodec:
    """The zstd library, fed so slowly that no step can pass the bound by more than one block."""

    name = "zstd"
    errors = (zstandard.ZstdError,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """See `kafka_segments.compression.decompress`."""
        output = BoundedOutput(self.name, max_size)
        decompressor = zstandard.ZstdDecompressor()
        position = 0
        while position < len(data):
            frame = decompressor.decompressobj()
            frame_position = position
            while not frame.eof:
                if position == len(data):
                    return self._end_within_frame(frame_position, len(data), output)
                len_step = min(max(output.room // _LARGEST_EXPANSION, 1), _LEN_JAVA_READ)
                step = data[position : position + len_step]
                output.add(frame.decompress(step))
                position += len(step)
            position -= len(frame.unused_data)
        return output.join()

    def _end_within_frame(self, frame_position: int, len_data: int, output: BoundedOutput) -> bytes:
        """What there is, if Java takes the unfinished frame for the end of the stream; else an error."""
        last_read = (len_data - 1) // _LEN_JAVA_READ
        if frame_position == 0 or (frame_position - 1) // _LEN_JAVA_READ != last_read:
            raise malformed(self.name, "it ends within a frame")
        return output.join()


def has_plain_window(data: memoryview) -> bool:
    """Whether it begins with a frame whose window is surely not too large, or as large as its content."""
    if len(data) <= _OFS_WINDOW or data[: len(_FRAME_MAGIC)] != _FRAME_MAGIC:
        return False
    if data[_OFS_DESCRIPTOR] & _SINGLE_SEGMENT:
        return True
    return data[_OFS_WINDOW] >> _WINDOW_EXPONENT_SHIFT in _PLAIN_WINDOW_EXPONENTS


CODEC = ZstdCodec()
