"""Checksums of Kafka's formats: CRC-32C since magic 2, CRC-32 (zlib's) in magic 0 and 1."""

from __future__ import annotations

import zlib

import crc32c as _crc32c

__all__ = ["crc32", "crc32c"]


def crc32c(data: bytes | memoryview, value: int = 0) -> int:
    """CRC-32C (Castagnoli, RFC 3720 B.4; Java's `java.util.zip.CRC32C`).

    Args:
        data: contiguous bytes.
        value: the checksum of what came before, to go on from it.

    Returns:
        The unsigned 32-bit checksum.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    return _crc32c.crc32c(data, value)


def crc32(data: bytes | memoryview, value: int = 0) -> int:
    """CRC-32 (ISO 3309, as in gzip; Java's `java.util.zip.CRC32`).

    Args:
        data: contiguous bytes.
        value: the checksum of what came before, to go on from it.

    Returns:
        The unsigned 32-bit checksum.

    Example:
        >>> hex(crc32(b"123456789"))
        '0xcbf43926'
    """
    return zlib.crc32(data, value)
