"""Compression as Kafka's clients do it, in the forms that its reader takes, and what such payloads hold.

By the codecs' own libraries and nothing of the runtime. A form is `codec` or `codec:variant`. The variants
are what differs between writers: the container of snappy, frames and members that follow each other, fields
in frame headers that are there or not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable

import lz4.frame
import snappy
import zstandard

IDS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
NAMES = {number: name for name, number in IDS.items()}

# For the flags 0x60 and the block descriptor 0x40: the second byte of XXH32, over these two as the format has
# it, over the magic number too as Kafka writes it in magic 0 (KAFKA-3160).
RIGHT_HEADER_CHECKSUM, KAFKA_3160 = 0x82, 0x1A

XERIAL_HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
"""How the streams of org.xerial.snappy.SnappyOutputStream begin."""


def compress(form: str, data: bytes, magic: int = 2) -> bytes:
    """`data` in a form of `FORMS`; lz4 in magic 0 has the header checksum that Kafka writes there."""
    compressed = FORMS[form](data)
    if form == "lz4" and magic == 0:
        assert compressed[4:7] == bytes([0x60, 0x40, RIGHT_HEADER_CHECKSUM])
        compressed = compressed[:6] + bytes([KAFKA_3160]) + compressed[7:]
    return compressed


def plain(codec: str, payload: bytes) -> bytes:
    """What a sound payload holds.

    Raises:
        Exception: the library's own, where it is not sound.
    """
    return {"none": bytes, "gzip": _gunzip, "snappy": _unsnappy, "lz4": _unlz4, "zstd": _unzstd}[codec](
        payload
    )


def codec_of(form: str) -> str:
    return form.partition(":")[0]


def gzip_member(content: bytes, level: int = 6) -> bytes:
    deflater = zlib.compressobj(level, wbits=31)
    return deflater.compress(content) + deflater.flush()


def xerial(contents: Iterable[bytes], header: bytes = XERIAL_HEADER) -> bytes:
    """A stream of snappy-java's, with a chunk for each content."""
    chunks = [snappy.compress(content) for content in contents]
    return header + b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)


def pieces(content: bytes, size: int = 32 << 10) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def lz4_frame(content: bytes, **settings: int | bool) -> bytes:
    chosen = {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "block_linked": False, "store_size": False}
    return bytes(lz4.frame.compress(content, **(chosen | settings)))


def _halves(data: bytes) -> tuple[bytes, bytes]:
    return data[: len(data) // 2], data[len(data) // 2 :]


def _gzip_members(data: bytes) -> bytes:
    """Two members, one after the other, as a buffered writer may leave them."""
    first, second = _halves(data)
    return gzip_member(first, 1) + gzip_member(second, 9)


def _zstd_frames(data: bytes) -> bytes:
    return b"".join(map(zstandard.ZstdCompressor(level=1).compress, _halves(data)))


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip_member,
    "gzip:stored": lambda data: gzip_member(data, 0),
    "gzip:members": _gzip_members,
    "snappy": lambda data: xerial(pieces(data)),
    "snappy:blocks": lambda data: xerial(pieces(data, 50)),
    "snappy:bare": lambda data: bytes(snappy.compress(data)),
    "lz4": lz4_frame,
    "lz4:checks": lambda data: lz4_frame(data, block_checksum=True, content_checksum=True, store_size=True),
    "lz4:large": lambda data: lz4_frame(data, block_size=lz4.frame.BLOCKSIZE_MAX4MB),
    "zstd": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    "zstd:size": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    "zstd:frames": _zstd_frames,
}
"""How to compress, by form."""

LEGACY_FORMS = tuple(form for form in FORMS if codec_of(form) not in ("none", "zstd"))
"""Forms that messages of magic 0 and 1 may have."""


def _gunzip(payload: bytes) -> bytes:
    content = b""
    while payload:
        inflater = zlib.decompressobj(wbits=31)
        content += inflater.decompress(payload) + inflater.flush()
        if not inflater.eof:
            raise ValueError("a gzip member is cut off")
        payload = inflater.unused_data
    return content


def _unsnappy(payload: bytes) -> bytes:
    if not payload.startswith(XERIAL_HEADER[:8]):
        return bytes(snappy.uncompress(payload))
    content, position = b"", len(XERIAL_HEADER)
    while position < len(payload):
        (size,) = struct.unpack_from(">i", payload, position)
        position += 4 + size
        content += snappy.uncompress(payload[position - size : position])
    return content


def _unlz4(payload: bytes) -> bytes:
    if payload[4:7] == bytes([0x60, 0x40, KAFKA_3160]):
        payload = payload[:6] + bytes([RIGHT_HEADER_CHECKSUM]) + payload[7:]
    return bytes(lz4.frame.decompress(payload))


def _unzstd(payload: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(payload, read_across_frames=True) as reader:
        return bytes(reader.read())
