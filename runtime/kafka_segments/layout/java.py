"""Java's integers, which wrap silently where Kafka adds them up, and Java's text."""

from __future__ import annotations

import re

__all__ = ["increment_sequence", "java_text", "wrap_long"]

# A surrogate as three bytes: the JDK replaces it as one, Python byte by byte (String.decodeUTF8_UTF16).
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def wrap_long(value: int) -> int:
    """`value` as a Java long has it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _wrap_int(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def increment_sequence(sequence: int, increment: int) -> int:
    """A sequence number advanced; 2^31-1 is followed by 0 (DefaultRecordBatch.incrementSequence)."""
    highest = (1 << 31) - 1
    if sequence > _wrap_int(highest - increment):
        return _wrap_int(increment - (highest - sequence) - 1)
    return _wrap_int(sequence + increment)


def java_text(data: bytes) -> str:
    """UTF-8 as Java reads it, such as a header's key (RecordHeader.key): what is bad becomes U+FFFD.

    Example:
        >>> java_text(bytes([97, 255, 0xED, 0xA0, 0x80]))
        'a\ufffd\ufffd'
    """
    return _SURROGATE.sub(b"\xff", data).decode("utf-8", "replace")
