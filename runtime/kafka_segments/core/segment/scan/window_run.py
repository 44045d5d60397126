"""Windows of a file that compiled code reads one after the other, into the same memory.

Strategy: a window that was just read is in the CPU's second cache if it is small, but then a call from Python
for each would cost more than it saves. So Python says how far a scan may go, and the loop reads what is next
when all of a window has been scanned: a window in its place, or a next part of a window that is kept. What
cannot be read so is left to Python, which finds out why.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import (
    AT,
    LEN_WINDOW,
    SHORT,
    WINDOW,
    Bytes,
    Longs,
    length,
    load,
    read_at,
    store,
)
from kafka_segments.core.segment.scan.native_chain import FIRST, NUM_CHAINED, chain, run

__all__ = ["END", "FILE", "LEN_RUN", "LEN_RUN_WINDOW", "NUM_WINDOWS", "WindowLoop", "read_on", "window_loop"]

FILE, END, IS_GROWING = range(3)
"""Slots of `windows`: a descriptor, -1 for none; the position from which on nothing is read; whether a window
is kept, and what is read is appended to it."""
NUM_WINDOWS = 3

LEN_RUN = 32 << 20
"""Bytes that are scanned before Python goes on, which gives back pages of the page cache."""
LEN_RUN_WINDOW = 256 << 10


def read_on(windows: Longs, scan: Longs, data: Bytes) -> bool:
    """Read the next window, from the first entry on that is not whole in this one, or let the window grow.

    Returns:
        Whether bytes were read.
    """
    window, start, size = load(scan, AT), 0, length(data)
    if load(windows, IS_GROWING) != 0:
        window, start = load(scan, WINDOW), load(scan, LEN_WINDOW)
        size = min(LEN_RUN_WINDOW, size - start)
    elif window == load(scan, WINDOW):
        return False
    if load(windows, FILE) < 0 or size == 0 or window + start >= load(windows, END):
        return False
    size = read_at(load(windows, FILE), window + start, data, start, size)
    if size <= 0:
        return False
    store(scan, WINDOW, window)
    store(scan, LEN_WINDOW, start + size)
    return True


def window_loop() -> Callable[..., int]:
    """Return a function that scans one window after the other, and returns the scanner's last status."""

    def scan_windows(state: Longs, scan: Longs, windows: Longs, data: Bytes) -> int:
        while True:
            status = run(state, FIRST)
            if status != SHORT or not read_on(windows, scan, data):
                return status

    return scan_windows


class WindowLoop:
    """Compiled loop of a scanner over windows that it reads.

    Args:
        scanner: addresses of its code and of its arguments.
        scan: its state.
        windows: a descriptor and where to end.
    """

    def __init__(self, scanner: tuple[int, int], scan: memoryview, windows: memoryview) -> None:
        self._loop = Compiled(window_loop)
        self._loop.set("state", chain(NUM_CHAINED, scanner, (0, 0)))
        self._loop.set("scan", scan)
        self._loop.set("windows", windows)

    def run(self, window: memoryview) -> int:
        """Scan, with the memory of a window; return the scanner's last status."""
        self._loop.set("data", window)
        return self._loop()
