"""Bound on the CPU time of tests, for regular expressions that take forever on some inputs.

Strategy: Python's `re` looks for pending signals while it matches. A timer of the process's own CPU time
ticks from time to time; its handler ends a test that has been running since before the last tick. Ticks that
find a test at work are counted, too: with so many, more than what was tested explains, no test is begun.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from kafka_segments.errors import OptionError

__all__ = ["DEFAULT_SECONDS", "TimeBound"]

T = TypeVar("T")

DEFAULT_SECONDS = 10.0
"""CPU time of a test of one record, at least; at most twice as much."""
_MOST_TICKS = 6
"""That find tests at work in a whole search, besides one for each 10 MB that are tested."""
_TICKS_PER_BYTE = 1e-7


class TimeBound:
    """Runs tests, and ends those that take too long; in the main thread only, elsewhere it ends none.

    Args:
        seconds: of CPU time that a test may take.
    """

    def __init__(self, seconds: float = DEFAULT_SECONDS) -> None:
        self._seconds = seconds
        self._number = 0  # of the running test; 0 between tests
        self._num_tests = 0
        self._ticks_left: float = _MOST_TICKS
        self._last_tick = 0

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Let the timer tick within the context; a handler of SIGVTALRM that was there is back afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds, self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def run(self, test: Callable[[], T], num_bytes: int) -> T:
        """Run a test.

        Args:
            test: what to call.
            num_bytes: that it looks at.

        Raises:
            OptionError: it was ended, or not begun.
        """
        self._ticks_left += num_bytes * _TICKS_PER_BYTE
        if self._ticks_left < 0:
            raise OptionError("tests before it have taken too long")
        self._num_tests += 1
        self._number = self._num_tests
        try:
            return test()
        finally:
            self._number = 0

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        self._ticks_left -= self._number > 0
        if self._number and self._number == self._last_tick:
            self._number = 0
            raise OptionError(f"the test takes more than {self._seconds} s of CPU time")
        self._last_tick = self._number
