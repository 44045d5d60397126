"""What recorded payloads decompress to, by the codecs' own libraries and nothing of the runtime."""

from __future__ import annotations

import io
import struct
import zlib

import lz4.frame
import snappy
import zstandard
from tests.properties.codecs import KAFKA_3160, RIGHT_HEADER_CHECKSUM

XERIAL = b"\x82SNAPPY\0"
LEN_XERIAL_HEAD = 16


def plain(codec: str, payload: bytes) -> bytes:
    """What a sound payload holds.

    Raises:
        Exception: the library's own, where it is not sound.
    """
    return {"none": bytes, "gzip": _gzip, "snappy": _snappy, "lz4": _lz4, "zstd": _zstd}[codec](payload)


def _gzip(payload: bytes) -> bytes:
    content = b""
    while payload:
        inflater = zlib.decompressobj(wbits=31)
        content += inflater.decompress(payload) + inflater.flush()
        if not inflater.eof:
            raise ValueError("a gzip member is cut off")
        payload = inflater.unused_data
    return content


def _snappy(payload: bytes) -> bytes:
    if not payload.startswith(XERIAL):
        return bytes(snappy.uncompress(payload))
    content, position = b"", LEN_XERIAL_HEAD
    while position < len(payload):
        (size,) = struct.unpack_from(">i", payload, position)
        position += 4 + size
        content += snappy.uncompress(payload[position - size : position])
    return content


def _lz4(payload: bytes) -> bytes:
    if payload[4:7] == bytes([0x60, 0x40, KAFKA_3160]):
        payload = payload[:6] + bytes([RIGHT_HEADER_CHECKSUM]) + payload[7:]
    content: bytes = lz4.frame.decompress(payload)
    return content


def _zstd(payload: bytes) -> bytes:
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(payload), read_across_frames=True)
    return bytes(reader.read())
