"""Codec lz4 (3): one LZ4 frame, by the rules of Kafka's Lz4BlockInputStream.

Strategy: Kafka's reader is more lenient than the LZ4 library: it ignores the content size and the content
checksum, and in magic 0 the header's checksum (computed over the magic number too, KAFKA-3160; Kafka still
writes it so). It is stricter in one point: it rejects dependent blocks and dictionaries. So the frame
descriptor is checked here by Kafka's rules, and the library gets a new one with only the block size and
whether blocks have checksums; then the blocks unchanged, up to the end of the content.

Bytes after the first frame are ignored, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import lz4.frame

from kafka_segments.core.codecs.bounds import BoundedOutput, malformed
from kafka_segments.core.codecs.literals import Steps, repeat

__all__ = [
    "BLOCK_SIZE_MASK",
    "CODEC",
    "CODEC_MAGIC_0",
    "LEN_BLOCK_SIZE",
    "LEN_SHORTEST_HEADER",
    "Lz4Codec",
    "iter_blocks",
    "plain_headers",
    "steps",
]

# LZ4 frame format 1.5.1, as in Lz4BlockOutputStream.FLG and .BD. No schema: it is LZ4's container, not a
# format of Kafka's.
_FRAME_MAGIC = b"\x04\x22\x4d\x18"
_LEN_CONTENT_SIZE = 8
LEN_BLOCK_SIZE = 4
BLOCK_SIZE_MASK = 0x7FFF_FFFF  # the top bit means "stored"
_LEN_CHECKSUM = 4
_END_MARK = bytes(LEN_BLOCK_SIZE)
LEN_SHORTEST_HEADER = 7  # magic, FLG, BD, HC
_FLG_VERSION, _FLG_VERSION_1 = 0b1100_0000, 0b0100_0000
_FLG_INDEPENDENT = 0b0010_0000
_FLG_BLOCK_CHECKSUM = 0b0001_0000
_FLG_CONTENT_SIZE = 0b0000_1000
_FLG_CONTENT_CHECKSUM = 0b0000_0100
_FLG_RESERVED = 0b0000_0011  # the lower one means "dictionary" since 1.6; Kafka rejects both
_BD_RESERVED = 0b1000_1111
_BD_BLOCK_SIZE_SHIFT = 4
_BLOCK_SIZES = range(4, 8)  # 64 KiB, 256 KiB, 1 MiB, 4 MiB

_LEN_LARGEST_STEP = 1 << 20

# LZ4Factory.fastCompressor for CompressionType.LZ4.defaultLevel(), highCompressor for the others.
_LEVEL_OF_FAST = 9
_LOWEST_SLOW_LEVEL = 3
# Of a header without options and with blocks of 64 KiB, over the frame's magic number too (KAFKA-3160).
_BROKEN_CHECKSUM = b"\x1a"


class Lz4Codec:
    """Codec by the LZ4 library, with its own check of the frame header.

    Args:
        check_header: whether the header's checksum is verified, and written correctly.
    """

    name = "lz4"
    errors = (RuntimeError,)

    def __init__(self, *, check_header: bool) -> None:
        self._check_header = check_header

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress a payload, as `kafka_segments.core.codecs.decompress` does."""
        flags, block_size, start = self._read_header(data)
        end = self._find_end(data, start, flags)
        header = _plain_header(block_size, bool(flags & _FLG_BLOCK_CHECKSUM))
        output = BoundedOutput(self.name, max_size)
        context = lz4.frame.create_decompression_context()
        for piece in (memoryview(header), data[start:end], memoryview(_END_MARK)):
            position = 0
            while position < len(piece):
                len_step = min(output.room + 1, _LEN_LARGEST_STEP)
                chunk, num_read, _ = lz4.frame.decompress_chunk(
                    context, piece[position:], max_length=len_step
                )
                output.add(chunk)
                position += num_read
        return output.join()

    def first_block(self, data: memoryview) -> tuple[int, int]:
        """Position of the first block, and bytes of the checksum after each block, for `iter_blocks`.

        Raises:
            DecompressionError: the header is invalid or incomplete.
            RuntimeError: its checksum is wrong.
        """
        flags, _block_size, start = self._read_header(data)
        return start, _LEN_CHECKSUM if flags & _FLG_BLOCK_CHECKSUM else 0

    def compress(self, data: memoryview, level: int) -> bytes:
        """Write a frame of independent blocks of 64 KiB, without checksums and sizes (Lz4BlockOutputStream).

        Kafka's default level is the fast compressor; all other levels are of the slow one, 1 to 17 in
        lz4-java and 3 to 12 in the library.
        """
        effort = 0 if level == _LEVEL_OF_FAST else max(level, _LOWEST_SLOW_LEVEL)
        frame: bytes = lz4.frame.compress(
            data,
            compression_level=effort,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
        if self._check_header:
            return frame
        end = LEN_SHORTEST_HEADER
        return frame[: end - len(_BROKEN_CHECKSUM)] + _BROKEN_CHECKSUM + frame[end:]

    def _find_end(self, data: memoryview, position: int, flags: int) -> int:
        """Position where the blocks end: of the end mark, or after an empty block."""
        len_checksum = _LEN_CHECKSUM if flags & _FLG_BLOCK_CHECKSUM else 0
        has_end_mark = True
        for start, size, is_stored in iter_blocks(data, position, len_checksum):
            position = start + size + len_checksum
            has_end_mark = is_stored or not _is_empty(data, start, size)
        needed = LEN_BLOCK_SIZE + _LEN_CHECKSUM if flags & _FLG_CONTENT_CHECKSUM and has_end_mark else 0
        if len(data) - position < needed:
            raise malformed(self.name, "it ends within the content checksum")
        return position

    def _read_header(self, data: memoryview) -> tuple[int, int, int]:
        """Check the header; return flags, number of the block size, and position of the first block."""
        if len(data) < LEN_SHORTEST_HEADER:
            raise malformed(self.name, "it ends within the frame header")
        if data[: len(_FRAME_MAGIC)] != _FRAME_MAGIC:
            raise malformed(self.name, "no LZ4 frame (wrong magic number)")
        flags, descriptor = data[4], data[5]
        block_size = descriptor >> _BD_BLOCK_SIZE_SHIFT
        if flags & _FLG_VERSION != _FLG_VERSION_1:
            raise malformed(self.name, "unknown version of the frame format")
        if not flags & _FLG_INDEPENDENT:
            raise malformed(self.name, "dependent blocks, which Kafka does not read")
        if flags & _FLG_RESERVED or descriptor & _BD_RESERVED or block_size not in _BLOCK_SIZES:
            raise malformed(self.name, "reserved bits or an unknown block size in the frame header")
        len_header = LEN_SHORTEST_HEADER + (_LEN_CONTENT_SIZE if flags & _FLG_CONTENT_SIZE else 0)
        if len(data) < len_header:
            raise malformed(self.name, "it ends within the frame header")
        if self._check_header:
            lz4.frame.get_frame_info(data[:len_header])  # raises if the header's checksum is wrong
        return flags, block_size, len_header


def iter_blocks(data: memoryview, position: int, len_checksum: int = 0) -> Iterator[tuple[int, int, bool]]:
    """Yield position, size and whether it is stored, of each block up to the end of the content.

    The end is the first block size of zero, also of a stored block, or a block that gives no bytes: Kafka's
    ChunkedBytesStream takes an empty read for the end.

    Raises:
        DecompressionError: there is no end mark. The last block may extend beyond the end.
    """
    while len(data) - position >= LEN_BLOCK_SIZE:
        word = int.from_bytes(data[position : position + LEN_BLOCK_SIZE], "little")
        size = word & BLOCK_SIZE_MASK
        if size == 0:
            return
        start, is_stored = position + LEN_BLOCK_SIZE, word != size
        yield start, size, is_stored
        position = start + size + len_checksum
        if position <= len(data) and not is_stored and _is_empty(data, start, size):
            return
    raise malformed("lz4", "it ends before the end mark")


def _is_empty(data: memoryview, start: int, size: int) -> bool:
    """Return whether a compressed block is a token alone, of no literals."""
    return size == 1 and start < len(data) and data[start] >> 4 == 0


@cache
def plain_headers(magic: int) -> list[tuple[int, int, int]]:
    """Frame headers for independent blocks without sizes, with the block size, and bytes of its checksum.

    Each is an integer. Java, librdkafka and Go write no checksums; aiokafka's blocks have one.
    """
    headers = [
        (_plain_header(number, len_checksum > 0), (64 << 10) << 2 * at, len_checksum)
        for len_checksum in (0, _LEN_CHECKSUM)
        for at, number in enumerate(_BLOCK_SIZES)
    ]
    if magic == 0:
        first, max_block, len_checksum = headers[0]
        headers.append((first[: -len(_BROKEN_CHECKSUM)] + _BROKEN_CHECKSUM, max_block, len_checksum))
    return [(int.from_bytes(header, "little"), most, len_checksum) for header, most, len_checksum in headers]


def steps(payload: bytes, magic: int, content: bytearray) -> Steps:
    """Yield literal runs (see `literals`) of the blocks up to the end mark."""
    codec, view = CODEC if magic else CODEC_MAGIC_0, memoryview(payload)
    for place, size, is_stored in iter_blocks(view, *codec.first_block(view)):
        end = min(place + size, len(payload))
        if is_stored:
            content += payload[place:end]
            yield place, end - place
        else:
            yield from _block_steps(payload, place, end, content)


def _block_steps(payload: bytes, place: int, end: int, content: bytearray) -> Steps:
    """Yield the literal runs of a block, decoded by LZ4's lz4_Block_format.md."""
    first = len(content)
    while place < end:
        token = payload[place]
        size, place = _long_length(payload, token >> 4, place + 1)
        size = min(size, end - place)
        content += payload[place : place + size]
        yield place, size
        place += size
        if place >= end:
            return
        distance = int.from_bytes(payload[place : place + 2], "little")
        size, place = _long_length(payload, token & 15, place + 2)
        repeat(content, distance, size + 4, first)


def _long_length(payload: bytes, length: int, place: int) -> tuple[int, int]:
    if length == 15:
        while True:
            more = payload[place]
            length, place = length + more, place + 1
            if more != 255:
                break
    return length, place


@cache
def _plain_header(block_size: int, block_checksum: bool) -> bytes:
    """Return a frame header without optional fields but the checksum of each block."""
    settings = {"block_size": block_size, "block_checksum": block_checksum, "block_linked": False}
    header: bytes = lz4.frame.LZ4FrameCompressor(**settings).begin()
    return header


CODEC = Lz4Codec(check_header=True)
CODEC_MAGIC_0 = Lz4Codec(check_header=False)
