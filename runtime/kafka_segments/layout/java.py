"""Java's integers, which wrap silently where Kafka adds them up."""

from __future__ import annotations

__all__ = ["increment_sequence", "wrap_long"]


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
