"""Building blocks of compiled functions: those of the generated package, `address`, `call` and `equal_pairs`.

The generated ones (`kafka_segments_generated.columns.support`) load and store numbers, and have the slots of
the state arrays that scanners, decoders and encoders share with their callers.
"""

from __future__ import annotations

import ctypes

from kafka_segments.core.native.engine import address_of
from kafka_segments_generated.columns import support
from kafka_segments_generated.columns.support import *  # noqa: F403
from kafka_segments_generated.columns.support import Bytes, Longs

__all__ = ["LEN_PIECE", "NUM_PAIRS", "address", "call", "equal_pairs"]
__all__ += support.__all__

LEN_PIECE = 128 << 10
"""Bytes processed together, to fit the CPU's second-level cache; also the distance of prefetching."""

NUM_PAIRS = 32
"""Places that `equal_pairs` compares at once."""


def address(array: Bytes | Longs) -> int:
    """Where an array is in memory."""
    return address_of(memoryview(array))


def call(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:  # noqa: PLR0917
    """Call a C function by its address with up to seven words; the result is one word."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
    result: int = kind(function)(a, b, c, d, e, f, g)
    return result


def equal_pairs(data: Bytes, one_at: int, one: int, other_at: int, other: int) -> int:
    """Compare bytes at `NUM_PAIRS` consecutive places with two values, by vector instructions.

    Bit `n` of the result is set if byte `one_at + n` is `one` and byte `other_at + n` is `other`.
    """
    found = 0
    for number in range(NUM_PAIRS):
        if data[one_at + number] == one and data[other_at + number] == other:
            found |= 1 << number
    return found
