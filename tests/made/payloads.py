"""Compressed payloads for tests: every codec in the settings that writers use, and ways to damage them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from random import Random

import snappy
import zstandard
from tests.made.codecs import gzip_member, lz4_frame, pieces, xerial

XERIAL_HEADER_LITTLE_ENDIAN = b"\x82SNAPPY\x00" + struct.pack("<ii", 1, 1)  # Redpanda until 2025


def gzip_member_with(flags: int, content: bytes, *, header_crc_error: int = 0) -> bytes:
    """A member with the optional header fields that RFC 1952's flags name."""
    header = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\x03"
    if flags & 4:
        header += struct.pack("<H", 3) + b"abc"
    if flags & 8:
        header += b"name\0"
    if flags & 16:
        header += b"comment\0"
    if flags & 2:
        header += struct.pack("<H", (zlib.crc32(header) & 0xFFFF) ^ header_crc_error)
    deflater = zlib.compressobj(wbits=-15)
    body = deflater.compress(content) + deflater.flush()
    return header + body + struct.pack("<II", zlib.crc32(content), len(content))


def zstd_frame(content: bytes, *, level: int = 3, content_size: bool = True, checksum: bool = False) -> bytes:
    compressor = zstandard.ZstdCompressor(
        level=level, write_content_size=content_size, write_checksum=checksum
    )
    if content_size:
        return compressor.compress(content)
    stream = compressor.compressobj()
    first = stream.compress(content) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return first + stream.flush()  # ends in an empty block, as Java's frames do


def zstd_skippable(content: bytes, number: int = 0) -> bytes:
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


WRITERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip_member),
    "gzip-stored": ("gzip", lambda content: gzip_member(content, level=0)),
    "gzip-all-fields": ("gzip", lambda content: gzip_member_with(1 | 2 | 4 | 8 | 16, content)),
    "gzip-two-members": ("gzip", lambda content: gzip_member(content[:99]) + gzip_member(content[99:], 1)),
    "snappy-bare": ("snappy", snappy.compress),
    "snappy-xerial": ("snappy", lambda content: xerial(pieces(content))),
    "snappy-xerial-small": ("snappy", lambda content: xerial(pieces(content, 1000))),
    "snappy-redpanda": ("snappy", lambda content: xerial(pieces(content), XERIAL_HEADER_LITTLE_ENDIAN)),
    "snappy-two-streams": ("snappy", lambda content: xerial([content[:99]]) + xerial([content[99:]])),
    "lz4-java": ("lz4", lambda content: lz4_frame(content, block_size=4)),
    "lz4-kafka-python": ("lz4", lambda content: lz4_frame(content, block_size=4, store_size=True)),
    "lz4-aiokafka": ("lz4", lambda content: lz4_frame(content, block_size=4, block_checksum=True)),
    "lz4-large-blocks": ("lz4", lambda content: lz4_frame(content, block_size=7, content_checksum=True)),
    "zstd-java": ("zstd", lambda content: zstd_frame(content, content_size=False)),
    "zstd-sized": ("zstd", zstd_frame),
    "zstd-checksum": ("zstd", lambda content: zstd_frame(content, level=19, checksum=True)),
    "zstd-two-frames": ("zstd", lambda content: zstd_frame(content[:99]) + zstd_frame(content[99:])),
    "zstd-skippable": ("zstd", lambda content: zstd_skippable(b"skip me") + zstd_frame(content)),
}
"""Name of a writer's habit -> codec, and a function that compresses as it does."""

WRITERS_OF = {
    codec: [write for of, write in WRITERS.values() if of == codec]
    for codec in ("gzip", "snappy", "lz4", "zstd")
}

ORDINARY = {
    "gzip": WRITERS["gzip"][1],
    "snappy": WRITERS["snappy-xerial"][1],
    "lz4": WRITERS["lz4-java"][1],
    "zstd": WRITERS["zstd-java"][1],
}
"""What Kafka's own clients write."""


def some_content(random: Random) -> bytes:
    """Incompressible, repetitive, or like JSON; from nothing to a few blocks of the largest sort."""
    size = random.choice([0, 1, 20, 300, 5_000, 70_000])
    kind = random.randrange(3)
    if kind == 0:
        return random.randbytes(random.randrange(size + 1))
    if kind == 1:
        return b"x" * random.randrange(size + 1)
    words = [b'{"k":1}', b"alpha", b"beta", b"gamma"]
    return b" ".join(random.choices(words, k=random.randrange(size // 4 + 1)))


def mutate(random: Random, payload: bytes, another: bytes) -> bytes:
    """A damaged or prolonged payload; sometimes the payload itself."""
    kind = random.randrange(9)
    if kind == 0:
        return payload
    if kind == 1:
        return payload[: random.randrange(len(payload) + 1)]
    if kind == 2:
        return payload + random.randbytes(random.randrange(1, 60))
    if kind == 3:
        return payload + bytes(random.randrange(1, 60))
    if kind == 4:
        return payload + another
    if kind == 5:
        return payload + another[: random.randrange(len(another) + 1)]
    # A flipped bit: anywhere, near the head, near the tail.
    reach = [len(payload), 24, 12][kind - 6]
    position = min(random.randrange(reach), len(payload) - 1)
    if kind == 8:
        position = len(payload) - 1 - position
    flipped = bytes([payload[position] ^ (1 << random.randrange(8))])
    return payload[:position] + flipped + payload[position + 1 :]
