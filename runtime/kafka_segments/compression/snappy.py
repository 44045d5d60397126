"""snappy (codec 2): snappy-java's stream of blocks, or one bare block.

Java, kafka-python and aiokafka write the stream format of `org.xerial.snappy.SnappyOutputStream`; librdkafka
and Go clients one bare block. As in `SnappyInputStream` (1.1.10), whatever does not begin with the stream's
magic is a bare block; streams may follow each other; fewer than four bytes after the last chunk are ignored,
and so is everything from a second header that is not one.

More lenient than snappy-java: the two version numbers after the magic are not looked at (Redpanda wrote them
in the other byte order until 2025, redpanda#25091).
"""

from __future__ import annotations

from collections.abc import Iterator

import cramjam
import snappy

from kafka_segments.compression.output import BoundedOutput, malformed

__all__ = ["CODEC", "SnappyCodec", "iter_blocks", "only_block"]

# org.xerial.snappy.SnappyCodec: magic, then version and lowest compatible version, int32 each; then chunks:
# a big-endian int32 length and a block. No schema: this is snappy-java's container, not a format of Kafka's.
_STREAM_MAGIC = b"\x82SNAPPY\x00"
_LEN_STREAM_HEADER = len(_STREAM_MAGIC) + 4 + 4
_LEN_CHUNK_LENGTH = 4

# The best that a block can say: 64 bytes of output by a three-byte copy (snappy's format_description.txt).
_LARGEST_EXPANSION = 22


class SnappyCodec:
    """python-snappy 0.7, and cramjam below it for the size that a block declares."""

    name = "snappy"
    errors = (snappy.UncompressError, cramjam.DecompressionError)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """See `kafka_segments.compression.decompress`."""
        output = BoundedOutput(self.name, max_size)
        for block in iter_blocks(data):
            self._decompress_block(block, output)
        return output.join()

    def _decompress_block(self, block: memoryview, output: BoundedOutput) -> None:
        if not block:  # cramjam takes it for an empty result, snappy's format and snappy-java do not
            raise malformed(self.name, "empty block")
        size = cramjam.snappy.decompress_raw_len(block)
        if size > _LARGEST_EXPANSION * len(block):
            raise malformed(self.name, f"a block of {len(block)} bytes cannot hold the {size} it declares")
        output.reserve(size)
        plain = snappy.uncompress(block)
        assert isinstance(plain, bytes)  # not text: no encoding was asked for
        output.add(plain)


def only_block(data: memoryview) -> memoryview | None:
    """The block of a stream that is one header, one chunk and nothing else; None if `data` is not that."""
    start = _LEN_STREAM_HEADER + _LEN_CHUNK_LENGTH
    if len(data) < start or data[: len(_STREAM_MAGIC)] != _STREAM_MAGIC:
        return None
    len_chunk = int.from_bytes(data[_LEN_STREAM_HEADER:start], "big")
    return data[start:] if len_chunk == len(data) - start else None


def iter_blocks(data: memoryview) -> Iterator[memoryview]:
    """The blocks of a stream, or the bare block that `data` is.

    Raises:
        DecompressionError: the container is wrong.
    """
    if not _is_stream_header(data):
        yield data
        return
    rest = data[_LEN_STREAM_HEADER:]
    while len(rest) >= _LEN_CHUNK_LENGTH:
        len_chunk = int.from_bytes(rest[:_LEN_CHUNK_LENGTH], "big", signed=True)
        if rest[:_LEN_CHUNK_LENGTH] == _STREAM_MAGIC[:_LEN_CHUNK_LENGTH]:
            if len(rest) < _LEN_STREAM_HEADER:
                raise malformed("snappy", "it ends within a stream header")
            if not _is_stream_header(rest):
                return
            rest = rest[_LEN_STREAM_HEADER:]
            continue
        rest = rest[_LEN_CHUNK_LENGTH:]
        if not 0 <= len_chunk <= len(rest):
            raise malformed("snappy", f"chunk of {len_chunk} bytes, {len(rest)} left")
        yield rest[:len_chunk]
        rest = rest[len_chunk:]


def _is_stream_header(data: memoryview) -> bool:
    return len(data) >= _LEN_STREAM_HEADER and data[: len(_STREAM_MAGIC)] == _STREAM_MAGIC


CODEC = SnappyCodec()
