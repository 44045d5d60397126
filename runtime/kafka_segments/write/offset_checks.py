"""Offsets that increase and timestamps that are none or not negative: looked at in a compiled loop.

Strategy: a window's numbers are gone through once before they are encoded; then they are in the CPU's cache,
where the encoder finds them. Offsets that are not given are counted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kafka_segments.native.engine import load_decoder
from kafka_segments.native.kernels import Longs, load, rare, store

__all__ = ["SOUND", "WRONG_TIMESTAMP", "Checker", "check_loop"]

# What the loop's state holds: rows; whether offsets are given, or counted from some number; what they have to
# be above; whether timestamps are given. After it: the last offset, and the row that is wrong.
NUM_ROWS, IS_GIVEN, LAST, HAS_TIMES, WRONG = range(5)

SOUND, WRONG_OFFSET, WRONG_TIMESTAMP = range(3)


def check_loop() -> Callable[..., int]:
    """A function that checks the offsets of some rows, or counts them, and then checks their timestamps."""

    def check(state: Longs, offsets: Longs, timestamps: Longs) -> int:
        num_rows, last = load(state, NUM_ROWS), load(state, LAST)
        if load(state, IS_GIVEN) != 0:
            for row in range(num_rows):
                offset = load(offsets, row)
                if rare(offset <= last):
                    store(state, WRONG, row)
                    return WRONG_OFFSET
                last = offset
        else:
            for row in range(num_rows):
                store(offsets, row, last + 1 + row)
            last += num_rows
        store(state, LAST, last)
        if load(state, HAS_TIMES) != 0:
            for row in range(num_rows):
                if rare(load(timestamps, row) < -1):
                    store(state, WRONG, row)
                    return WRONG_TIMESTAMP
        return SOUND

    return check


class Checker:
    """Checks one window after the other."""

    def __init__(self) -> None:
        self._loop = load_decoder(check_loop)
        self._arguments = self._loop.new_table()
        self._state: Any = np.zeros(WRONG + 1, np.int64)
        self._arguments.set("state", self._state.ctypes.data, self._state.size)

    @property
    def row(self) -> int:
        """The one that was wrong."""
        return int(self._state[WRONG])

    @property
    def last(self) -> int:
        """The last offset of a window that was sound."""
        return int(self._state[LAST])

    def check(self, num_rows: int, offsets: int, last: int, timestamps: int, *, is_given: bool) -> int:
        """Check a window.

        Args:
            num_rows: of it.
            offsets: address of the rows' offsets, or of room for them.
            last: what they are above, or what comes before those that are counted.
            timestamps: address of the rows' timestamps, 0 for none.
            is_given: whether there are offsets.
        """
        self._state[:] = num_rows, is_given, last, timestamps != 0, 0
        self._arguments.set("offsets", offsets, num_rows)
        self._arguments.set("timestamps", timestamps, num_rows)
        return self._loop(self._arguments)
