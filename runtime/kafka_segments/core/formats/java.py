"""Java's integers, whose arithmetic wraps silently, and Java's decoding of UTF-8."""

from __future__ import annotations

import re
from typing import Any

from kafka_segments.core.formats.kaitai_classes import stream
from kafka_segments.errors import CorruptBatchError

__all__ = [
    "MAX_LONG",
    "MIN_LONG",
    "decrement_sequence",
    "increment_sequence",
    "java_integer",
    "java_text",
    "num_sequences_between",
    "wrap_long",
]

MAX_LONG, MIN_LONG = (1 << 63) - 1, -(1 << 63)
_HIGHEST_SEQUENCE = (1 << 31) - 1  # 0 follows it (DefaultRecordBatch.incrementSequence)

# A surrogate as three bytes: the JDK replaces it as one, Python byte by byte (String.decodeUTF8_UTF16).
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def wrap_long(value: int) -> int:
    """Wrap a value as a Java long."""
    return (value - MIN_LONG) % (1 << 64) + MIN_LONG


def _wrap_int(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def increment_sequence(sequence: int, increment: int) -> int:
    """A sequence number advanced."""
    if sequence > _wrap_int(_HIGHEST_SEQUENCE - increment):
        return _wrap_int(increment - (_HIGHEST_SEQUENCE - sequence) - 1)
    return _wrap_int(sequence + increment)


def decrement_sequence(sequence: int, decrement: int) -> int:
    """A sequence number taken back (DefaultRecordBatch.decrementSequence).

    Example:
        >>> decrement_sequence(0, 1)
        2147483647
    """
    if sequence < decrement:
        return _wrap_int(_HIGHEST_SEQUENCE - (decrement - sequence) + 1)
    return _wrap_int(sequence - decrement)


def num_sequences_between(sequence: int, next_sequence: int) -> int:
    """The count of sequence numbers between two of one producer.

    Example:
        >>> num_sequences_between(3, 4), num_sequences_between(2**31 - 2, 1)
        (0, 2)
    """
    return (next_sequence - sequence - 1) % (_HIGHEST_SEQUENCE + 1)


def java_text(data: bytes) -> str:
    """UTF-8 decoded as in Java, such as a header's key (RecordHeader.key): bad bytes become U+FFFD.

    Example:
        >>> java_text(bytes([97, 255, 0xED, 0xA0, 0x80]))
        'a\ufffd\ufffd'
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xff", data).decode("utf-8", "replace")


def java_integer(data: bytes, *, is_long: bool) -> int:
    """The int or long that bytes begin with (ByteBuffer.getInt, getLong); what follows is not looked at.

    Raises:
        CorruptBatchError: too few bytes.

    Example:
        >>> java_integer(bytes([255, 255, 255, 254]), is_long=False)
        -2
    """
    reader: Any = stream(data)
    try:
        return int(reader.read_s8be() if is_long else reader.read_s4be())
    except EOFError:
        kind = "a long" if is_long else "an int"
        raise CorruptBatchError(f"{len(data)} bytes are too few for {kind}") from None
