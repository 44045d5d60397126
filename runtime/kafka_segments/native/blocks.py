"""A building block for hand-written loops that are compiled like generated decoders.

The others are those of the generated `columns/_support.py`.
"""

from __future__ import annotations

import ctypes

__all__ = ["call"]


def call(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:  # noqa: PLR0917
    """Call a C function by its address with up to seven words; what it returns is taken for a word."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
    result: int = kind(function)(a, b, c, d, e, f, g)
    return result
