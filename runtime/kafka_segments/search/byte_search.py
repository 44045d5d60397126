"""Search of a byte string in memory, by vector instructions.

Strategy: two bytes of the string, those that are rarest in the data, are compared at 32 places at once; only
where both are right, the whole string is compared. Data in which both are often right, and the string is not,
is left to Python's search, a few KiB at a time: that takes linear time in any case.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_segments.core.native.engine import Compiled, address_of
from kafka_segments.core.native.kernels import (
    NUM_PAIRS,
    Bytes,
    Longs,
    equal_pairs,
    load,
    load_u1,
    rare,
    store,
)

__all__ = ["ByteSearch", "pair_finder"]

# Slots of the state. Input: where to begin and to end; the two bytes, and where they are in the string; the
# string's length. Output: where it stands, or where to go on, in AT.
AT, END, ONE, OFS_ONE, OTHER, OFS_OTHER, LEN_NEEDLE = range(7)
# Status: found; not there; to be searched by Python for a while.
FOUND, ABSENT, COSTLY = range(3)

_LEN_SAMPLE = 64 << 10
_FREE, _PER_BYTE = (
    4096,
    4,
)  # bytes of the string that are compared at most: in any case, and for each byte searched
_LEN_STEP = 4096  # that Python searches then
_NUM_VALUES = 256
_NUM_SKIPPED = 8  # bits that are skipped together
_GROUP = (1 << _NUM_SKIPPED) - 1


def pair_finder() -> Callable[..., int]:
    """Return a function that finds a string of two bytes or more."""

    def find(data: Bytes, needle: Bytes, state: Longs) -> int:
        at, end = load(state, AT), load(state, END)
        one, ofs_one = load(state, ONE), load(state, OFS_ONE)
        other, ofs_other = load(state, OTHER), load(state, OFS_OTHER)
        len_needle, allowed = load(state, LEN_NEEDLE), _FREE
        last = end - len_needle  # where the string may begin
        while at <= last - 2 * NUM_PAIRS:
            low = equal_pairs(data, at + ofs_one, one, at + ofs_other, other)
            high = equal_pairs(data, at + NUM_PAIRS + ofs_one, one, at + NUM_PAIRS + ofs_other, other)
            if rare((low | high) != 0):
                for half in range(2):
                    here, bits = at + half * NUM_PAIRS, low if half == 0 else high
                    while bits != 0:
                        if bits & _GROUP == 0:
                            bits >>= _NUM_SKIPPED
                            here += _NUM_SKIPPED
                            continue
                        if bits & 1 != 0:
                            same = 0
                            while same < len_needle and load_u1(data, here + same) == load_u1(needle, same):
                                same += 1
                            if same == len_needle:
                                store(state, AT, here)
                                return FOUND
                            allowed -= same + 1
                        bits >>= 1
                        here += 1
                if allowed < 0:
                    store(state, AT, at)
                    return COSTLY
            at += 2 * NUM_PAIRS
            allowed += 2 * NUM_PAIRS * _PER_BYTE
        store(state, AT, at)
        return COSTLY if at <= last else ABSENT

    return find


class ByteSearch:
    """Search of one byte string, for one thread.

    Args:
        needle: one byte or more.
    """

    def __init__(self, needle: bytes) -> None:
        self._needle = needle
        self._state = np.zeros(LEN_NEEDLE + 1, np.int64)
        self._state[LEN_NEEDLE] = len(needle)
        self._find = Compiled(pair_finder)
        self._find.set("needle", needle)
        self._find.set("state", self._state)
        self._is_chosen = False

    def find(self, data: memoryview, start: int, end: int) -> int:
        """Return where the string first stands in `data[start:end]`; -1 if nowhere."""
        if not self._is_chosen:
            self._choose(data[start : min(end, start + _LEN_SAMPLE)])
        self._find.place("data", address_of(data), len(data))
        state, len_needle = self._state, len(self._needle)
        state[END] = end
        while end - start >= len_needle:
            state[AT] = start
            status, start = self._find(), int(state[AT])
            if status != COSTLY:
                return start if status == FOUND else -1
            stop = min(end, start + _LEN_STEP + len_needle - 1)
            found = bytes(data[start:stop]).find(self._needle)
            if found >= 0:
                return start + found
            start = stop - len_needle + 1
        return -1

    def _choose(self, sample: memoryview) -> None:
        """Choose the two bytes of the string that are rarest in a sample."""
        counts = np.bincount(np.frombuffer(sample, np.uint8), minlength=_NUM_VALUES)
        places = sorted(range(len(self._needle)), key=lambda at: int(counts[self._needle[at]]))
        first = places[0]
        # Two places of one value are worth less than two values.
        others = [at for at in places if self._needle[at] != self._needle[first]] or places[1:] or places
        for slot, at in ((ONE, first), (OTHER, others[0])):
            self._state[slot], self._state[slot + 1] = self._needle[at], at
        self._is_chosen = True
