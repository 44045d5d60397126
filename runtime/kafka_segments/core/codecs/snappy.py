"""Codec snappy (2): snappy-java's stream of blocks, or one bare block.

Java, kafka-python and aiokafka write the stream format of `org.xerial.snappy.SnappyOutputStream`; librdkafka
and Go clients one bare block. As in `SnappyInputStream` (1.1.10), data without the stream's magic is a bare
block; streams may be concatenated; fewer than four bytes after the last chunk are ignored. An invalid second
header is skipped after content, and ends the stream otherwise: SnappyInputStream reports an end there, but
continues at the next read, which Kafka does within a record. (For two in a row, or one at the end of a large
record, Kafka's result depends on its read sizes, which is not imitated.)

Of the two version numbers after the magic, the first one has to be at least 1 in a second header; others are
ignored (Redpanda wrote them in the other byte order until 2025, redpanda#25091).
"""

from __future__ import annotations

from collections.abc import Iterator

import cramjam
import snappy

from kafka_segments.core.codecs.bounds import BoundedOutput, malformed
from kafka_segments.core.codecs.literals import Steps, repeat

__all__ = [
    "CODEC",
    "ELEMENTS",
    "LEN_CHUNK_LENGTH",
    "LEN_STREAM_HEADER",
    "STREAM_NUMBER",
    "SnappyCodec",
    "iter_places",
    "steps",
]

# org.xerial.snappy.SnappyCodec: magic, then version and lowest compatible version, int32 each; then chunks:
# a big-endian int32 length and a block. No schema: this is snappy-java's container, not a format of Kafka's.
_STREAM_MAGIC = b"\x82SNAPPY\x00"
STREAM_NUMBER = int.from_bytes(_STREAM_MAGIC, "little", signed=True)  # as an integer
LEN_STREAM_HEADER = len(_STREAM_MAGIC) + 4 + 4
LEN_CHUNK_LENGTH = 4
_STREAM_VERSION = (1).to_bytes(4, "big")  # also the lowest compatible one
_STREAM_HEADER = _STREAM_MAGIC + 2 * _STREAM_VERSION
_LEN_JAVA_BLOCK = 32 << 10

# The densest element: a copy of three bytes for 64 bytes of output (snappy's format_description.txt).
_LARGEST_EXPANSION = 22

_LEN_SIZE = 5  # at most, of the size that a block begins with; cramjam reads longer ones


def _element(tag: int) -> tuple[int, int, int]:
    """Return what a tag says of its element (snappy's format_description.txt).

    Returns:
        The bytes of a little-endian number after the tag; the size; and how far back it is copied from, -1
        for a literal. The number is added to the size of a literal, else to the distance.
    """
    kind, upper = tag & 3, tag >> 2
    if kind == 0:
        return (0, upper + 1, -1) if upper < 60 else (upper - 59, 1, -1)
    if kind == 1:
        return 1, 4 + (upper & 7), upper >> 3 << 8
    return (2 if kind == 2 else 4), upper + 1, 0


ELEMENTS = tuple(map(_element, range(256)))
"""By tag; see `_element`."""


class SnappyCodec:
    """Codec by python-snappy 0.7; cramjam, on which that is built, reads the declared size of a block."""

    name = "snappy"
    errors = (snappy.UncompressError, cramjam.DecompressionError)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress a payload, as `kafka_segments.core.codecs.decompress` does."""
        output = BoundedOutput(self.name, max_size)
        for block in iter_blocks(data):
            self._decompress_block(block, output)
        return output.join()

    def compress(self, data: memoryview, level: int) -> bytes:  # noqa: ARG002 (snappy has none)
        """Write the stream of SnappyOutputStream, with its default block size; a bare header for no data."""
        parts = [_STREAM_HEADER]
        for start in range(0, len(data), _LEN_JAVA_BLOCK):
            block = bytes(cramjam.snappy.compress_raw(data[start : start + _LEN_JAVA_BLOCK]))
            parts += [len(block).to_bytes(LEN_CHUNK_LENGTH, "big"), block]
        return b"".join(parts)

    def _decompress_block(self, block: memoryview, output: BoundedOutput) -> None:
        if not block:  # accepted by cramjam, invalid in snappy's format and snappy-java
            raise malformed(self.name, "empty block")
        if _is_size_too_long(block):
            raise malformed(self.name, "the size of a block takes more than five bytes")
        size = cramjam.snappy.decompress_raw_len(block)
        if size > _LARGEST_EXPANSION * len(block):
            raise malformed(self.name, f"a block of {len(block)} bytes cannot hold the {size} it declares")
        output.reserve(size)
        plain = snappy.uncompress(block)
        assert isinstance(plain, bytes)  # not text: no encoding was asked for
        output.add(plain)


def _is_size_too_long(block: memoryview) -> bool:
    return block[0] >= 0x80 and len(block) > _LEN_SIZE and min(block[:_LEN_SIZE]) >= 0x80


def iter_blocks(data: memoryview) -> Iterator[memoryview]:
    """Yield the blocks of a stream, or one bare block.

    Raises:
        DecompressionError: an invalid container.
    """
    for start, size in iter_places(data):
        if not 0 <= size <= len(data) - start:
            raise malformed("snappy", f"chunk of {size} bytes, {len(data) - start} left")
        yield data[start : start + size]


def iter_places(data: memoryview) -> Iterator[tuple[int, int]]:
    """Yield position and declared size of each block; the size may be wrong.

    Raises:
        DecompressionError: the stream ends within a header, or a second header has a version below 1.
    """
    if not _is_stream_header(data):
        yield 0, len(data)
        return
    position, has_content = LEN_STREAM_HEADER, False
    while len(data) - position >= LEN_CHUNK_LENGTH:
        chunk_length = data[position : position + LEN_CHUNK_LENGTH]
        if chunk_length == _STREAM_MAGIC[:LEN_CHUNK_LENGTH]:
            if len(data) - position < LEN_STREAM_HEADER:
                raise malformed("snappy", "it ends within a stream header")
            if _is_stream_header(data[position:]):
                _check_version(data[position:])
            elif has_content:
                has_content = False
            else:
                return
            position += LEN_STREAM_HEADER
            continue
        size = int.from_bytes(chunk_length, "big", signed=True)
        position += LEN_CHUNK_LENGTH
        yield position, size
        # A block begins with the size of its content.
        has_content = has_content or any(data[position : position + 1])
        position += size


def steps(payload: bytes, _magic: int, content: bytearray) -> Steps:
    """Yield literal runs (see `literals`) of a bare block, or of chunks."""
    for start, size in iter_places(memoryview(payload)):
        if size <= 0:
            return
        yield from _block_steps(payload, start, min(start + size, len(payload)), content)


def _block_steps(payload: bytes, place: int, end: int, content: bytearray) -> Steps:
    """Yield the literal runs of a block, decoded by snappy's format_description.txt."""
    first, declared, shift = len(content), 0, 0
    while True:
        byte = payload[place]
        declared, shift, place = declared | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            break
    while place < end:
        width, size, distance = ELEMENTS[payload[place]]
        number = int.from_bytes(payload[place + 1 : place + 1 + width], "little")
        place += 1 + width
        if distance < 0:
            size = min(size + number, end - place)
            content += payload[place : place + size]
            yield place, size
            place += size
        else:
            repeat(content, distance + number, size, first)
        if len(content) - first > declared:
            raise malformed("snappy", "more than was declared")


def _is_stream_header(data: memoryview) -> bool:
    return len(data) >= LEN_STREAM_HEADER and data[: len(_STREAM_MAGIC)] == _STREAM_MAGIC


def _check_version(header: memoryview) -> None:
    end = len(_STREAM_MAGIC)
    version = int.from_bytes(header[end : end + len(_STREAM_VERSION)], "big", signed=True)
    if version < 1:
        raise malformed("snappy", f"a second stream of version {version}, and at least 1 is needed")


CODEC = SnappyCodec()
