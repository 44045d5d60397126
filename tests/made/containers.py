"""Payloads of the codecs that are made of as many parts as can be, each of which holds next to nothing.

Of a number of bytes; shares no code with the project, as `adversaries`.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import lz4.frame
import snappy
import zstandard
from tests.made.codecs import XERIAL_HEADER

__all__ = [
    "gzip_empty_blocks",
    "gzip_members",
    "gzip_named",
    "lz4_blocks",
    "lz4_frames",
    "lz4_squeezed_blocks",
    "snappy_blocks",
    "snappy_headers",
    "snappy_literals",
    "zstd_empty_blocks",
    "zstd_frames",
    "zstd_runs",
    "zstd_skippable",
    "zstd_windows",
]


def snappy_blocks(content: bytes) -> Callable[[int], bytes]:
    """Chunks of a stream of snappy-java's with so little in each."""
    block = snappy.compress(content)
    chunk = struct.pack(">i", len(block)) + block
    return lambda size: XERIAL_HEADER + chunk * max(1, size // len(chunk))


def snappy_headers(size: int) -> bytes:
    return XERIAL_HEADER * (size // len(XERIAL_HEADER))


def snappy_literals(size: int) -> bytes:
    """One bare block of literals of one byte."""
    count = size // 2
    declared, number = bytearray(), count
    while number > 0x7F:
        declared.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*declared, number]) + b"\0\x0c" * count


_LZ4_HEADER = bytes(lz4.frame.compress(b"", block_linked=False, store_size=False))[:7]


def lz4_blocks(block: bytes) -> Callable[[int], bytes]:
    """One frame of independent blocks that are stored, with so little in each."""
    one = struct.pack("<I", len(block) | 1 << 31) + block
    return lambda size: _LZ4_HEADER + one * max(1, size // len(one)) + bytes(4)


def lz4_squeezed_blocks(size: int) -> bytes:
    """The same, where a literal of one byte is in the words of a sequence."""
    one = struct.pack("<I", 2) + b"\x10\x0c"
    return _LZ4_HEADER + one * (size // len(one)) + bytes(4)


def lz4_frames(content: bytes) -> Callable[[int], bytes]:
    """Frames one behind the other; Kafka reads the first and nothing behind it."""
    frame = bytes(lz4.frame.compress(content, block_linked=False))
    return lambda size: frame * max(1, size // len(frame))


def gzip_members(content: bytes) -> Callable[[int], bytes]:
    member = gzip.compress(content, mtime=0)
    return lambda size: member * max(1, size // len(member))


def gzip_named(size: int) -> bytes:
    """Members whose header has a name of most of what there is."""
    member = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * (size // 8) + b"\0" + gzip.compress(b"", mtime=0)[10:]
    return member * 7


def gzip_empty_blocks(size: int) -> bytes:
    """One member of stored blocks that hold nothing."""
    content = b"\0\0\0\xff\xff" * (size // 5 - 8) + b"\x01\0\0\xff\xff"
    return b"\x1f\x8b\x08" + bytes(7) + content + bytes(8)


def zstd_frames(content: bytes) -> Callable[[int], bytes]:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(content)
    return lambda size: frame * max(1, size // len(frame))


def zstd_skippable(len_content: int) -> Callable[[int], bytes]:
    frame = struct.pack("<II", 0x184D2A50, len_content) + bytes(len_content)
    return lambda size: frame * max(1, size // len(frame))


def zstd_windows(size: int) -> bytes:
    """Frames that hold nothing and ask for a window of 128 MiB each."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 17 << 3) + b"\x01\0\0"
    return frame * (size // len(frame))


def zstd_empty_blocks(size: int) -> bytes:
    """One frame of blocks that hold nothing."""
    return struct.pack("<IBB", 0xFD2FB528, 0, 0) + bytes(3) * (size // 3 - 8) + b"\x01\0\0"


def zstd_runs(size: int) -> bytes:
    """One frame of blocks of a byte that repeats once."""
    count = size // 4 - 8
    return struct.pack("<IBB", 0xFD2FB528, 0, 0) + b"\x0a\0\0\x0c" * count + b"\x01\0\0"
