"""Check of offsets, which must increase, and timestamps, which must be -1 or more, in a compiled loop.

Strategy: a window's numbers are checked right before they are encoded; then they are in the CPU's cache for
the encoder. Offsets that the data lack are counted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kafka_segments.core.native.engine import load_decoder
from kafka_segments.core.native.kernels import Longs, load, rare, store

__all__ = ["SOUND", "WRONG_TIMESTAMP", "Checker", "check_loop"]

# Slots of the loop's state: rows; whether the data have offsets, or they are counted; the offset before them;
# whether the data have timestamps. Output: the last offset, and the invalid row.
NUM_ROWS, IS_GIVEN, LAST, HAS_TIMES, WRONG = range(5)

SOUND, WRONG_OFFSET, WRONG_TIMESTAMP = range(3)


def check_loop() -> Callable[..., int]:
    """Return a function that checks or counts the offsets of some rows, and checks their timestamps."""

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
    """Check of one window after the other."""

    def __init__(self) -> None:
        self._loop = load_decoder(check_loop)
        self._arguments = self._loop.new_table()
        self._state: Any = np.zeros(WRONG + 1, np.int64)
        self._arguments.set("state", self._state.ctypes.data, self._state.size)

    @property
    def row(self) -> int:
        """The invalid row."""
        return int(self._state[WRONG])

    @property
    def last(self) -> int:
        """The last offset of a sound window."""
        return int(self._state[LAST])

    def check(self, num_rows: int, offsets: int, last: int, timestamps: int, *, is_given: bool) -> int:
        """Check a window; return `SOUND` or what is wrong.

        Args:
            num_rows: of the window.
            offsets: address of the rows' offsets, or of memory for them.
            last: the offset that they must exceed, or after which they are counted.
            timestamps: address of the rows' timestamps, 0 for none.
            is_given: whether the data have offsets.
        """
        self._state[:] = num_rows, is_given, last, timestamps != 0, 0
        self._arguments.set("offsets", offsets, num_rows)
        self._arguments.set("timestamps", timestamps, num_rows)
        return self._loop(self._arguments)
