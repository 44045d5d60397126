"""Two compiled functions that a third one calls in turn: a producer of batches, and the decoder.

The common part of `fused_scan` and `fused_expansion`: the beginning of their loop's state, and the call.
"""

from __future__ import annotations

from typing import Any

from kafka_segments.core.native.kernels import Longs, call, load
from kafka_segments.errors.packages import LazyPackage

__all__ = ["DECODER", "FIRST", "NUM_CHAINED", "RETURNED", "chain", "run"]

np: Any = LazyPackage("numpy")

# What the state begins with: function and arguments of either, what they return, and the address of that.
FIRST, _, DECODER, _, RETURNED, RETURNED_AT = range(6)
NUM_CHAINED = 6


def run(state: Longs, which: int) -> int:
    """Call one of the two with its arguments; return its result."""
    call(load(state, which), load(state, RETURNED_AT), 0, load(state, which + 1), 0, 0, 0, 0)
    return load(state, RETURNED)


def chain(size: int, first: tuple[int, int], decoder: tuple[int, int]) -> Any:
    """A state of `size` words, for two functions by the addresses of their code and of their arguments."""
    state = np.zeros(size, np.int64)
    state[FIRST : FIRST + 2] = first
    state[DECODER : DECODER + 2] = decoder
    state[RETURNED_AT] = state.ctypes.data + RETURNED * state.itemsize
    return state
