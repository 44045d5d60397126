"""A building block for hand-written loops that are compiled like generated decoders.

The others are those of the generated `columns/_support.py`.
"""

from __future__ import annotations

import ctypes

__all__ = ["LEN_PIECE", "call"]

LEN_PIECE = 128 << 10
"""Bytes that are worked on together, so that they stay in the CPU's second cache. While some are copied, the
memory that is as far behind them is asked for: it comes to the CPU before its turn."""


def call(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:  # noqa: PLR0917
    """Call a C function by its address with up to seven words; what it returns is taken for a word."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
    result: int = kind(function)(a, b, c, d, e, f, g)
    return result
