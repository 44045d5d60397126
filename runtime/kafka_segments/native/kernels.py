"""Building blocks of compiled functions: those of the generated package, and `call`.

The generated ones (`kafka_segments_generated.columns.support`) load and store numbers, and have the slots of
the state arrays that scanners, decoders and encoders share with their callers.
"""

from __future__ import annotations

import ctypes

from kafka_segments_generated.columns import support
from kafka_segments_generated.columns.support import *  # noqa: F403

__all__ = ["LEN_PIECE", "call"]
__all__ += support.__all__

LEN_PIECE = 128 << 10
"""Bytes processed together, to fit the CPU's second-level cache; also the distance of prefetching."""


def call(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:  # noqa: PLR0917
    """Call a C function by its address with up to seven words; the result is one word."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
    result: int = kind(function)(a, b, c, d, e, f, g)
    return result
