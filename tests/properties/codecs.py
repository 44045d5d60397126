"""Compression as Kafka's clients do it, in the forms that its reader takes; by the codecs' own libraries.

A form is `codec` or `codec:variant`. The variants are what differs between writers: the container of snappy,
frames and members that follow each other, fields in frame headers that are there or not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import lz4.frame
import snappy
import zstandard

IDS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

# For the flags 0x60 and the block descriptor 0x40: the second byte of XXH32, over these two as the format has
# it, over the magic number too as Kafka writes it in magic 0 (KAFKA-3160).
RIGHT_HEADER_CHECKSUM, KAFKA_3160 = 0x82, 0x1A


def compress(form: str, data: bytes, magic: int = 2) -> bytes:
    """`data` in a form of `FORMS`; lz4 in magic 0 has the header checksum that Kafka writes there."""
    compressed = FORMS[form](data)
    if form == "lz4" and magic == 0:
        assert compressed[4:7] == bytes([0x60, 0x40, RIGHT_HEADER_CHECKSUM])
        compressed = compressed[:6] + bytes([KAFKA_3160]) + compressed[7:]
    return compressed


def codec_of(form: str) -> str:
    return form.partition(":")[0]


def _gzip(data: bytes, level: int = 6) -> bytes:
    deflater = zlib.compressobj(level, wbits=31)
    return deflater.compress(data) + deflater.flush()


def _gzip_members(data: bytes) -> bytes:
    """Two members, one after the other, as a buffered writer may leave them."""
    half = len(data) // 2
    return _gzip(data[:half], 1) + _gzip(data[half:], 9)


def _snappy_stream(data: bytes, block_size: int = 32 << 10) -> bytes:
    """The container of org.xerial.snappy.SnappyOutputStream."""
    out = bytearray(b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1))
    for start in range(0, len(data), block_size):
        block = snappy.compress(data[start : start + block_size])
        out += struct.pack(">i", len(block)) + block
    return bytes(out)


def _lz4(data: bytes, **options: int | bool) -> bytes:
    settings = {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "block_linked": False, "store_size": False}
    frame: bytes = lz4.frame.compress(data, **(settings | options))
    return frame


def _zstd_frames(data: bytes) -> bytes:
    half = len(data) // 2
    compressor = zstandard.ZstdCompressor(level=1)
    return compressor.compress(data[:half]) + compressor.compress(data[half:])


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": _gzip,
    "gzip:stored": lambda data: _gzip(data, 0),
    "gzip:members": _gzip_members,
    "snappy": _snappy_stream,
    "snappy:blocks": lambda data: _snappy_stream(data, 50),
    "snappy:bare": lambda data: bytes(snappy.compress(data)),
    "lz4": _lz4,
    "lz4:checks": lambda data: _lz4(data, block_checksum=True, content_checksum=True, store_size=True),
    "lz4:large": lambda data: _lz4(data, block_size=lz4.frame.BLOCKSIZE_MAX4MB),
    "zstd": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    "zstd:size": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    "zstd:frames": _zstd_frames,
}
"""How to compress, by form."""

LEGACY_FORMS = tuple(form for form in FORMS if codec_of(form) not in ("none", "zstd"))
"""Forms that messages of magic 0 and 1 may have."""
